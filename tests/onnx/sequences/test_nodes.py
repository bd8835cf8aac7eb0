"""Operators of sequences and optional values: the model's own numbers, and derivatives of differences."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

import primsplit as ps
from primsplit.ir.errors import RunError
from tests.onnx.sequence_rows import OPERATORS, Row, drawn
from tests.onnx.sequences.subjects import check_derivatives, check_numbers, saved


@pytest.mark.parametrize("row", OPERATORS, ids=lambda row: row.name)
def test_the_numbers_are_the_models_own(row: Row, tmp_path: Path) -> None:
    check_numbers(row, tmp_path)


@pytest.mark.parametrize("row", OPERATORS, ids=lambda row: row.name)
def test_first_and_second_derivatives_are_those_of_differences(row: Row, tmp_path: Path) -> None:
    check_derivatives(row, tmp_path)


AT_THE_RUN = {
    "SequenceAt (s, i)": "y = Identity (t)",
    "SequenceInsert (s, c, i)": "y = ConcatFromSequence <axis = 0> (t)",
    "SequenceErase (s, i)": "y = ConcatFromSequence <axis = 0> (t)",
}


@pytest.mark.parametrize("size", [2, 3], ids=["one shape", "several shapes"])
@pytest.mark.parametrize("kind", AT_THE_RUN)
def test_positions_of_the_run_are_onnxruntimes_and_fail_where_there_are_none(
    kind: str, size: int, tmp_path: Path
) -> None:
    text = f"""m (double[2] a, double[{size}] b, double[2] c, int64 i) => (double[K] y) {{
        s = SequenceConstruct (a, b)  t = {kind}  {AT_THE_RUN[kind]} }}"""
    path = saved(tmp_path, text)
    program, session = ps.load(path), onnxruntime.InferenceSession(path)
    arrays = [drawn(2), drawn(size), drawn(2) + 1]
    failed = 0
    for position in range(-9, 10):
        given = [*arrays, np.array(position)]
        try:
            expected = session.run(None, dict(zip("abci", given, strict=True)))[0]
        except InvalidArgument:
            failed += 1
            with pytest.raises(RunError):
                program(*given)
        else:
            np.testing.assert_array_equal(program(*given), expected)
    assert failed == 19 - (5 if "Insert" in kind else 4)

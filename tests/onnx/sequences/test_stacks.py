"""Sequences of a length that only the run knows, whose elements are of one shape."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError
from tests.onnx.sequence_rows import Row
from tests.onnx.sequences.subjects import check_derivatives, check_numbers, saved
from tests.onnx.stack_rows import ROWS, edited


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_numbers_are_the_models_own(row: Row, tmp_path: Path) -> None:
    check_numbers(row, tmp_path)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_first_and_second_derivatives_are_those_of_differences(row: Row, tmp_path: Path) -> None:
    check_derivatives(row, tmp_path)


def test_an_element_is_put_after_the_last_of_a_stack_as_onnxruntime_does(tmp_path: Path) -> None:
    row = edited("inserted", 2, 2)
    path = saved(tmp_path, row.text)
    feeds = dict(zip(("x", "v", "i"), row.arguments, strict=True))
    (expected,) = onnxruntime.InferenceSession(path).run(None, feeds)
    np.testing.assert_allclose(ps.load(path)(*row.arguments), expected, rtol=1e-12)


@pytest.mark.parametrize(("kind", "position"), [("inserted", 3), ("inserted", -3), ("erased", 2), ("erased", -3)])
def test_a_position_that_a_stack_does_not_have_fails_at_run_time(kind: str, position: int, tmp_path: Path) -> None:
    row = edited(kind, position, 2)
    with pytest.raises(RunError, match="out of data bounds"):
        ps.load(saved(tmp_path, row.text))(*row.arguments)

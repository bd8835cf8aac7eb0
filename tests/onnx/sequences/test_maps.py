"""A graph that is mapped over the elements of sequences."""

from pathlib import Path

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError
from tests.onnx.sequence_rows import drawn
from tests.onnx.sequences.subjects import saved
from tests.onnx.stack_rows import ROWS as STACKED


def test_a_body_reads_an_initializer_that_is_differentiated(tmp_path: Path) -> None:
    text = """m (seq(double[2]) x) => (double y) <double[2] w = {1, 2}> {
        s = SequenceMap (x) <body = each (double[2] v) => (double[2] r) { r = Mul (v, w) }>
        z = ConcatFromSequence <axis = 0> (s)
        y = ReduceSum <keepdims = 0> (z) }"""
    made = ps.split(ps.load(saved(tmp_path, text), lengths={"x": 2}), wrt="params")
    x = [drawn(2), drawn(2) + 1]
    _, dw = made.joint()(*x, np.array([1.0, 2.0]))
    np.testing.assert_allclose(dw, x[0] + x[1])


def test_stacks_of_several_lengths_mapped_fail_at_run_time(tmp_path: Path) -> None:
    row = next(r for r in STACKED if "mapped together" in r.name)
    program = ps.load(saved(tmp_path, row.text))
    for lengths in ((3, 2), (3, 1), (1, 3)):
        with pytest.raises(RunError):
            program(drawn(lengths[0], 2), drawn(lengths[1], 2))

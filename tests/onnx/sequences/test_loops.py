"""Loops that carry sequences or optional values."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError
from tests.onnx.sequence_rows import LOOPS, Row, drawn
from tests.onnx.sequences.subjects import check_derivatives, check_numbers, saved


@pytest.mark.parametrize("row", LOOPS, ids=lambda row: row.name)
def test_the_numbers_are_the_models_own(row: Row, tmp_path: Path) -> None:
    check_numbers(row, tmp_path)


@pytest.mark.parametrize("row", LOOPS, ids=lambda row: row.name)
def test_first_and_second_derivatives_are_those_of_differences(row: Row, tmp_path: Path) -> None:
    check_derivatives(row, tmp_path)


def test_no_steps_and_no_rows_give_empty_sequences(tmp_path: Path) -> None:
    text = """m (double[N, 2] x, int64 n) => (double[K, 2] y, int64 l, double[K] z) {
        yes = Constant <value = bool {1}> ()
        e = SequenceEmpty <dtype = 11> ()
        s = Loop (n, yes, e) <body = step (int64 i, bool c, seq(double[2]) p) => (bool d, seq(double[2]) q) {
            d = Identity (c)  r = Gather (x, i)  w = Sin (r)  q = SequenceInsert (p, w) }>
        l = SequenceLength (s)
        y = ConcatFromSequence <axis = 0, new_axis = 1> (s)
        t = SplitToSequence <keepdims = 0> (x)
        u = SequenceMap (t) <body = each (double[2] v) => (double[2] w) { w = Sin (v) }>
        z = ConcatFromSequence <axis = 0> (u)
    }"""
    joint = ps.split(ps.load(saved(tmp_path, text))).joint()
    y, length, z, dx = joint(np.zeros((0, 2)), np.array(0), np.zeros((0, 2)), np.zeros(0))
    assert (y.shape, int(length), z.shape, dx.shape) == ((0, 2), 0, (0,), (0, 2))


def test_an_optional_value_may_be_given_by_a_step_of_a_loop(tmp_path: Path) -> None:
    text = """m (double[N, 2] x) => (double y) {
        o = Optional <type = double[2]> ()
        shape = Shape (x)
        zero = Constant <value = int64 {0}> ()
        steps = Gather (shape, zero)
        yes = Constant <value = bool {1}> ()
        s = Loop (steps, yes, o) <body = step (int64 i, bool c, optional(double[2]) p)
                                         => (bool d, optional(double[2]) q) {
            d = Identity (c)
            row = Gather (x, i)
            has = OptionalHasElement (p)
            v = If (has) <then_branch = later () => (double[2] t) { g = OptionalGetElement (p) t = Mul (g, row) },
                         else_branch = first () => (double[2] f) { f = Exp (row) }>
            q = Optional (v) }>
        z = OptionalGetElement (s)
        y = ReduceSum <keepdims = 0> (z) }"""
    path = saved(tmp_path, text)
    gradient = ps.split(ps.load(path), seed="ones").joint()
    for rows in (1, 3):
        x = drawn(rows, 2)
        value, slope = gradient(x)
        parts = np.vstack([np.exp(x[:1]), x[1:]])
        np.testing.assert_allclose(value, np.prod(parts, axis=0).sum())
        np.testing.assert_allclose(value, onnxruntime.InferenceSession(path).run(None, {"x": x})[0])
        np.testing.assert_allclose(slope, np.prod(parts, axis=0) / np.vstack([np.ones((1, 2)), x[1:]]))
    with pytest.raises(RunError):
        gradient(np.zeros((0, 2)))

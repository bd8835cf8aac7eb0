"""A tensor as the sequence of its pieces, and pieces joined to a tensor."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError
from tests.onnx.sequence_rows import drawn
from tests.onnx.sequences.subjects import model, saved


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("size", [5, 1, 0])
def test_pieces_of_a_tensor_of_any_size_are_mapped_and_joined(size: int, axis: int, tmp_path: Path) -> None:
    declared = "N, 2" if axis == 0 else "2, N"
    text = f"""m (double[{declared}] x, int64 each) => (int64 l, double[A, B] y) {{
        s = SplitToSequence <axis = {axis}> (x, each)
        t = SequenceMap (s) <body = one (double[C, D] v) => (double[C, D] w) {{ w = Sin (v) }}>
        l = SequenceLength (t)
        u = SequenceInsert (t, x)
        y = ConcatFromSequence <axis = {axis}> (u) }}"""
    program = ps.load(saved(tmp_path, text))
    x = drawn(size, 2) if axis == 0 else drawn(2, size)
    length, y = program(x, np.array(2))
    assert int(length) == -(-size // 2)
    np.testing.assert_allclose(y, np.concatenate([np.sin(x), x], axis), rtol=1e-12)
    gradient = ps.split(program, wrt="x", of="y", seed="ones").joint()
    np.testing.assert_allclose(gradient(x, np.array(2))[-1], np.cos(x) + 1, rtol=1e-12)


def test_pieces_that_do_not_fit_fail_at_run_time(tmp_path: Path) -> None:
    text = """m (double[2, 4] x, int64[K] sizes) => (double[A, B] y) {
        s = SplitToSequence <axis = 1> (x, sizes)
        y = ConcatFromSequence <axis = 0> (s) }"""
    program = ps.load(saved(tmp_path, text))
    np.testing.assert_array_equal(program(drawn(2, 4), np.array([2, 2])), np.vstack(np.hsplit(drawn(2, 4), 2)))
    for sizes in ([2, 1], [1, 3], []):
        with pytest.raises(RunError):
            program(drawn(2, 4), np.array(sizes, np.int64))


SPLIT = "s = SplitToSequence <keepdims = 0> (a)"

UNLIKE = {
    "an insertion": model(f"{SPLIT}  t = SequenceInsert (s, a)  y = ConcatFromSequence <axis = 0> (t)", "double[N] a"),
    "branches": model("""z = Constant <value = int64 {0}> ()  f = Less (i, z)  k = ReduceSum <keepdims = 0> (b)
           s = If (f) <then_branch = yes () => (seq(double[]) p) { p = SequenceConstruct (a, k) },
                       else_branch = no () => (seq(double[]) q) { q = SequenceConstruct (a) }>
           y = ConcatFromSequence <axis = 0> (s)"""),
    "a Loop": model("""k = ReduceSum <keepdims = 0> (a)  e = SequenceConstruct (k)  yes = Constant <value = bool {1}> ()
           s = Loop (i, yes, e) <body = step (int64 n, bool c, seq(double[]) p) => (bool d, seq(double[]) q) {
               d = Identity (c)  q = SequenceInsert (p, a) }>
           y = ConcatFromSequence <axis = 0> (s)"""),
}  # fmt: skip


@pytest.mark.parametrize("text", UNLIKE.values(), ids=list(UNLIKE))
def test_a_run_that_joins_elements_of_several_numbers_of_axes_fails(text: str, tmp_path: Path) -> None:
    program = ps.load(saved(tmp_path, text))
    sizes = [tuple(d if isinstance(d, int) else 2 for d in t.shape or ()) for t in program.types]
    given = [np.full(s, -1 if t.dtype.kind == "i" else 0.5, t.dtype) for s, t in zip(sizes, program.types, strict=True)]
    with pytest.raises(RunError):
        program(*given)


def test_elements_that_might_have_several_numbers_of_axes_are_joined_where_they_have_one(tmp_path: Path) -> None:
    program = ps.load(saved(tmp_path, UNLIKE["branches"]))
    made = ps.split(program, wrt=["a", "b"], seed="ones").joint()
    a = np.array([0.5, 2.0])
    for found, expected in zip(made(a, np.ones(3), np.array(1)), (a, np.ones(2), np.zeros(3)), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("keeps", [0, 1])
def test_pieces_of_size_one_lose_their_axis_where_onnxruntime_takes_it_away(keeps: int, tmp_path: Path) -> None:
    text = f"""m (double[3, 2] x) => (double[{"A, B, C" if keeps else "A, B"}] y) {{
        one = Constant <value = int64 {{1}}> ()
        s = SplitToSequence <axis = 0, keepdims = {keeps}> (x, one)
        y = ConcatFromSequence <axis = -1, new_axis = 1> (s) }}"""
    path = saved(tmp_path, text)
    expected = onnxruntime.InferenceSession(path).run(None, {"x": drawn(3, 2)})[0]
    np.testing.assert_array_equal(ps.load(path)(drawn(3, 2)), expected)

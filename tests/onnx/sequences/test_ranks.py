"""Sequences of the pieces of a value of unknown rank."""

from collections.abc import Callable, Sequence

import numpy as np
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir.errors import ParseError, RunError
from tests.onnx.unranked import Saved, check_at, integers

STEPS = [(3,), (2, 3), (1, 3), (2, 1, 3)]


def by_onnxruntime(path: str) -> Callable[[np.ndarray], np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options)
    return lambda x: np.asarray(session.run(None, {"x": x})[0])


ROWS = "s = SplitToSequence (x)"

PIECES = {
    "rows": (f"{ROWS} b = ConcatFromSequence <axis = 0> (s) y = Mul (b, x)", STEPS),
    "rows stacked": (
        "s = SplitToSequence <keepdims = 0> (x) b = ConcatFromSequence <axis = -1, new_axis = 1> (s) y = Mul (b, b)",
        STEPS,
    ),
    "two joined": ("a = Sin (x) s = SequenceConstruct (x, a) y = ConcatFromSequence <axis = 0> (s)", STEPS),
    "two stacked": (
        "a = Sin (x) s = SequenceConstruct (x, a) b = ConcatFromSequence <axis = 1, new_axis = 1> (s) y = Mul (b, b)",
        STEPS,
    ),
    "columns": ("s = SplitToSequence <axis = -1> (x) b = ConcatFromSequence <axis = -2> (s) y = Mul (b, b)", STEPS[1:]),
    "columns without their axis": (
        ("s = SplitToSequence <axis = -1, keepdims = 0> (x) i = Constant <value = int64 {1}> () b = SequenceAt (s, i) "
        "y = Mul (b, b)"),
        STEPS,
    ),
    "pieces": (
        (f"{integers('i', 1, 2)} s = SplitToSequence <axis = -1> (x, i) j = Constant <value = int64 {{1}}> () "
        "b = SequenceAt (s, j) y = Mul (b, b)"),
        STEPS,
    ),
    "pieces of two": (
        ("i = Constant <value = int64 {2}> () s = SplitToSequence <axis = -1> (x, i) "
        "b = ConcatFromSequence <axis = 0> (s) y = Mul (b, b)"),
        [(2,), (2, 4), (1, 1, 2)],
    ),
    "rows in a loop": (
        (f"{ROWS} n = SequenceLength (s) t = Constant <value = bool {{1}}> () z = Constant <value = double {{0.0}}> () "
        "b = Loop (n, t, z) <body = b (int64 k, bool c, double h) => (bool d, double e) "
        "{ d = Identity (c) r = SequenceAt (s, k) f = Mul (r, r) e = Add (h, f) }> y = Mul (b, w)"),
        STEPS,
    ),
}  # fmt: skip


@pytest.mark.sweep(4)
@pytest.mark.parametrize(("nodes", "shapes"), PIECES.values(), ids=list(PIECES))
def test_pieces_of_a_value_of_unknown_rank_are_a_sequence(
    nodes: str, shapes: Sequence[tuple[int, ...]], saved: Saved
) -> None:
    path = saved(nodes)
    check_at(path, shapes, by_onnxruntime(path))


def test_pieces_that_do_not_cover_a_value_of_unknown_rank_fail(saved: Saved) -> None:
    program = ps.load(saved(PIECES["pieces"][0]))
    with pytest.raises(RunError):
        program(np.ones((2, 4)))


def test_sizes_of_pieces_that_have_no_rank_are_refused_with_the_way_to_say_it(saved: Saved) -> None:
    nodes = "s = SplitToSequence (x, i) y = ConcatFromSequence <axis = 0> (s)"
    path = saved(nodes, "(double x, int64 i) => (double y)")
    with pytest.raises(ParseError, match="SplitToSequence") as error:
        ps.load(path)
    assert "specs=" in str(error.value)
    assert ps.load(path, specs={"i": 1})(np.ones((2, 3)), np.array([1, 1])).shape == (2, 3)

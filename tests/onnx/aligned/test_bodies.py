"""Loops and Scans that carry, read or stack values of unknown rank."""

from collections.abc import Callable, Sequence

import numpy as np
import onnxruntime
import pytest

import primsplit as ps
from tests.onnx.unranked import Saved, check_at, integers

FIRST_AXIS = integers("a", 0)
COUNT = "n = Constant <value_int = 3> () t = Constant <value = bool {1}> ()"
GOES = "d = Identity (c)"
LOOPS = {
    "rows of each step": f"{COUNT} b = Loop (n, t) <body = b (int64 k, bool c) => (bool d, double e)"
    f" {{ {GOES} e = Mul (x, x) }}> y = Mul (b, b)",
    "stacked, with weights": f"{COUNT} y = Loop (n, t) <body = b (int64 k, bool c) => (bool d, double e)"
    f" {{ {GOES} e = Mul (x, w) }}>",
    "a carry": f"{COUNT} y = Loop (n, t, x) <body = b (int64 k, bool c, double h) => (bool d, double e)"
    f" {{ {GOES} f = Mul (h, w) e = Sin (f) }}>",
    "a carry and what it was": f"{COUNT} b, s = Loop (n, t, x) <body = b (int64 k, bool c, double h) =>"
    f" (bool d, double e, double g) {{ {GOES} f = Mul (h, x) e = Sin (f) g = Exp (f) }}> y = Mul (s, b)",
    "a carry that gets more axes": f"{COUNT} b = Loop (n, t, w) <body = b (int64 k, bool c, double h) =>"
    f" (bool d, double e) {{ {GOES} f = Mul (h, x) e = Sin (f) }}> y = Mul (b, b)",
    "an axis more in each step": f"{FIRST_AXIS} {COUNT} b = Loop (n, t, x) <body = b (int64 k, bool c, double h) =>"
    f" (bool d, double e) {{ {GOES} f = Unsqueeze (h, a) e = Mul (f, w) }}> y = Mul (b, b)",
    "sums of all": f"{COUNT} z = Constant <value = double {{0.5}}> () b = Loop (n, t, z) <body ="
    f" b (int64 k, bool c, double h) => (bool d, double e)"
    f" {{ {GOES} f = Mul (h, x) g = Sin (f) e = ReduceSum <keepdims = 0> (g) }}> y = Mul (b, x)",
    "as long as it is small": f"z = Constant <value = double {{7.25}}> () {COUNT} b = Loop (, t, x) <body ="
    f" b (int64 k, bool c, double h) => (bool d, double e)"
    f" {{ e = Add (h, x) f = ReduceSum <keepdims = 0> (e) d = Less (f, z) }}> y = Mul (b, b)",
}  # fmt: skip
STEPS = [(3,), (2, 3), (1, 3), (2, 1, 3)]


def by_onnxruntime(path: str) -> Callable[[np.ndarray], np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options)
    return lambda x: np.asarray(session.run(None, {"x": x})[0])


@pytest.mark.sweep(4)
@pytest.mark.parametrize("nodes", LOOPS.values(), ids=list(LOOPS))
def test_a_loop_carries_and_stacks_values_of_unknown_rank(nodes: str, saved: Saved) -> None:
    """The standard's reference joins the rows of a Loop, where onnxruntime stacks them."""
    path = saved(nodes)
    check_at(path, STEPS, by_onnxruntime(path))


def running(x: np.ndarray) -> np.ndarray:
    """Return the result of "a sum over rows"."""
    h, rows = np.zeros(x.shape[1:]), np.zeros(x.shape)
    for i, row in enumerate(x):
        rows[i] = h = h * row + np.sin(row)
    return np.asarray(rows * [0.5, -1.0, 2.0] * h)


SCANS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray], Sequence[tuple[int, ...]]]] = {
    "a sum over rows": (
        (
            f"{FIRST_AXIS} f = Gather (x, a) q = Squeeze (f, a) z = Sub (q, q) "
            "b, s = Scan <num_scan_inputs = 1, body = b (double h, double r) => (double e, double g)"
            " { i = Mul (h, r) t = Sin (r) e = Add (i, t) g = Mul (e, w) }> (z, x) y = Mul (s, b)"
        ),
        running,
        [(3, 3), (1, 3), (2, 1, 3)],
    ),
    "rows from the end": (
        (
            "y = Scan <num_scan_inputs = 1, scan_input_directions = [1], body ="
            " b (double r) => (double g) { g = Mul (r, r) }> (x)"
        ),
        lambda x: np.asarray((x * x)[::-1]),
        STEPS,
    ),
    "columns": (
        (
            "y = Scan <num_scan_inputs = 1, scan_input_axes = [-1], scan_output_axes = [-1], body ="
            " b (double r) => (double g) { g = Softmax <axis = -1> (r) }> (x)"
        ),
        lambda x: np.asarray(np.exp(x) / np.exp(x).sum(axis=-2, keepdims=True)),
        STEPS[1:],
    ),
    "the second axis": (
        (
            "y = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1], body ="
            " b (double r) => (double g) { s = ReduceSum (r) g = Mul (s, r) }> (x)"
        ),
        lambda x: np.asarray(x * x.sum(axis=tuple(a for a in range(x.ndim) if a != 1), keepdims=True)),
        STEPS[1:],
    ),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("nodes", "expected", "shapes"), SCANS.values(), ids=list(SCANS))
def test_a_scan_walks_along_values_of_unknown_rank(
    nodes: str, expected: Callable[[np.ndarray], np.ndarray], shapes: Sequence[tuple[int, ...]], saved: Saved
) -> None:
    """No evaluator takes one: the standard's walks along the first axis only, onnxruntime's wants the rank."""
    check_at(saved(nodes), shapes, expected)


def test_a_loop_of_no_steps_gives_a_carry_of_unknown_rank_as_it_was(saved: Saved) -> None:
    path = saved(LOOPS["a carry"].replace("value_int = 3", "value_int = 0"))
    value, slope = ps.split(ps.load(path), seed="ones").joint()(np.ones((2, 3)))
    np.testing.assert_array_equal(value, np.ones((2, 3)))
    np.testing.assert_array_equal(slope, np.ones((2, 3)))

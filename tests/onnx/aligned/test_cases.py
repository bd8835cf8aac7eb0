"""Operators that are another one for each rank: an If over the ranks that a value may have."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.testing import directional_derivative
from tests.onnx.unranked import Saved, check_at

ADD = '<reduction = "add">'

DEEP = "(double x, int64 i) => (double y)"

PAIRS = np.array([[1, -2], [0, 1], [1, -2]])

ROWS = np.array([[[1], [-2]]])

OTHERS = {
    "larger pictures": (
        'r = Shape (x) s = Add (r, r) b = Resize <mode = "linear"> (x, , , s) y = Mul (b, b)',
        "(double x) => (double y)",
        [((2, 3),), ((3,),)],
    ),
    "a window": (
        "r = Shape (x) t = Constant <value_int = 1> () s = Add (r, t) b = CenterCropPad (x, s) y = Mul (b, b)",
        "(double x) => (double y)",
        [((2, 3),), ((3,),), ((1, 2, 2),)],
    ),
    "slices": ("b = GatherND (x, i) y = Mul (b, b)", DEEP, [((3, 4, 2), PAIRS), ((3, 4), PAIRS), ((3, 4), ROWS)]),
    "slices of a batch": (
        "b = GatherND <batch_dims = 1> (x, i) y = Mul (b, b)",
        DEEP,
        [((3, 2, 4), PAIRS), ((1, 3, 4), ROWS), ((1, 3), ROWS)],
    ),
    "slices written": (
        f"b = GatherND (x, i) c = Sin (b) d = ScatterND {ADD} (x, i, c) y = Mul (d, d)",
        DEEP,
        [((3, 4, 2), PAIRS), ((3, 4), PAIRS), ((3, 4), ROWS), ((3,), ROWS)],
    ),
    "samples": (
        "y = GridSample (x, z)",
        "(double x, double z) => (double y)",
        [((2, 3, 4, 5), (2, 2, 3, 2)), ((1, 2, 3, 4, 2), (1, 2, 1, 2, 3))],
    ),
    "larger pictures along some axes": (
        'r = Shape <start = -1> (x) s = Add (r, r) b = Resize <axes = [-1], mode = "linear"> (x, , , s) y = Mul (b, b)',
        "(double x) => (double y)",
        [((2, 3),), ((3,),)],
    ),
    "turned pairs": (
        "y = RotaryEmbedding <num_heads = 2> (x, z, z)",
        "(double x, double z) => (double y)",
        [((2, 3, 8), (2, 3, 2)), ((2, 2, 3, 4), (2, 3, 2))],
    ),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("nodes", "head", "cases"), OTHERS.values(), ids=list(OTHERS))
def test_an_operator_that_differs_from_rank_to_rank_has_a_gradient(
    nodes: str, head: str, cases: Sequence[tuple[Any, ...]], saved: Saved
) -> None:
    program = ps.load(saved(nodes, head, opset=23 if "Rotary" in nodes else 20))
    gradient = ps.split(program, seed="ones").joint()
    for case in cases:
        random = np.random.default_rng(1)
        given = [random.uniform(0.1, 0.9, a) if isinstance(a, tuple) else a for a in case]
        moving = [a for a in given if a.dtype == np.float64]
        directions = [random.standard_normal(a.shape) for a in moving]
        rest = given[len(moving) :]
        slopes = gradient(*given)[-len(moving) :]

        def total(moved: Sequence[Any], rest: Sequence[Any] = rest) -> float:
            return float(np.sum(program(*moved, *rest)))

        expected = directional_derivative(total, moving, directions)
        found = sum(np.vdot(s, d) for s, d in zip(slopes, directions, strict=True))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


IMAGES = [(2, 3, 4), (2, 3, 1, 2), (1, 3, 2, 1, 2)]

NEAREST = '<axes = [1], mode = "nearest">'

COUNTED = {
    "larger pictures": (f"s = Constant <value_floats = [2.0]> () y = Resize {NEAREST} (x, , s)", [(2, 3), *IMAGES]),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("nodes", "shapes"), COUNTED.values(), ids=list(COUNTED))
def test_so_it_has_where_axes_are_counted_from_the_front_or_computed(
    nodes: str, shapes: Sequence[tuple[int, ...]], saved: Saved
) -> None:
    check_at(saved(nodes), shapes)

"""Products and equations of values of unknown rank: values and derivatives."""

from collections.abc import Sequence

import numpy as np
import pytest

import primsplit as ps
from tests.onnx.unranked import Saved, check_at

ALIGNED = {
    "a product": "a = MatMul (x, m) b = Tanh (a) y = Add (b, x)",
}  # fmt: skip

SHAPES = [(4, 3), (2, 1, 3), (3,), (1, 3)]

FRONT = [(3,), (3, 2), (3, 1, 2), (3, 2, 1, 3)]

SQUARE = [(3,), (3, 3), (1, 3, 3), (2, 1, 3, 3)]

COUNTED = {
    "a product with itself": ("b = MatMul (x, x) y = Mul (b, b)", SQUARE),
    "a product with a vector": ("b = MatMul (x, w) y = Mul (b, b)", SQUARE),
    "a product of a vector": ("b = MatMul (w, x) y = Mul (b, b)", SQUARE),
    "an equation with an ellipsis": ('b = Einsum <equation = "...i,ij->...j"> (x, m) y = Mul (b, b)', SQUARE),
    "an equation with an ellipsis behind": ('b = Einsum <equation = "i...,ij->j..."> (x, m) y = Mul (b, b)', FRONT),
    "an equation of two": ('b = Einsum <equation = "...ij,...kj"> (x, x) y = Mul (b, b)', SQUARE[1:]),
}


@pytest.mark.parametrize(
    ("kind", "weights"), [("Conv", (2, 3, 2)), ("Conv", (2, 3, 2, 3)), ("ConvTranspose", (3, 2, 2, 3))]
)
def test_pictures_and_kernels_of_any_number_of_axes_are_convolved(
    kind: str, weights: tuple[int, ...], saved: Saved
) -> None:
    """A sum of a convolution's elements is linear in either, so that wide differences are right."""
    program = ps.load(saved(f"y = {kind} (x, z)", "(float x, float z) => (float y)"))
    random = np.random.default_rng(0)
    given = [random.standard_normal(s).astype(np.float32) for s in ((2, 3, 5, 4)[: len(weights)], weights)]
    _, *slopes = ps.split(program, seed="ones").joint()(*given)
    for place, slope in enumerate(slopes):
        direction = random.standard_normal(slope.shape).astype(np.float32)
        sides = [[x + s * direction if i == place else x for i, x in enumerate(given)] for s in (1, -1)]
        up, down = (float(np.sum(program(*side), dtype=np.float64)) for side in sides)
        np.testing.assert_allclose(np.vdot(slope, direction), (up - down) / 2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("nodes", ALIGNED.values(), ids=list(ALIGNED))
def test_a_value_of_unknown_rank_has_a_gradient(nodes: str, saved: Saved) -> None:
    check_at(saved(nodes), SHAPES)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("nodes", "shapes"), COUNTED.values(), ids=list(COUNTED))
def test_so_it_has_where_axes_are_counted_from_the_front_or_computed(
    nodes: str, shapes: Sequence[tuple[int, ...]], saved: Saved
) -> None:
    check_at(saved(nodes), shapes)

"""Sizes stay short however often slices and joins are nested, and can be read back from what has them."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.dims import LONG
from primsplit.ops import op
from primsplit.testing import check_grads

X = np.array([0.3, 1.2, -0.7, 0.9])


def turns(x: Any, steps: int = 12) -> Any:
    for _ in range(steps):
        rest = np.concatenate([x[1:], x[:1]])
        x = x + 0.1 * np.sin(rest)
    return x


def test_a_loop_of_slices_and_joins_keeps_its_sizes_short() -> None:
    made = ps.split(lambda x: turns(x, 40), ps.spec("float64", ["N"]))
    texts = [str(d) for op in made.joint().block.ops for v in op.outputs for d in v.type.shape or ()]
    assert max(map(len, texts)) <= LONG


def test_a_program_called_again_and_again_keeps_its_sizes_short() -> None:
    turn = ps.trace(lambda x: np.concatenate([x[1:], x[:1]]) * 1.5, ps.spec("float64", ["N"]))

    def f(x: Any) -> Any:
        for _ in range(30):
            x = turn(x)
        return x

    made = ps.split(f, ps.spec("float64", ["N"]))
    texts = [str(d) for op in made.joint().block.ops for v in op.outputs for d in v.type.shape or ()]
    assert max(map(len, texts)) <= LONG
    np.testing.assert_allclose(made.program(X), np.roll(X, -30) * 1.5**30)


def test_a_loop_of_slices_and_joins_is_right_at_other_sizes() -> None:
    check_grads(turns, X, order=1, resize=(1, 2))


def test_a_size_is_read_from_a_sum_that_it_is_part_of() -> None:
    def f(x: Any, y: Any) -> Any:
        m = y @ x
        return np.concatenate([m, m[:1]])[1:]

    check_grads(f, np.outer(X[:3], X[:2]), X[:3], resize=(1,))


def test_a_product_with_an_axis_of_known_size_gives_cotangents_of_the_operands_shape() -> None:
    def f(x: Any) -> Any:
        return np.take(x, [0, -1, 0], axis=0)[:, 0] @ x

    check_grads(f, np.outer(X[:3], X[:2]))


@pytest.mark.parametrize("axes", [(0, 3), (2, 0)])
def test_a_gradient_of_nothing_has_no_elements(axes: tuple[int, int]) -> None:
    x, w = np.ones(axes), np.ones(axes[1])
    made = ps.split(lambda x, w: (np.sum(x @ w) + np.sum(w), x * w), x, w)
    value, _, d_x, d_w = made.joint()(x, w, np.float64(1.0), np.ones(axes))
    assert value == np.sum(w)
    assert d_x.shape == axes
    np.testing.assert_allclose(d_w, np.ones(axes[1]))


def test_a_rule_reads_a_product_of_long_sizes_from_what_has_it() -> None:
    """No value has the factors; this rule lays its rows out in one axis."""
    sizes = ["B" * 50, "N" * 50, "M" * 50]

    def f(x: Any, scale: Any) -> Any:
        return op.LayerNormalization(np.reshape(x, (x.shape[0], -1, 256)), scale)

    x, scale = np.random.default_rng(0).standard_normal((2, 1, 3, 256)).astype(np.float32), np.ones(256, np.float32)
    made = ps.split(f, ps.spec("float32", [*sizes, 256]), scale, wrt=[1]).joint()
    deviations = x - x.mean(-1, keepdims=True)
    wanted = (deviations / np.sqrt((deviations**2).mean(-1, keepdims=True) + 1e-5)).reshape(2, 3, 256)
    for found, expected in zip(made(x, scale, wanted), (wanted, (wanted**2).sum((0, 1))), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4)

"""Operators without a gradient: none flows through what they draw, and a pullback reads what was drawn."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from tests.rules.rows import RANDOM

X = np.array([[0.3, 0.6, 0.9], [0.8, 0.5, 0.2]], np.float32)

DRAWS: dict[str, Callable[[Any], Any]] = {
    "Bernoulli": op.Bernoulli,
    "Multinomial": lambda x: op.Cast(op.Multinomial(x, sample_size=3), to=np.float32),
    "RandomNormal": lambda x: op.RandomNormal(shape=[2, 3]),
    "RandomNormalLike": op.RandomNormalLike,
    "RandomUniform": lambda x: op.RandomUniform(shape=[2, 3]),
    "RandomUniformLike": op.RandomUniformLike,
}


def test_every_random_operator_is_here() -> None:
    assert set(DRAWS) == RANDOM


@pytest.mark.parametrize("kind", DRAWS)
def test_no_gradient_flows_through_a_draw(kind: str) -> None:
    assert ps.split(DRAWS[kind], X).split.targets == ()


@pytest.mark.parametrize("kind", DRAWS)
def test_the_pullback_of_a_product_with_a_draw_reads_the_draw(kind: str) -> None:
    made = ps.split(lambda x: x * DRAWS[kind](x), X)
    session = made.joint().session()
    for _ in range(3):
        value, gradient = session(X, np.ones_like(X))
        np.testing.assert_allclose(value, X * gradient, rtol=1e-6)

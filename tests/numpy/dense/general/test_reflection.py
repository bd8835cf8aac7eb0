"""Householder reflections: they take a vector to its length, at every scale, and are none where nothing is to do."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.dense.general.reflection import length, reflection


@pytest.mark.parametrize("scale", [1.0, 1e300, 1e-300])
def test_a_length_neither_overflows_nor_vanishes(scale: float) -> None:
    x = scale * np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0], [-1.0, 2.0, -2.0]])
    found = ps.trace(lambda x: (length(x, axis=1), length(x, axis=0)), x)(x)
    np.testing.assert_allclose(found[0], scale * np.array([5.0, 0.0, 3.0]), rtol=1e-15)
    np.testing.assert_allclose(found[1], scale * np.sqrt([10.0, 20.0, 4.0]), rtol=1e-15)


VECTORS = [[3.0, 4, 0], [-3.0, 0, 4], [2.0, 0, 0], [-2.0, 0, 0], [0.0, 1, 1], [0.0, 0, 0], [1e300, 1e300, 0]]


@pytest.mark.parametrize("vector", VECTORS, ids=str)
def test_a_vector_is_turned_to_the_first_axis(vector: list[float]) -> None:
    x, is_head = np.array(vector), np.array([True, False, False])

    def f(x: Any) -> Any:
        return tuple(reflection(is_head, x[0], np.where(is_head, 0.0, x)))

    tau, v, beta = ps.trace(f, x)(x)
    size = np.abs(x).max() or 1.0
    turned = x / size - tau * v * np.dot(v, x / size)
    np.testing.assert_allclose(turned, [beta / size, 0, 0], atol=1e-15)
    assert v[0] == 1.0
    assert (tau == 0) == (not x[1:].any())
    if tau:
        assert np.sign(beta) != np.sign(x[0]) or x[0] == 0

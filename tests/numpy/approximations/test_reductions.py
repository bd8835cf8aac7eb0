"""Reductions that neither overflow nor vanish."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.approximations.reductions import euclidean, log_sum_exp, sum_of_squares
from primsplit.tracing.asarray import as_array

X = np.array([[3.0, -4.0, 12.0], [0.0, 0.0, 0.0], [1.0, 2.0, 2.0]])
OPTIONS = {"keepdims": 0, "noop_with_empty_axes": 0}


@pytest.mark.parametrize("scale", [1.0, 1e200, 1e-200])
def test_a_length_is_right_at_any_scale(scale: float) -> None:
    found = ps.trace(lambda x: euclidean(x, as_array(np.array([1])), **OPTIONS), X)(X * scale)
    np.testing.assert_allclose(found, np.array([13.0, 0.0, 3.0]) * scale, rtol=1e-15)


@pytest.mark.parametrize("shift", [0.0, 800.0, -800.0])
def test_the_logarithm_of_a_sum_of_exponentials_is_right_at_any_shift(shift: float) -> None:
    found = ps.trace(lambda x: log_sum_exp(x, as_array(np.array([1])), **OPTIONS), X)(X + shift)
    np.testing.assert_allclose(found, np.log(np.exp(X).sum(1)) + shift, rtol=1e-14)


def test_a_sum_of_squares_is_that_of_products() -> None:
    found = ps.trace(lambda x: sum_of_squares(x, as_array(np.array([0])), keepdims=1), X)(X)
    np.testing.assert_array_equal(found, (X * X).sum(0, keepdims=True))

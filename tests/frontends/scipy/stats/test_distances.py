"""scipy.stats' distances between samples, and the entropy of a density: SciPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import primsplit as ps
from primsplit.testing import check_grads

RANDOM = np.random.default_rng(0)

X, Y = RANDOM.uniform(0.5, 3.0, 7), RANDOM.uniform(0.5, 3.0, 7)

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "wasserstein_distance": (lambda x, y: st.wasserstein_distance(x, y[:5]), (X, Y)),
    "weighted distances": (
        lambda x, y: (st.wasserstein_distance(x, y, y, x), st.energy_distance(x[:4], y, v_weights=x)), (X, Y)
    ),
    "energy_distance": (lambda x, y: st.energy_distance(x, y[:5]), (X, Y)),
    "differential_entropy": (
        lambda x: tuple(st.differential_entropy(x, method=m) for m in ("vasicek", "van es", "ebrahimi")), (X,)
    ),
}  # fmt: skip


TIES = {
    "all of one sample": (np.array([1.0, 2.0, 3.5]), np.zeros(4)),
    "a number of both": (np.array([0.0, 0.0, 5.0, 5.0]), np.array([9.0, 9.0, 9.0, 5.0, 5.0])),
}


@pytest.mark.parametrize("name", TIES)
@pytest.mark.parametrize("distance", [st.wasserstein_distance, st.energy_distance])
def test_equal_numbers_each_have_their_slope(distance: Callable[..., Any], name: str) -> None:
    given, step = TIES[name], 1e-5
    found = ps.grad(lambda u, v: distance(u, v), wrt=(0, 1))(*given)
    for i, slopes in enumerate(found):
        for j, slope in enumerate(slopes):
            low, high = ([x.copy() for x in given] for _ in range(2))
            low[i][j] -= step
            high[i][j] += step
            assert slope == pytest.approx((distance(*high) - distance(*low)) / (2 * step), abs=1e-5)


@pytest.mark.parametrize("distance", [st.wasserstein_distance, st.energy_distance])
def test_a_missing_number_leaves_no_slope(distance: Callable[..., Any]) -> None:
    value, slopes = ps.value_and_grad(lambda v: distance(np.array([1.0, np.nan]), v))(Y)
    assert np.isnan(value)
    assert np.isnan(slopes).all()


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(
        lambda *xs: function(*xs), *given, symbolic=name != "differential_entropy", value_tolerance=1e-10, step=1e-3
    )

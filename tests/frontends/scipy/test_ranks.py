"""scipy.ndimage's rank filters: SciPy's values on traced images, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.ndimage as scipys
from scipy import signal

import primsplit as ps
from primsplit.testing import check_grads

random = np.random.default_rng(6)

IMAGE = random.standard_normal((5, 6))

VOLUME = random.standard_normal((3, 4, 3))

ROW = random.standard_normal(7)

WEIGHTS = random.standard_normal((3, 2))

FUNCTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "maximum_filter": (lambda x: scipys.maximum_filter(x, size=3), IMAGE),
    "minimum_filter": (lambda x: scipys.minimum_filter(x, footprint=WEIGHTS > -0.5, mode="nearest"), IMAGE),
    "maximum_filter of some axes": (lambda x: scipys.maximum_filter(x, (2, 3), axes=(0, 2), origin=(0, 1)), VOLUME),
    "maximum_filter1d": (lambda x: scipys.maximum_filter1d(x, 4, axis=0, mode="constant", cval=0.3), IMAGE),
    "minimum_filter1d": (lambda x: scipys.minimum_filter1d(x, 3, mode="wrap"), VOLUME),
    "median_filter": (lambda x: scipys.median_filter(x, size=3), IMAGE),
    "median_filter of an even window": (lambda x: scipys.median_filter(x, 2), IMAGE),
    "rank_filter": (lambda x: scipys.rank_filter(x, -2, size=(2, 3)), IMAGE),
    "percentile_filter": (lambda x: scipys.percentile_filter(x, -30, size=5), ROW),
    "percentile_filter of all": (lambda x: scipys.percentile_filter(x, 100, size=5), ROW),
}  # fmt: skip


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(lambda x: function(x), given)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: scipys.median_filter(x, 3),
        lambda x: scipys.rank_filter(x, 1, 3),
        lambda x: scipys.percentile_filter(x, 20, 3),
        lambda x: scipys.maximum_filter(x, 3),
        lambda x: signal.medfilt(x, 3),
        lambda x: signal.order_filter(x, np.ones(3), 1),
    ],
)
def test_a_window_with_a_missing_number_has_no_rank(f: Any) -> None:
    x = np.array([4.0, 1.0, 3.0, 7.0, 6.0, 9.0, 2.0])
    missing = np.where(np.arange(7) == 2, np.nan, x)
    program = ps.trace(f, x)
    np.testing.assert_array_equal(program(x), f(x))
    near = np.abs(np.arange(7) - 2) < 2
    np.testing.assert_array_equal(program(missing), np.where(near, np.nan, f(x)))
    slopes = ps.grad(lambda x: np.sum(f(x)[4:]))(missing)
    np.testing.assert_array_equal(slopes, ps.grad(lambda x: np.sum(f(x)[4:]))(x))

"""Functions of samples in scipy.stats: a NaN, or a number that there is no mean of, is not lost."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.spatial.distance
import scipy.stats as st

import primsplit as ps

X = np.array([[1.0, 2.5, 0.7, 4.0], [5.2, 6.1, 7.3, 8.0]])
OTHER = np.array([0.3, 1.1, 0.2, 2.2])

WITH_NAN: dict[str, Callable[[Any], Any]] = {
    "trim_mean": lambda x: st.trim_mean(x, 0.3, axis=-1),
    "tmean": lambda x: st.tmean(x, (0, 7), axis=-1),
    "tvar": lambda x: st.tvar(x, (0, 9), axis=-1),
    "tstd": lambda x: st.tstd(x, (0, 9), axis=-1),
    "tsem": lambda x: st.tsem(x, (0, 9), axis=-1),
    "tmin": lambda x: st.tmin(x, 1.0, axis=-1),
    "tmax": lambda x: st.tmax(x, 9.0, axis=-1),
    "gmean": lambda x: st.gmean(x, axis=-1),
    "hmean": lambda x: st.hmean(x, axis=-1),
    "pmean": lambda x: st.pmean(x, 2, axis=-1),
    "iqr": lambda x: st.iqr(x, axis=-1),
    "zscore": lambda x: st.zscore(x, axis=-1),
    "median_abs_deviation": lambda x: st.median_abs_deviation(x, axis=-1),
    "all of them": lambda x: st.trim_mean(x, 0.2, axis=None),
    **{
        f"rankdata {m}": lambda x, m=m: st.rankdata(x, m, axis=-1)
        for m in ("average", "min", "max", "dense", "ordinal")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_NAN)
@pytest.mark.filterwarnings("ignore:All-NaN")
def test_a_missing_number_makes_its_sample_nan(name: str) -> None:
    x, f = X.copy(), WITH_NAN[name]
    made = ps.trace(f, x)
    np.testing.assert_allclose(made(x), f(x), rtol=1e-12)
    x[0, 2] = np.nan
    np.testing.assert_allclose(made(x), f(x), rtol=1e-12)


@pytest.mark.parametrize("name", ["trim_mean", "tvar", "tmin", "hmean", "iqr"])
def test_its_gradient_is_nan_and_that_of_the_others_is_not(name: str) -> None:
    x = X.copy()
    x[0, 2] = np.nan
    found = ps.grad(lambda x: np.sum(WITH_NAN[name](x)))(x)
    np.testing.assert_array_equal(np.isnan(found), [[True] * 4, [False] * 4])
    np.testing.assert_allclose(found[1], ps.grad(lambda x: np.sum(WITH_NAN[name](x)))(X)[1], rtol=1e-12)


@pytest.mark.filterwarnings("ignore:The .* mean is only defined")
@pytest.mark.parametrize("f", [st.hmean, lambda x: st.pmean(x, 2), lambda x: st.hmean(x, weights=OTHER)])
def test_there_is_no_mean_of_powers_of_a_negative_number(f: Callable[[Any], Any]) -> None:
    x = np.array([1.0, -2.0, 4.0, 0.5])
    assert np.isnan(f(x))
    value, gradient = ps.value_and_grad(f)(x)
    assert np.isnan(value)
    assert np.isnan(gradient).all()
    np.testing.assert_allclose(ps.trace(f, x)(np.abs(x)), f(np.abs(x)), rtol=1e-12)


@pytest.mark.parametrize("f", [st.wasserstein_distance, st.energy_distance])
def test_there_is_no_distance_to_a_sample_with_a_missing_number(f: Callable[..., Any]) -> None:
    x = np.array([1.0, np.nan, 4.0])
    value, gradient = ps.value_and_grad(lambda x: f(x, OTHER))(x)
    assert np.isnan(value)
    assert np.isnan(gradient).all()


GRID, ON_GRID = (np.arange(6.0), np.arange(5.0)), np.random.default_rng(3).uniform(0.5, 2.0, (6, 5))
POINTS = np.array([[0.3, 1.4], [np.nan, 0.4], [2.2, np.nan], [9.0, np.nan], [9.0, 1.0]])


@pytest.mark.parametrize("method", ["linear", "nearest", "slinear", "cubic"])
def test_a_missing_coordinate_has_no_place_on_a_grid(method: str) -> None:
    def f(values: Any, points: Any) -> Any:
        made = scipy.interpolate.RegularGridInterpolator(GRID, values, method, bounds_error=False, fill_value=7.0)
        return made(points)

    found = ps.trace(f, ON_GRID, POINTS)(ON_GRID, POINTS)
    np.testing.assert_allclose(found, f(ON_GRID, POINTS), rtol=1e-5)  # SciPy's solver of splines is not exact
    slopes = ps.grad(lambda values: np.sum(f(values, POINTS)))(ON_GRID)
    assert np.isnan(slopes).any()


@pytest.mark.parametrize("kind", ["zero", "previous", "nearest", "linear"])
def test_interpolated_values_at_nan_are_scipys(kind: str) -> None:
    def f(y: Any, x: Any) -> Any:
        return scipy.interpolate.interp1d(np.arange(5.0), y, kind=kind, bounds_error=False, fill_value=7.0)(x)

    x, y = np.array([0.3, np.nan, 9.0]), ON_GRID[0]
    np.testing.assert_array_equal(ps.trace(f, y, x)(y, x), f(y, x))


@pytest.mark.parametrize("wrong", [[0.0, 0.0, 0.0], [1.0, -0.5, 0.2], [1.0, np.nan, 0.2]])
@pytest.mark.parametrize("beside", [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
def test_what_is_no_distribution_has_scipys_distance(wrong: list[float], beside: list[float]) -> None:
    p, q, f = np.array(wrong), np.array(beside), scipy.spatial.distance.jensenshannon
    for given in ((p, q), (q, p)):
        np.testing.assert_array_equal(ps.trace(lambda p, q: f(p, q), *given)(*given), f(*given))


def test_ranks_of_integers_stay_integers() -> None:
    x = np.array([3, 1, 2])
    assert ps.trace(lambda x: st.rankdata(x, "min"), x)(x).dtype == np.int64

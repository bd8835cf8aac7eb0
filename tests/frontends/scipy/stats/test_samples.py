"""scipy.stats' summaries along several axes or all, with axes kept, and of samples in which numbers are missing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads
from tests.numpy.agreement import by_symbols

RANDOM = np.random.default_rng(3)
CUBE = RANDOM.uniform(0.5, 2.0, (3, 4, 5))
GAPS = CUBE.copy()
GAPS[0, 1, 2] = GAPS[1, 2, :4] = GAPS[2, :, 0] = np.nan

OF_MISSING = ("skew", "kurtosis", "sem", "variation", "gmean", "hmean", "gstd", "moment")
SUMMARIES = (
    *OF_MISSING, "tmean", "tvar", "tstd", "tsem", "tmin", "tmax", "kstat", "circmean", "circvar", "circstd",
    "median_abs_deviation", "entropy", "iqr",
)  # fmt: skip


def agree(function: Callable[..., Any], *given: Any) -> None:
    wanted = function(*given)
    for specs in (given, by_symbols(given)):
        found = ps.trace(lambda *x: function(*x), *specs)(*given)
        for one, other in zip(found, wanted, strict=True):
            assert one.shape == np.shape(other)
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", SUMMARIES)
def test_axes_are_scipys(name: str) -> None:
    function = getattr(st, name)
    axes = [(axis, keeps) for axis in (1, None, (0, 2), (-1, 0)) for keeps in (False, True)]
    agree(lambda x: [function(x, axis=axis, keepdims=keeps) for axis, keeps in axes], CUBE)


@pytest.mark.parametrize("name", OF_MISSING)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_missing_numbers_are_left_out(name: str) -> None:
    function = getattr(st, name)
    axes = [(axis, keeps) for axis in (0, 2, None, (0, 2)) for keeps in (False, True)]
    agree(lambda x: [function(x, axis=axis, nan_policy="omit", keepdims=keeps) for axis, keeps in axes], GAPS)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_missing_numbers_have_no_gradient() -> None:
    def function(x: Any) -> Any:
        given = np.where(np.isnan(GAPS), np.nan, x)
        return (
            st.skew(given, axis=1, bias=False, nan_policy="omit")[:2],
            st.kurtosis(given, axis=(0, 1), bias=False, nan_policy="omit"),
            st.pmean(given, 3, axis=None, nan_policy="omit"),
            st.gmean(given, axis=2, nan_policy="omit", weights=CUBE[::-1]),
            np.nan_to_num(st.zscore(given, axis=1, ddof=1, nan_policy="omit")),
        )

    check_grads(function, CUBE, symbolic=False, value_tolerance=1e-10, step=1e-3)
    for axis in (0, 1, 2):
        agree(lambda x, axis=axis: [st.zscore(x, axis=axis, ddof=1, nan_policy="omit")], GAPS)


ROWS: dict[str, Callable[..., Any]] = {
    "weights along several axes": lambda x, y: (st.gmean(x, axis=(0, 2), weights=y), st.hmean(x, axis=None, weights=y)),
    "relative entropy": lambda x, y: (st.entropy(x, y, axis=(0, 1)), st.entropy(x, y, axis=None, keepdims=True)),
    "several moments": lambda x, y: (st.moment(x, order=[1, 2, 3], axis=1, keepdims=True), st.moment(y, [2, 4], 0)),
    "deviation from a median": lambda x, y: (st.median_abs_deviation(x, axis=(0, 1), scale="normal", keepdims=True),),
    "correlations to one side": lambda x, y: (
        *st.pearsonr(x, y, axis=1, alternative="less"), *st.pearsonr(x[0, 0], y[0, 0], alternative="greater"),
    ),
    "slopes to one side": lambda x, y: (
        *st.linregress(x[0, 0], y[0, 0], alternative="less"), *st.linregress(x[1, 0], y[0, 0], alternative="greater"),
    ),
}  # fmt: skip


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", ROWS)
def test_options_are_scipys_with_gradients(name: str) -> None:
    agree(ROWS[name], CUBE, CUBE[::-1] ** 2)
    check_grads(lambda x, y: ROWS[name](x, y), CUBE, CUBE[::-1] ** 2, symbolic=False, order=1, value_tolerance=1e-10)


def test_a_policy_that_asks_for_numbers_is_refused() -> None:
    with pytest.raises(UnsupportedFunction, match="nan_policy='raise'"):
        ps.trace(lambda x: st.skew(x, nan_policy="raise"), CUBE)

"""scipy.stats' summaries of samples: SciPy's values by its own names on traced arrays, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as st
from scipy.spatial import distance

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.uniform(0.5, 3.0, 7), RANDOM.uniform(0.5, 3.0, 7)
TABLE = RANDOM.uniform(0.5, 3.0, (4, 5))

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "gmean": (lambda x: st.gmean(x), (TABLE,)), "hmean": (lambda x: st.hmean(x, axis=1), (TABLE,)),
    "pmean": (lambda x: st.pmean(x, 3.0, axis=None), (TABLE,)),
    "a weighted gmean": (lambda x, w: st.gmean(x, weights=w), (X, Y)),
    "moment": (lambda x: st.moment(x, 3), (TABLE,)), "skew": (lambda x: st.skew(x, axis=1), (TABLE,)),
    "moment about a centre": (lambda x: st.moment(x, 2, center=1.0), (X,)),
    "skew corrected": (lambda x: st.skew(x, bias=False), (X,)), "kurtosis": (lambda x: st.kurtosis(x), (TABLE,)),
    "kurtosis corrected": (lambda x: st.kurtosis(x, fisher=False, bias=False), (X,)),
    "sem": (lambda x: st.sem(x), (TABLE,)),
    "variation": (lambda x: st.variation(x, ddof=1), (X,)), "entropy": (lambda x: st.entropy(x), (TABLE,)),
    "entropy of numbers of which one is 0": (lambda x: st.entropy(np.append(x, 0.0)), (X,)),
    "relative entropy of numbers of which one is 0": (
        lambda x, y: st.entropy(np.append(x, 0.0), np.append(1.0, y)), (X, Y)
    ),
    "relative entropy": (lambda x, y: st.entropy(x, y, base=2), (X, Y)),
    "relative entropy of one number for all": (lambda x, y: st.entropy(x, y[:2, None], axis=-1), (X, Y)),
    "pearsonr": (lambda x, y: tuple(st.pearsonr(x, y)), (X, Y)),
    "linregress": (lambda x, y: tuple(st.linregress(x, y))[:5], (X, Y)),
    "linregress' error": (lambda x, y: st.linregress(x, y).intercept_stderr, (X, Y)),
    "describe": (lambda x: (*st.describe(x).minmax, st.describe(x).nobs * st.describe(x).variance), (TABLE,)),
    "describe all": (lambda x: tuple(st.describe(x, axis=None, bias=False))[2:], (TABLE,)),
    "iqr": (lambda x: st.iqr(x, axis=1, rng=(10, 80)), (TABLE,)),
    "iqr scaled": (lambda x: st.iqr(x, scale="normal"), (X,)),
    "median_abs_deviation": (lambda x: st.median_abs_deviation(x, scale="normal"), (X,)),
}  # fmt: skip


LONG = {"linregress' error"}
"""Further results and options of functions that other rows differentiate: slow tests."""


@pytest.mark.sweep(24)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in FUNCTIONS])
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]

    def f(*xs: Any) -> Any:
        return function(*xs)

    check_grads(f, *given, value_tolerance=1e-10, step=1e-3)


@pytest.mark.parametrize("name", ["skew", "kurtosis", "sem", "entropy", "gmean"])
def test_one_file_serves_samples_of_any_size(name: str) -> None:
    function = getattr(st, name)
    program = ps.trace(lambda x: function(x), ps.spec("float64", ["N"]))
    for count in (3, 7):
        np.testing.assert_allclose(program(X[:count]), function(X[:count]), rtol=1e-11)


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    ("dtype", "factor"), [("float32", 1e15), ("float32", 1e-25), ("float64", 1e200), ("float64", 1e-200)]
)
def test_a_correlation_of_large_or_small_numbers_is_that_of_their_ratios(dtype: str, factor: float) -> None:
    x, y = (X * factor).astype(dtype), (Y * factor).astype(dtype)
    (found, p), slope = (
        ps.trace(lambda *a: tuple(st.pearsonr(*a)), x, y)(x, y),
        ps.grad(lambda x: st.pearsonr(x, y)[0])(x),
    )
    near = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose([found, p], tuple(st.pearsonr(X, Y)), rtol=near)
    expected = ps.grad(lambda x: st.pearsonr(x, Y)[0])(X)
    np.testing.assert_allclose(slope.astype(float) * factor, expected, rtol=1e-3 if dtype == "float32" else 1e-9)


FROZEN = st.gamma(2.3, scale=1.4)
COUNTED = st.binom(5, 0.4)


def test_a_distribution_frozen_outside_of_the_function_takes_traced_numbers() -> None:
    check_grads(lambda x: FROZEN.logpdf(x) + FROZEN.cdf(x) + COUNTED.pmf(2) * x, X, symbolic=False, step=1e-3)


def test_a_frozen_distribution_without_a_form_is_told() -> None:
    with pytest.raises(UnsupportedFunction, match=r"scipy\.stats\.levy_l\.pdf"):
        ps.trace(lambda x: st.levy_l(0.0).pdf(-x), X)


def test_a_method_of_a_distribution_may_be_differentiated_itself() -> None:
    assert float(ps.grad(st.norm.logpdf)(np.float64(0.7))) == pytest.approx(-0.7)
    assert float(ps.grad(FROZEN.logpdf)(np.float64(0.7))) == pytest.approx(1.3 / 0.7 - 1 / 1.4)


@pytest.mark.parametrize("name", ["gmean", "hmean"])
def test_a_mean_is_taken_in_the_dtype_that_is_asked_for(name) -> None:
    mean, given = getattr(st, name), X.astype(np.float32)
    found = ps.trace(lambda x: mean(x, dtype=np.float64), given)(given)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, mean(given.astype(np.float64)), rtol=1e-14)


SHARES, OTHERS = np.array([0.5, 0.5, 0.0]), np.array([0.2, 0.3, 0.5])


@pytest.mark.parametrize(
    ("function", "sign"),
    [
        (lambda p: st.entropy(p), 1),
        (lambda p: st.entropy(p, base=2), 1),
        (lambda p: st.entropy(p, OTHERS), -1),
        (lambda p: distance.jensenshannon(p, OTHERS), -1),
        (lambda p: distance.jensenshannon(OTHERS, p), -1),
    ],
    ids=["entropy", "entropy in bits", "relative entropy", "distance", "distance, the other way around"],
)
def test_the_slope_by_a_share_of_0_is_infinite_and_the_others_are_right(function: Any, sign: int) -> None:
    found = ps.grad(function)(SHARES)
    step = 1e-6 * np.eye(3)[:2]
    wanted = [(function(SHARES + s) - function(SHARES - s)) / 2e-6 for s in step]
    np.testing.assert_allclose(found[:2], wanted, rtol=1e-6, atol=1e-9)
    assert found[2] == sign * np.inf
    slopes = [(function(np.append(SHARES[:2], h)) - function(SHARES)) / h for h in (1e-4, 1e-8, 1e-12)]
    assert np.all(np.diff(sign * np.array(slopes)) > 1)  # without bound


def test_the_slope_by_a_share_that_both_distributions_lack_is_nan() -> None:
    none = np.array([0.7, 0.3, 0.0])
    assert np.isnan(ps.grad(lambda p: distance.jensenshannon(p, none))(SHARES)[2])
    found = ps.grad(lambda p: st.entropy(p, none))(SHARES)
    assert np.isfinite(found[:2]).all()
    assert np.isnan(found[2])

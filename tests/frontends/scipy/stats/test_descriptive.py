"""scipy.stats' summaries of samples: SciPy's values by its own names on traced arrays, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

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
    "zscore": (lambda x: st.zscore(x, ddof=1), (TABLE,)), "sem": (lambda x: st.sem(x), (TABLE,)),
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
    "boxcox_llf": (lambda x, y: st.boxcox_llf(y[0], x), (X, Y)),
    "iqr": (lambda x: st.iqr(x, axis=1, rng=(10, 80)), (TABLE,)),
    "iqr scaled": (lambda x: st.iqr(x, scale="normal"), (X,)),
    "median_abs_deviation": (lambda x: st.median_abs_deviation(x, scale="normal"), (X,)),
    "wasserstein_distance": (lambda x, y: st.wasserstein_distance(x, y[:5]), (X, Y)),
    "weighted distances": (
        lambda x, y: (st.wasserstein_distance(x, y, y, x), st.energy_distance(x[:4], y, v_weights=x)), (X, Y)
    ),
    "energy_distance": (lambda x, y: st.energy_distance(x, y[:5]), (X, Y)),
    "scores by others": (lambda x, y: (st.zmap(x, y, ddof=1), st.gzscore(x), st.gstd(y)), (X, Y)),
    "boxcox": (lambda x, y: st.boxcox(x, y[0]), (X, Y)),
    "yeojohnson": (lambda x, y: (st.yeojohnson(x - 1.7, y[0]), st.yeojohnson(x - 1.7, 2.0)), (X, Y)),
    "yeojohnson_llf": (lambda x, y: st.yeojohnson_llf(y[0], x - 1.7), (X, Y)),
    "parts": (
        lambda x: (st.tmean(x, (0.8, None)), st.tvar(x, (0.8, 2.6)), st.tstd(x, (None, 2.6)), st.tsem(x)), (X,)
    ),
    "extremes within limits": (lambda x: (st.tmin(x, 0.9, axis=1), st.tmax(x, 2.2)), (TABLE,)),
    "trimmed": (lambda x: (st.trim_mean(x, 0.3), st.trim_mean(x, 0.2, axis=None)), (TABLE,)),
    "trimboth": (lambda x: np.sort(st.trimboth(x, 0.25)), (X,)),
    "kstat": (lambda x: tuple(st.kstat(x, n) for n in (1, 2, 3, 4)), (X,)),
    "rankdata": (
        lambda x: tuple(x * st.rankdata(np.round(x), m) for m in ("average", "min", "max", "dense", "ordinal")), (X,)
    ),
    "rankdata along an axis": (lambda x: x * st.rankdata(x, axis=0), (TABLE,)),
    "spearmanr": (lambda x, y: x * st.spearmanr(x, y).statistic, (X, Y)),
    "differential_entropy": (
        lambda x: tuple(st.differential_entropy(x, method=m) for m in ("vasicek", "van es", "ebrahimi")), (X,)
    ),
    "angles": (
        lambda x: (st.circmean(x, high=3, axis=1), st.circvar(x), st.circstd(x, axis=0, normalize=True)), (TABLE,)
    ),
    "directional_stats": (
        lambda x: (st.directional_stats(x).mean_direction, st.directional_stats(x).mean_resultant_length), (TABLE,)
    ),
    "t-tests": (
        lambda x, y: (
            st.ttest_ind(x, y[:5])[0], st.ttest_ind(x, y, equal_var=False)[0], st.ttest_1samp(x, 1.0)[0],
            st.ttest_rel(x, y).statistic,
        ),
        (X, Y),
    ),
    "spreads": (
        lambda x, y: (st.f_oneway(x, y, x * y[0])[0], st.bartlett(x, y)[0], st.levene(x, y, center="mean")[0]), (X, Y)
    ),
    "normality": (lambda x: (st.normaltest(x)[0], st.skewtest(x)[0], st.kurtosistest(x)[0]), (TABLE.ravel(),)),
    "normality of many": (lambda x: st.jarque_bera(x)[0], (X,)),
    "counts": (
        lambda x: (st.chisquare(x)[0], *(st.power_divergence(x, lambda_=p)[0] for p in ("neyman", 0, -1))), (X,)
    ),
}  # fmt: skip


OF_KNOWN_SIZE = {"trimmed", "trimboth", "differential_entropy", "angles", "rankdata", "spearmanr"}
"""Functions whose omissions or comparisons depend on the size, or for which one number is a case of its own."""


LONG = {"linregress' error", "weighted distances"}
"""Further results and options of functions that other rows differentiate: slow tests."""


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in FUNCTIONS])
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]

    def f(*xs: Any) -> Any:
        return function(*xs)

    check_grads(f, *given, symbolic=name not in OF_KNOWN_SIZE, value_tolerance=1e-10, step=1e-3)


@pytest.mark.parametrize("name", ["skew", "kurtosis", "sem", "entropy", "gmean"])
def test_one_file_serves_samples_of_any_size(name: str) -> None:
    function = getattr(st, name)
    program = ps.trace(lambda x: function(x), ps.spec("float64", ["N"]))
    for count in (3, 7):
        np.testing.assert_allclose(program(X[:count]), function(X[:count]), rtol=1e-11)


TESTS: dict[str, Callable[..., Any]] = {
    "ttest_ind": lambda x, y: st.ttest_ind(x, y, alternative="less"),
    "Welch's": lambda x, y: st.ttest_ind(x, y[:5], equal_var=False),
    "ttest_1samp": lambda x, _: st.ttest_1samp(x, 1.0, alternative="greater"),
    "ttest_rel": lambda x, y: st.ttest_rel(x, y),
    "f_oneway": lambda x, y: st.f_oneway(x, y), "bartlett": lambda x, y: st.bartlett(x, y),
    "levene": lambda x, y: st.levene(x, y), "spearmanr": lambda x, y: st.spearmanr(x, y),
    "normaltest": lambda x, y: st.normaltest(np.concatenate([x, y])),
    "skewtest": lambda x, y: st.skewtest(np.concatenate([x, y]), alternative="less"),
    "kurtosistest": lambda x, y: st.kurtosistest(np.concatenate([x, y])),
    "jarque_bera": lambda x, _: st.jarque_bera(x), "chisquare": lambda x, _: st.chisquare(x, ddof=1),
    "power_divergence": lambda x, _: st.power_divergence(x, lambda_="cressie-read"),
}  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", TESTS)
def test_a_test_of_a_hypothesis_has_scipys_probability(name: str) -> None:
    def f(x: Any, y: Any) -> Any:
        return tuple(TESTS[name](x, y))

    np.testing.assert_allclose(ps.trace(f, X, Y)(X, Y), f(X, Y), rtol=1e-9)


def test_scores_of_equal_numbers_are_nan_as_in_scipy() -> None:
    equal = np.full(3, 0.1)
    assert np.isnan(ps.trace(lambda x: st.zscore(x), equal)(equal)).all()


@pytest.mark.parametrize("name", ["boxcox", "yeojohnson"])
def test_an_exponent_that_scipy_would_search_for_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedFunction, match=f"scipy.stats.{name} without lmbda"):
        ps.trace(lambda x: getattr(st, name)(x), X)


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

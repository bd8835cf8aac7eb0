"""scipy.stats' hypothesis tests of traced samples: SciPy's statistics and probabilities, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import primsplit as ps
from primsplit.testing import check_grads
from tests.numpy.agreement import by_symbols

RANDOM = np.random.default_rng(0)

X, Y = RANDOM.uniform(0.5, 3.0, 7), RANDOM.uniform(0.5, 3.0, 7)

TABLE = RANDOM.uniform(0.5, 3.0, (4, 5))

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
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

TESTS: dict[str, Callable[..., Any]] = {
    "ttest_ind": lambda x, y: st.ttest_ind(x, y, alternative="less"),
    "Welch's": lambda x, y: st.ttest_ind(x, y[:5], equal_var=False),
    "ttest_1samp": lambda x, _: st.ttest_1samp(x, 1.0, alternative="greater"),
    "ttest_rel": lambda x, y: st.ttest_rel(x, y),
    "f_oneway": lambda x, y: st.f_oneway(x, y), "bartlett": lambda x, y: st.bartlett(x, y),
    "levene": lambda x, y: st.levene(x, y),
    "normaltest": lambda x, y: st.normaltest(np.concatenate([x, y])),
    "skewtest": lambda x, y: st.skewtest(np.concatenate([x, y]), alternative="less"),
    "kurtosistest": lambda x, y: st.kurtosistest(np.concatenate([x, y])),
    "jarque_bera": lambda x, _: st.jarque_bera(x), "chisquare": lambda x, _: st.chisquare(x, ddof=1),
    "power_divergence": lambda x, _: st.power_divergence(x, lambda_="cressie-read"),
}  # fmt: skip


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", TESTS)
def test_a_test_of_a_hypothesis_has_scipys_probability(name: str) -> None:
    def f(x: Any, y: Any) -> Any:
        return tuple(TESTS[name](x, y))

    np.testing.assert_allclose(ps.trace(f, X, Y)(X, Y), f(X, Y), rtol=1e-9)


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(lambda *xs: function(*xs), *given, symbolic=True, value_tolerance=1e-10, step=1e-3)


CUBE = RANDOM.uniform(0.5, 2.0, (3, 4, 5))


def agree(function: Callable[..., Any], *given: Any) -> None:
    wanted = function(*given)
    for specs in (given, by_symbols(given)):
        found = ps.trace(lambda *x: function(*x), *specs)(*given)
        for one, other in zip(found, wanted, strict=True):
            assert one.shape == np.shape(other)
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


WIDE = RANDOM.uniform(0.5, 2.0, (21, 2, 20))

OUTCOMES: dict[str, Callable[..., Any]] = {
    "ttest_1samp": lambda x, y, **o: st.ttest_1samp(x, 0.9, **o),
    "ttest_rel": lambda x, y, **o: st.ttest_rel(x, y, **o),
    "ttest_ind": lambda x, y, **o: st.ttest_ind(x, y[:, :, 1:], **o),
    "f_oneway": lambda x, y, **o: st.f_oneway(x, y[:, :, 1:], **o),
    "levene": lambda x, y, **o: st.levene(x, y, center="mean", **o),
    "bartlett": lambda x, y, **o: st.bartlett(x, y, **o),
    "chisquare": lambda x, y, **o: st.chisquare(x, **o),
    "power_divergence": lambda x, y, **o: st.power_divergence(x, lambda_=0, **o),
    **{
        name: (lambda x, y, name=name, **o: getattr(st, name)(WIDE + 0.0 * x[0, 0, 0], **o))
        for name in ("skewtest", "kurtosistest", "normaltest", "jarque_bera")
    },
}

SLOWEST = {"ttest_1samp", "ttest_ind", "levene", "f_oneway"}


@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOWEST)) for n in OUTCOMES])
def test_axes_of_tests_are_scipys(name: str) -> None:
    axes = [(2, True), (None, False), ((0, 2), True)]
    agree(
        lambda x, y: [v for axis, k in axes for v in OUTCOMES[name](x, y, axis=axis, keepdims=k)], CUBE, CUBE[::-1] ** 2
    )

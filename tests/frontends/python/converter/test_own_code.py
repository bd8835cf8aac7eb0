"""SciPy's own code is traced as a converted copy: its branches on numbers and sizes, and its errors."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from scipy._lib import _array_api

import primsplit as ps
from primsplit.frontends.python.converter.own_code import own_code
from primsplit.frontends.python.overrides.libraries import register_scipys
from primsplit.frontends.python.overrides.table import register, substitute_of, when_traced
from primsplit.testing import check_grads
from tests.versions import is_since

X = np.array([0.3, 1.2, 0.7, 2.5, 1.9, 0.4])


@pytest.fixture
def owning() -> Iterator[Callable[[Any], None]]:
    """A function after which traced values reach SciPy's own code."""
    register_scipys()
    before: dict[Any, Any] = {}

    def own(original: Any) -> None:
        before[original] = substitute_of(original)
        register(original, when_traced(original, own_code(original)))

    yield own
    for original, substitute in before.items():
        register(original, substitute)


def test_a_function_has_scipys_values_and_derivatives(owning: Callable[[Any], None]) -> None:
    owning(scipy.stats.zscore)
    check_grads(lambda x: scipy.stats.zscore(x, ddof=1), X, order=2, step=1e-3)


def test_an_error_by_data_is_an_error_of_the_run(owning: Callable[[Any], None]) -> None:
    owning(scipy.stats.linregress)
    program = ps.trace(lambda x, y: scipy.stats.linregress(x, y).slope, X, X)
    np.testing.assert_allclose(program(X, X**2), scipy.stats.linregress(X, X**2).slope, rtol=1e-12)
    if is_since("scipy", "1.18"):  # which gives NaN, and warns
        assert np.isnan(program(np.ones(6), X))
    else:
        with pytest.raises(ps.errors.RunError, match=r"(?s)all x values are identical.*test_own_code\.py"):
            program(np.ones(6), X)


def test_a_branch_on_a_size_is_decided_by_the_run(owning: Callable[[Any], None]) -> None:
    owning(scipy.integrate.simpson)
    program = ps.trace(scipy.integrate.simpson, ps.spec("float64", ["N"]))
    for count in (2, 3, 4, 5):
        np.testing.assert_allclose(program(X[:count]), scipy.integrate.simpson(X[:count]), rtol=1e-12)


def test_a_warning_of_one_side_of_a_branch_is_not_shown(owning: Callable[[Any], None]) -> None:
    owning(scipy.stats.hmean)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = ps.trace(scipy.stats.hmean, X)
    np.testing.assert_allclose(program(X), scipy.stats.hmean(X), rtol=1e-12)
    assert np.isnan(program(-X))


def test_scipy_is_as_it_was(owning: Callable[[Any], None]) -> None:
    held = [vars(_array_api)["array_namespace"], vars(scipy.stats)["gmean"]]
    code = [f.__code__ for f in held]
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append([vars(_array_api)["array_namespace"], vars(scipy.stats)["gmean"]])
        return scipy.stats.gmean(x)

    owning(scipy.stats.gmean)
    ps.trace(f, X)
    assert all(now == held for now in seen)
    assert [f.__code__ for f in held] == code
    assert _array_api.array_namespace(X).__name__.endswith(".array_api_compat.numpy")

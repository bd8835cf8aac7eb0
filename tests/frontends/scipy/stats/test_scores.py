"""scipy.stats' scores and transformed samples: SciPy's values of traced samples, and gradients."""

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
    "zscore": (lambda x: st.zscore(x, ddof=1), (TABLE,)),
    "boxcox_llf": (lambda x, y: st.boxcox_llf(y[0], x), (X, Y)),
    "scores by others": (lambda x, y: (st.zmap(x, y, ddof=1), st.gzscore(x), st.gstd(y)), (X, Y)),
    "boxcox": (lambda x, y: st.boxcox(x, y[0]), (X, Y)),
    "yeojohnson": (lambda x, y: (st.yeojohnson(x - 1.7, y[0]), st.yeojohnson(x - 1.7, 2.0)), (X, Y)),
    "yeojohnson_llf": (lambda x, y: st.yeojohnson_llf(y[0], x - 1.7), (X, Y)),
}  # fmt: skip


def test_scores_of_equal_numbers_are_nan_as_in_scipy() -> None:
    equal = np.full(3, 0.1)
    assert np.isnan(ps.trace(lambda x: st.zscore(x), equal)(equal)).all()


@pytest.mark.parametrize("policy", ["propagate", "omit"])
def test_scores_of_equal_numbers_have_no_gradient(policy: str) -> None:
    rows = np.array([[2.5, 2.5, 2.5], [1.0, 2.0, 4.0]])
    found = ps.grad(lambda x: np.sum(st.zscore(x, axis=1, nan_policy=policy) ** 3))(rows)
    np.testing.assert_array_equal(np.isnan(found), [[True] * 3, [False] * 3])


@pytest.mark.parametrize("name", ["boxcox", "yeojohnson"])
def test_an_exponent_that_scipy_would_search_for_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedFunction, match=f"scipy.stats.{name} without lmbda"):
        ps.trace(lambda x: getattr(st, name)(x), X)


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(lambda *xs: function(*xs), *given, symbolic=True, value_tolerance=1e-10, step=1e-3)

"""scipy.stats' ranks and rank correlations: SciPy's values of traced samples."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import primsplit as ps
from primsplit.testing import check_grads

RANDOM = np.random.default_rng(0)

X, Y = RANDOM.uniform(0.5, 3.0, 7), RANDOM.uniform(0.5, 3.0, 7)

TABLE = RANDOM.uniform(0.5, 3.0, (4, 5))

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "rankdata": (
        lambda x: tuple(x * st.rankdata(np.round(x), m) for m in ("average", "min", "max", "dense", "ordinal")), (X,)
    ),
    "rankdata along an axis": (lambda x: x * st.rankdata(x, axis=0), (TABLE,)),
    "spearmanr": (lambda x, y: x * st.spearmanr(x, y).statistic, (X, Y)),
}  # fmt: skip

TESTS: dict[str, Callable[..., Any]] = { "spearmanr": lambda x, y: st.spearmanr(x, y),
}  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", TESTS)
def test_a_test_of_a_hypothesis_has_scipys_probability(name: str) -> None:
    def f(x: Any, y: Any) -> Any:
        return tuple(TESTS[name](x, y))

    np.testing.assert_allclose(ps.trace(f, X, Y)(X, Y), f(X, Y), rtol=1e-9)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(
        lambda *xs: function(*xs), *given, symbolic=name == "rankdata along an axis", value_tolerance=1e-10, step=1e-3
    )

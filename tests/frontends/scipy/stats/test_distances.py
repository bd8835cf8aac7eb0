"""scipy.stats' distances between samples, and the entropy of a density: SciPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

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


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(
        lambda *xs: function(*xs), *given, symbolic=name != "differential_entropy", value_tolerance=1e-10, step=1e-3
    )

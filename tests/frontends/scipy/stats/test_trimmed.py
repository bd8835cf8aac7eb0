"""scipy.stats' summaries of a part of a sample: SciPy's values of traced samples, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

from primsplit.testing import check_grads

RANDOM = np.random.default_rng(0)

X, Y = RANDOM.uniform(0.5, 3.0, 7), RANDOM.uniform(0.5, 3.0, 7)

TABLE = RANDOM.uniform(0.5, 3.0, (4, 5))

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "parts": (
        lambda x: (st.tmean(x, (0.8, None)), st.tvar(x, (0.8, 2.6)), st.tstd(x, (None, 2.6)), st.tsem(x)), (X,)
    ),
    "extremes within limits": (lambda x: (st.tmin(x, 0.9, axis=1), st.tmax(x, 2.2)), (TABLE,)),
    "trimmed": (lambda x: (st.trim_mean(x, 0.3), st.trim_mean(x, 0.2, axis=None)), (TABLE,)),
    "trimboth": (lambda x: np.sort(st.trimboth(x, 0.25)), (X,)),
    "kstat": (lambda x: tuple(st.kstat(x, n) for n in (1, 2, 3, 4)), (X,)),
}  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(
        lambda *xs: function(*xs), *given, symbolic=not name.startswith("trim"), value_tolerance=1e-10, step=1e-3
    )

"""scipy.stats' summaries of angles and directions: SciPy's values on traced arrays, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

from primsplit.testing import check_grads

RANDOM = np.random.default_rng(0)

TABLE = RANDOM.uniform(0.5, 3.0, (4, 5))

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "angles": (
        lambda x: (st.circmean(x, high=3, axis=1), st.circvar(x), st.circstd(x, axis=0, normalize=True)), (TABLE,)
    ),
    "directional_stats": (
        lambda x: (st.directional_stats(x).mean_direction, st.directional_stats(x).mean_resultant_length), (TABLE,)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(lambda *xs: function(*xs), *given, symbolic=name != "angles", value_tolerance=1e-10, step=1e-3)

"""scipy.signal's spectrum of unevenly spaced samples: SciPy's values on traced samples, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.signal as scipys

from tests.frontends.scipy.signals import check_parts

random = np.random.default_rng(0)
X, Y, ROWS = random.standard_normal(40), random.standard_normal(40), random.standard_normal((20, 3))

FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "uneven samples": lambda x, y, m: scipys.lombscargle(np.arange(40) + np.tanh(x), y, np.exp(m[:5, 0] - 1)),
    "evenly spaced samples": lambda x, y, m: scipys.lombscargle(np.arange(8.0), x[:8], 2 * np.pi * np.arange(5) / 8),
    "weighted samples about a mean": lambda x, y, m: scipys.lombscargle(
        np.arange(40) + np.tanh(x), y, [0.5, 1.1], normalize=True, weights=np.exp(x), floating_mean=True
    ),
    "one frequency": lambda x, y, m: scipys.lombscargle(np.arange(40.0), x, [0.7]),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    check_parts(FUNCTIONS[name], X, Y, ROWS)

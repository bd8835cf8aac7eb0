"""scipy.signal's noise filters: SciPy's values on traced images, and gradients."""

import pytest
import scipy.signal as scipys

from tests.frontends.scipy.signals import IMAGE, Rows, check_signals

FUNCTIONS: Rows = {
    "medians": (
        lambda x: (scipys.medfilt(x), scipys.medfilt2d(x, (1, 3)), scipys.order_filter(x, [[1, 0, 1]], 0)), (IMAGE,)
    ),
    "Wiener's filter": (lambda x: (scipys.wiener(x, 3), scipys.wiener(x, (3, 1), noise=0.4)), (IMAGE,)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    check_signals(FUNCTIONS[name])

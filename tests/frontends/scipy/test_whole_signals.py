"""scipy.signal's functions of whole signals: SciPy's values on traced signals of any length, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.signal as scipys

import primsplit as ps
from primsplit.ir.errors import RunError, ShapeError, UnsupportedFunction
from primsplit.testing import check_grads
from tests.frontends.scipy.signals import agree, check_parts, parts

random = np.random.default_rng(0)
X, Y, ROWS = random.standard_normal(40), random.standard_normal(40), random.standard_normal((20, 3))

FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "the analytic signal": lambda x, y, m: scipys.hilbert(x),
    "an envelope": lambda x, y, m: np.abs(scipys.hilbert(m, axis=0, N=23)),
    "no trend": lambda x, y, m: scipys.detrend(m, axis=0),
    "no trend between breaks": lambda x, y, m: scipys.detrend(m, axis=0, bp=np.array([3, 1])),
    "no mean": lambda x, y, m: scipys.detrend(x, type="constant"),
    "smooth": lambda x, y, m: scipys.savgol_filter(x, 7, 2),
    "smooth slopes": lambda x, y, m: scipys.savgol_filter(x, 7, 3, deriv=1, delta=0.3),
    "smooth rows": lambda x, y, m: scipys.savgol_filter(m, 5, 4, deriv=2, axis=0),
    "smooth with an even window": lambda x, y, m: scipys.savgol_filter(x, 6, 3),
    "smooth over mirrored ends": lambda x, y, m: scipys.savgol_filter(x, 6, 2, deriv=1, mode="mirror"),
    "smooth over constant ends": lambda x, y, m: scipys.savgol_filter(x, 9, 3, mode="constant", cval=1.0),
    "a derivative that is 0": lambda x, y, m: scipys.savgol_filter(x, 5, 1, deriv=2),
    "one window": lambda x, y, m: scipys.savgol_filter(m, 20, 3, axis=0),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    check_parts(FUNCTIONS[name], X, Y, ROWS)


OPEN = ("the analytic signal", "smooth", "no mean")


@pytest.mark.parametrize("name", OPEN)
def test_one_file_serves_every_length(name: str) -> None:
    def f(x: Any, y: Any) -> Any:
        return parts(FUNCTIONS[name](x, y, None))

    program = ps.trace(f, *[ps.spec("float64", ["N"])] * 2)
    for size in (40, 33, 17, 16):
        agree(program(X[:size], Y[:size]), f(X[:size], Y[:size]), 1e-10)
    check_grads(f, X[:16], Y[:16], resize=())
    if name == "smooth":
        with pytest.raises(RunError):
            program(X[:5], Y[:5])


def test_what_cannot_be_is_told_at_the_users_line() -> None:
    for error, told, function in (
        (ShapeError, "41 samples is longer than 40", lambda x: scipys.savgol_filter(x, 41, 2)),
        (UnsupportedFunction, "breaks", lambda x: scipys.detrend(x, bp=[x[0]])),
    ):
        with pytest.raises(error, match=told) as caught:
            ps.trace(function, X)
        assert caught.value.place is not None
        assert caught.value.place.filename == __file__

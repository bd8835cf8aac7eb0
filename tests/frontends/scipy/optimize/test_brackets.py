"""Searches for a root between two points: SciPy's roots, and their derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so
from scipy.optimize import brentq, newton, root_scalar
from scipy.special import ndtr

import primsplit as ps
from primsplit.ir.errors import RunError
from primsplit.testing import check_grads

ORBIT = np.array([0.3, 1.1])

TIGHT = {"xtol": 1e-14}


def kepler(search: Callable[..., Any]) -> Callable[[Any], Any]:
    """The eccentric anomaly of an orbit of this eccentricity and mean anomaly."""
    return lambda p: search(lambda x: x - p[0] * np.sin(x) - p[1], 0, 2 * np.pi, **TIGHT)


def implied_volatility(p: Any) -> Any:
    price, strike = p

    def excess(sigma: float) -> Any:
        d = -np.log(strike) / sigma + sigma / 2
        return ndtr(d) - strike * ndtr(d - sigma) - price

    return brentq(excess, 1e-3, 3.0, xtol=1e-14)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{f"{s.__name__} of an orbit": kepler(s) for s in (so.brentq, so.brenth, so.bisect, so.ridder, so.toms748)},
    "an implied volatility": lambda p: implied_volatility(np.stack([p[0] * 0.3, p[1]])),
    "a bracket": lambda p: root_scalar(lambda x, e: x - e * np.sin(x) - p[1], args=(p[0],), bracket=[0, 6]).root,
    "a bracket by name": lambda p: root_scalar(lambda x: x * x - p[1], method="bisect", bracket=(0, 6)).root,
    "what is found beside": lambda p: brentq(lambda x: x * x - p[1], 0, 6, full_output=True)[0],
}  # fmt: skip


def test_a_run_fails_where_scipy_raises() -> None:
    same_signs = ps.trace(lambda p: brentq(lambda x: x * x + p[0], -1.0, 2.0), ORBIT)
    with pytest.raises(RunError, match="different signs"):
        same_signs(ORBIT)
    bracket = ps.trace(lambda p: root_scalar(lambda x: x * x + p[0], bracket=[0, 1]).converged, ORBIT)
    assert bracket(-ORBIT)
    too_short = ps.trace(lambda p: newton(lambda x: x**3 - p[0], 1.0, maxiter=2), ORBIT)
    with pytest.raises(RunError, match="raises RuntimeError: Failed to converge after 2 iterations"):
        too_short(ORBIT)


def test_without_disp_a_root_that_is_not_found_is_nan() -> None:
    for search in (brentq, so.bisect, so.ridder, so.brenth):
        short = ps.trace(lambda p, s=search: s(lambda x: x**3 - p[0], -1.0, 2.5, maxiter=1, disp=False), ORBIT)
        assert np.isnan(short(ORBIT))
    too_short = ps.trace(lambda p: newton(lambda x: x**3 - p[0], 1.0, maxiter=2, disp=False), ORBIT)
    assert np.isnan(too_short(ORBIT))


def test_an_end_that_is_a_root_is_found() -> None:

    def f(p: Any) -> Any:
        return brentq(lambda x: x - p[0], 0.3, 2.0)

    assert ps.trace(f, ORBIT)(ORBIT) == 0.3


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_root_is_scipys_with_first_and_second_derivatives(name: str) -> None:
    check_grads(lambda p: FUNCTIONS[name](p), ORBIT, symbolic=False, value_tolerance=1e-10)

"""Derivatives of roots by the implicit function theorem: of functions of traced values, in batches and both modes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so
from scipy.optimize import brentq

import primsplit as ps
from primsplit.testing import check_grads

ORBIT = np.array([0.3, 1.1])

TIGHT = {"xtol": 1e-14}


def kepler(search: Callable[..., Any]) -> Callable[[Any], Any]:
    """The eccentric anomaly of an orbit of this eccentricity and mean anomaly."""
    return lambda p: search(lambda x: x - p[0] * np.sin(x) - p[1], 0, 2 * np.pi, **TIGHT)


def branching(x: Any) -> Any:
    return brentq(lambda v: v - x[0] if v > 0.2 else 2 * v - x[1], -1.0, 2.0, **TIGHT)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "a branch in the equation": lambda p: branching(p),
    "a root in a root": lambda p: brentq(lambda x: x - kepler(brentq)(np.stack([p[0], x])) / 9 - p[1], 0.0, 6.0),
}  # fmt: skip


def test_roots_of_rows_are_found_in_a_batch() -> None:
    rows = np.array([[0.1, 0.4], [0.7, 2.0], [0.0, 3.0]])
    f = kepler(so.brentq)
    gradients = np.asarray(ps.vmap(ps.grad(f))(rows))
    for row, gradient in zip(rows, gradients, strict=True):
        e, x = row[0], f(row)
        np.testing.assert_allclose(gradient, np.array([np.sin(x), 1.0]) / (1 - e * np.cos(x)), rtol=1e-10)


def test_forward_mode_goes_through_a_root() -> None:
    x = kepler(so.brentq)(ORBIT)
    _, tangent = ps.jvp(kepler(so.brentq), (ORBIT,), (np.array([1.0, 0.0]),))
    assert float(tangent) == pytest.approx(np.sin(x) / (1 - ORBIT[0] * np.cos(x)), rel=1e-12)


def test_parameters_of_float32_have_gradients_of_float32() -> None:
    p = ORBIT.astype(np.float32)
    found = ps.grad(kepler(so.brentq))(p)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, ps.grad(kepler(so.brentq))(ORBIT), rtol=1e-5)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_root_is_scipys_with_first_and_second_derivatives(name: str) -> None:
    check_grads(lambda p: FUNCTIONS[name](p), ORBIT, symbolic=False, value_tolerance=1e-10)

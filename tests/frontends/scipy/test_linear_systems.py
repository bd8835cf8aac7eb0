"""scipy.signal's systems of differential equations: SciPy's values on traced coefficients, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.signal as scipys

import primsplit as ps
from primsplit.testing import check_grads

TIMES = np.linspace(0.0, 1.5, 6)
PLACES = np.array([0.3, 1.0, 2.5])
DENOMINATOR = np.array([2.0, 0.7, 3.0])
STATES = np.array([[-1.0, 0.4], [-0.3, -0.2]])
KNOWN = (np.ones((2, 1)), np.array([[1.0, 0.5]]), np.array([[0.2]]))
WAVE = np.sin(TIMES)


def of_complex(response: Any) -> Any:
    return response.real, response.imag


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a step": (lambda a: scipys.step(([1.0, a[0]], a), T=TIMES, X0=[0.1, a[1]])[1], (DENOMINATOR,)),
    "an impulse": (lambda a: scipys.impulse(([1.0], a), T=TIMES)[1], (DENOMINATOR,)),
    "lines between inputs": (lambda a, u: scipys.lsim(([1.0], a), u, TIMES)[1:], (DENOMINATOR, WAVE)),
    "inputs that stay": (
        lambda a, x: scipys.lsim((a, *KNOWN), WAVE, TIMES + 0.5, X0=x, interp=False)[1:], (STATES, np.array([0.3, 0.2]))
    ),
    "two inputs": (
        lambda a, u: scipys.lsim((a, np.eye(2), np.eye(2), np.ones((2, 2))), np.stack([u, u**2], axis=1), TIMES)[1:],
        (STATES, WAVE),
    ),
    "no inputs": (lambda p: scipys.lsim(([], [p[0], -2.0], p[1]), None, TIMES, X0=p)[1], (np.array([-0.5, 1.5]),)),
    "one of SciPy's systems": (lambda u: scipys.lsim(scipys.lti([1.0], DENOMINATOR), u, TIMES)[1], (WAVE,)),
    "a bode plot": (lambda a: scipys.bode(([1.0], a), w=PLACES)[1:], (DENOMINATOR,)),
    "at traced frequencies": (lambda w: scipys.bode(([1.0, 2.0], DENOMINATOR), w)[1:], (PLACES,)),
    "of matrices at traced frequencies": (
        lambda a, w: of_complex(scipys.freqresp((a, *KNOWN), w)[1]), (STATES, PLACES)
    ),
    "a response of matrices": (lambda a: of_complex(scipys.freqresp((a, *KNOWN), w=PLACES)[1]), (STATES,)),
    "matrices of a quotient": (lambda a: scipys.tf2ss([a[1], 1.0], a), (DENOMINATOR,)),
    "steps that hold": (lambda a: scipys.cont2discrete((a, *KNOWN), 0.1)[:4], (STATES,)),
    "steps by a rule": (lambda a: scipys.cont2discrete((a, *KNOWN), 0.1, method="bilinear")[:4], (STATES,)),
}  # fmt: skip


@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(function, *given, symbolic=False)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda a: scipys.lsim(([1.0], a), WAVE[:2], TIMES), "are not one row for each of 6 times"),
        (lambda a: scipys.lsim(([1.0], a), WAVE, TIMES**2), "times must be equally spaced"),
        (lambda a: scipys.step(([1.0], a)), "step without known times T"),
        (lambda a: scipys.tf2ss([1.0, 2.0, 3.0, 4.0], a), "higher order than its denominator"),
        (lambda a: scipys.cont2discrete(([1.0], a), 0.1), "cont2discrete but of"),
    ],
)
def test_what_has_no_form_is_one_error_at_the_users_line(function: Callable[[Any], Any], told: str) -> None:
    with pytest.raises(ps.PrimsplitError) as caught:
        ps.trace(function, DENOMINATOR)
    assert told in str(caught.value)
    assert "test_linear_systems.py" in str(caught.value)

"""scipy.linalg's functions, factors and equations of matrices: SciPy's values by its own names, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads

RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((3, 3)) * 0.4 + 1.5 * np.eye(3)
B = RANDOM.standard_normal((3, 3))

V, W = RANDOM.standard_normal(3) + 2, RANDOM.standard_normal(3)


def symmetric(x: Any) -> Any:
    return x @ x.T + np.eye(x.shape[0])


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "sqrtm": (lambda a: sl.sqrtm(a), (A,)),
    "sqrtm of a covariance": (lambda b: np.trace(sl.sqrtm(symmetric(b) * 1e3)), (B,)),
    "logm": (lambda a: sl.logm(a), (A,)),
    "logm far from the identity": (lambda b: sl.logm(symmetric(b) * 300), (B,)),
    "fractional_matrix_power": (lambda a, v: sl.fractional_matrix_power(a, v[0] / 4), (A, V)),
    "a whole power": (lambda a: sl.fractional_matrix_power(a, 3), (A,)),
    **{
        name: (lambda a, n=name: getattr(sl, n)(a / 2), (A,))
        for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm")
    },
}  # fmt: skip
LARGE = ("logm", "logm far from the identity", "fractional_matrix_power", "coshm", "tanhm")
"""Programs that take seconds to build; other tests have these functions, or their parts, at symbolic sizes."""

LONG = {
    "fractional_matrix_power", "logm far from the identity", "sqrtm of a covariance", "tanhm", "sinhm",
}  # fmt: skip
"""Options of functions that other rows differentiate, and what is long: slow tests."""


@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in FUNCTIONS])
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    options: dict[str, Any] = {"symbolic": name not in LARGE, "value_tolerance": 1e-9}
    check_grads(lambda *xs: function(*xs), *given, modes=("reverse", "forward"), **options)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", ["sqrtm", "logm", "cosm"])
def test_one_file_serves_every_size(name: str) -> None:
    function, given = FUNCTIONS[name]
    program = ps.trace(lambda a: function(a), ps.spec("float64", ["N", "N"]))
    for count in (1, 3):
        cut = given[0][:count, :count]
        np.testing.assert_allclose(program(cut), function(cut), rtol=1e-9, atol=1e-12)


def test_a_root_that_is_not_real_is_no_number() -> None:
    turned = np.array([[-1.0, 0.0], [0.0, 2.0]])
    assert np.isnan(ps.trace(lambda a: sl.sqrtm(a), turned)(turned)).any()


@pytest.mark.filterwarnings("ignore:The `disp` argument is deprecated")
def test_the_estimate_of_an_error_is_refused() -> None:
    for function in (lambda a: sl.sqrtm(a, disp=False), lambda a: sl.logm(a, False)):
        with pytest.raises((UnsupportedFunction, TypeError), match="disp"):
            ps.trace(function, A)

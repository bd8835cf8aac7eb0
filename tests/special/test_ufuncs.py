"""SciPy's special functions: values against SciPy or known numbers, gradients against central differences."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from tests.numpy.agreement import check_grads
from tests.pointwise import between, gradient
from tests.versions import is_since, since


def run(function: Callable[..., Any], *args: Any) -> Any:
    """Return the results of the exported program for these arrays."""
    return ps.trace(function, *args).session()(*args)[0]


LINE = np.concatenate([[0.0, np.nan, np.inf, -np.inf], np.linspace(-12, 12, 97), 10.0 ** np.arange(-15, 6)])
HALF_LINE = np.concatenate([[np.nan, np.inf, 0.0], 10.0 ** np.arange(-15, 6), np.linspace(0.01, 20, 99)])
UNIT = np.concatenate([[0.0, 1.0, -0.1, 1.1, np.nan], 10.0 ** -np.arange(1.0, 16), 1 - 10.0 ** -np.arange(1.0, 15)])
ANGLES = np.concatenate([[0.0, 90.0, 180.0, -270.0, 45.0, 1e5], np.linspace(-400, 400, 41)])

ONE: list[tuple[Any, Any, float]] = [
    (sp.expit, LINE, 4), (sp.log_expit, LINE, 4), (sp.logit, UNIT, 8), (sp.erf, LINE, 8), (sp.erfc, LINE, 16),
    (sp.erfcx, LINE[LINE > -9], 16),
    (sp.erfcinv, np.concatenate([UNIT, UNIT + 1]), 8), (sp.ndtri, UNIT, 8),
    (sp.erfinv, np.concatenate([UNIT, -UNIT]), 32), (sp.ndtr, LINE, 2000),
    (sp.log_ndtr, LINE, 2000), (sp.gammaln, HALF_LINE, 8000), (sp.digamma, HALF_LINE, 256),
    (sp.psi, -HALF_LINE[4:20], 64),
    (sp.gamma, LINE, 64), (sp.gammasgn, LINE, 0), (sp.loggamma, np.r_[HALF_LINE, -HALF_LINE], 8000), (sp.entr, LINE, 4),
    (sp.exp10, LINE[LINE < 300], 8), (sp.sindg, ANGLES, 64), (sp.cosdg, ANGLES, 64), (sp.tandg, ANGLES[4:6], 64),
    (sp.cosm1, between(-3, 3), 16), (sp.log1p, LINE, 4), (sp.expm1, LINE, 4), (sp.cbrt, LINE, 4), (sp.exp2, LINE, 8),
    (sp.round, LINE, 0),
]  # fmt: skip
"""Function, points, and the error allowed in units in the last place. SciPy itself is off by 2000 of them in the tail
of ndtr, and by 8000 near the zeros of gammaln."""


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("function", "points", "ulps"), ONE, ids=lambda v: getattr(v, "__name__", ""))
def test_a_function_of_one_argument_gives_what_scipy_gives(function: Any, points: Any, ulps: float, dtype: str) -> None:
    x = points.astype(dtype)
    if dtype == "float32" and function is sp.erf and not is_since("onnxruntime", "1.27"):
        x = x[~np.isnan(x)]  # of which Erf makes 1 there
    wanted, found = function(x), run(function, x)
    assert found.dtype == wanted.dtype
    limits = np.finfo(dtype)
    np.testing.assert_allclose(found, wanted, rtol=ulps * float(limits.eps), atol=ulps * float(limits.smallest_normal))


GRID = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 10.0, 100.0, 1e-20, -1.0, -0.5, np.nan])
POSITIVE = GRID[(GRID > 0) & (GRID > 1e-9)]
TWO: list[tuple[Any, Any, float]] = [
    (sp.xlogy, GRID, 4), (sp.xlog1py, GRID, 4), (sp.rel_entr, GRID, 16), (sp.kl_div, GRID, 64), (sp.huber, GRID, 2),
    (sp.pseudo_huber, GRID[:-1], 16), (sp.betaln, POSITIVE, 64), (sp.beta, POSITIVE, 2000),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("function", "points", "ulps"), TWO, ids=lambda v: getattr(v, "__name__", ""))
def test_a_function_of_two_arguments_gives_what_scipy_gives(
    function: Any, points: Any, ulps: float, dtype: str
) -> None:
    x, y = points.astype(dtype)[:, None], points.astype(dtype)
    wanted, found = function(x, y), run(function, x, y)
    assert found.dtype == wanted.dtype
    limits = np.finfo(dtype)
    np.testing.assert_allclose(found, wanted, rtol=ulps * float(limits.eps), atol=float(limits.eps) / 1e10)


GRADIENTS: list[tuple[Any, ...]] = [
    (sp.expit, between(-3, 3)), (sp.logit, between(0.1, 0.9)), (sp.log_expit, between(-3, 3)), (sp.erf, between(-2, 2)),
    (sp.erfc, between(-2, 2)), (sp.erfcx, between(-2, 2)), (sp.erfcx, between(25.5, 28)),
    (sp.erfinv, between(-0.9, 0.9)), (sp.erfcinv, between(0.1, 1.9)), (sp.ndtri, between(0.05, 0.95)),
    (sp.ndtr, between(-2, 2)), (sp.log_ndtr, between(-8, 2)), (sp.xlogy, between(-1, 1), between(0.5, 2)),
    (sp.xlog1py, between(-1, 1), between(-0.5, 2)), (sp.entr, between(0.2, 2)),
    (sp.rel_entr, between(0.5, 2), between(0.5, 2, seed=1)), (sp.kl_div, between(0.5, 2), between(0.5, 2, seed=1)),
    (sp.gammaln, between(0.5, 8)), (sp.gammaln, between(-1.7, -1.3)), (sp.digamma, between(0.5, 8)),
    (sp.psi, between(-1.7, -1.3)), (sp.gamma, between(0.5, 8)), (sp.gamma, between(-1.7, -1.3)),
    (sp.betaln, between(0.5, 8), between(0.5, 8, (4,))), (sp.beta, between(0.5, 8), between(0.5, 3)),
    (sp.huber, between(0.8, 1), between(1.2, 2)), (sp.huber, between(2, 3), between(-1, 1)),
    (sp.pseudo_huber, between(0.5, 1), between(-2, 2)), (sp.exp10, between(-1, 1)), (sp.sindg, between(-300, 300)),
    (sp.cosdg, between(-300, 300)), (sp.tandg, between(-40, 40)), (sp.cotdg, between(20, 80)),
    (sp.cosm1, between(-1, 1)),
    (sp.softplus, between(-3, 3)), (sp.sinc, between(-3, 3)),
]  # fmt: skip


@pytest.mark.sweep(18)
@pytest.mark.parametrize(
    ("function", "args"), [(r[0], r[1:]) for r in GRADIENTS], ids=lambda v: getattr(v, "__name__", "")
)
def test_first_and_second_derivatives_agree_with_central_differences(
    function: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    check_grads(function, *args)


@pytest.mark.parametrize("wrt", [0, 1])
def test_zero_times_the_logarithm_of_zero_is_zero_whose_slope_is_the_logarithm(wrt: int) -> None:
    zero, slope = [0.0], 0.0 if wrt else -math.inf
    assert run(sp.xlogy, np.zeros(1), np.zeros(1)) == 0.0
    assert gradient(sp.xlogy, zero, zero, wrt=wrt) == slope
    assert gradient(sp.xlog1py, zero, [-1.0], wrt=wrt) == slope


@pytest.mark.parametrize(
    "function", [lambda x: sp.xlogy(x, x), lambda x: x**x, lambda x: np.sin(x) ** x, lambda x: np.float_power(0.0, x)]
)
def test_powers_and_logarithms_that_fall_without_bound_at_0_have_no_slope_of_0(function: Any) -> None:
    for step in (1e-6, 1e-12):
        assert (function(step) - function(0.0)) / step < math.log(step) / 2
    assert ps.grad(function)(0.0) == -math.inf
    assert ps.jvp(function, (0.0,), (1.0,))[1] == -math.inf
    assert ps.grad(lambda y: np.power(0.0, y))(2.0) == 0.0


def test_the_gradient_of_xlogy_at_x_0_is_the_logarithm() -> None:
    assert gradient(sp.xlogy, [0.0], [2.0]) == pytest.approx(math.log(2))


def test_logistic_functions_keep_relative_accuracy_in_the_tails() -> None:
    x = np.array([-30.0, -700.0])
    np.testing.assert_allclose(run(sp.expit, x), np.exp(x), rtol=1e-12)
    np.testing.assert_allclose(run(sp.log_expit, x), x - np.log1p(np.exp(x)), rtol=1e-15)
    np.testing.assert_allclose(gradient(sp.log_expit, -x), np.exp(x), rtol=1e-12)
    single = np.array([-30.0], np.float32)
    np.testing.assert_allclose(run(sp.expit, single), np.exp(single), rtol=1e-6)


def test_the_logarithm_of_the_normal_distribution_has_a_gradient_far_in_the_tail() -> None:
    # The inverse Mills ratio at x is x + 1 / x - 2 / x**3 + 10 / x**5 - ...
    x = 100.0
    assert gradient(sp.log_ndtr, [-x]) == pytest.approx(x + 1 / x - 2 / x**3 + 10 / x**5, rel=1e-14)


def test_the_derivatives_of_gammaln_go_on_to_any_order() -> None:
    x = np.array([0.3, 1.0, 2.5, 9.0, 40.0, -1.3])
    functions: list[Callable[..., Any]] = [sp.gammaln]
    for _ in range(4):
        functions.append(lambda v, f=functions[-1]: ps.grad(lambda u: np.sum(f(u)))(v))
    for order in (2, 3, 4):
        wanted = sp.polygamma(order - 1, x)
        if order == 2:
            wanted[-1] = np.pi**2 / np.sin(np.pi * x[-1]) ** 2 - sp.polygamma(1, 1 - x[-1])
        known = np.isfinite(wanted)
        np.testing.assert_allclose(np.asarray(functions[order](x))[known], wanted[known], rtol=1e-12)


def test_polygamma_at_1_is_a_zeta_value() -> None:
    third = ps.grad(ps.grad(ps.grad(sp.digamma)))
    # polygamma(3, 1) = 6 zeta(4) = pi**4 / 15
    assert third(1.0) == pytest.approx(math.pi**4 / 15, rel=1e-14)


def test_betaln_does_not_cancel_for_one_large_argument() -> None:
    # beta(1, b) = 1 / b
    b = np.array([1e3, 1e6, 1e12])
    np.testing.assert_allclose(run(sp.betaln, np.ones(3), b), -np.log(b), rtol=1e-14)


def test_slopes_of_betaln_do_not_cancel_for_one_large_argument() -> None:
    """The numbers are mpmath's."""
    a, b = np.array([0.5, 1e10, 3.0]), np.array([1e10, 0.5, 1e6])

    def slope(a: Any) -> Any:
        return ps.grad(lambda a: np.sum(sp.betaln(a, b)))(a)

    np.testing.assert_allclose(slope(a), [-24.98936095596188, -5.000000000125e-11, -12.892728722862724], rtol=1e-15)
    curves = ps.grad(lambda a: np.sum(slope(a)))(a)
    np.testing.assert_allclose(curves, [4.9348022004446793, 5.00000000025e-21, 0.39493306685072643], rtol=1e-14)


def test_a_special_function_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedFunction, match="jv") as caught:
        ps.trace(sp.jv, np.ones(2), np.ones(2))
    assert "ps.primitive" in str(caught.value)


@since("onnxruntime", "1.21", "Log takes what is below 2.2e-308 for that")
def test_a_quantile_keeps_its_digits_down_to_the_smallest_float() -> None:
    p = np.array([5e-324, 1e-310, 1e-300, 1e-100, 1e-17, 1e-3, 0.3])
    np.testing.assert_allclose(run(sp.ndtri, p), sp.ndtri(p), rtol=1e-15)
    np.testing.assert_allclose(run(sp.ndtr, run(sp.ndtri, p[2:])), p[2:], rtol=1e-12)
    # log(p) = -z**2 / 2 - log(-z sqrt(2 pi)) - ..., so dz / dp is about 1 / (p (-z))
    assert gradient(sp.ndtri, [1e-100]) == pytest.approx(math.sqrt(2 * math.pi) * math.exp(sp.ndtri(1e-100) ** 2 / 2))

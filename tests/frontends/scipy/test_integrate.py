"""scipy.integrate's sums over samples: SciPy's values by its own names on traced arrays, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from scipy.integrate import simpson

import primsplit as ps
from primsplit.frontends.scipy import integrate
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads

random = np.random.default_rng(2)

Y = random.standard_normal((3, 6))

X = np.cumsum(0.8 + 0.4 * random.random((3, 6)), axis=1)

RULES = ("trapezoid", "simpson", "cumulative_trapezoid")


@pytest.mark.sweep(4)
@pytest.mark.parametrize("count", [6, 5, 2, 1])
@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_scipys_with_gradients(name: str, count: int) -> None:
    rule: Any = getattr(scipy.integrate, name)
    y, x = Y[:, :count], X[:, :count]

    def f(y: Any, x: Any) -> Any:
        return rule(y, dx=0.3), rule(y, x), rule(y.T, x[0], axis=0), rule(y[0], x=x[0])

    for found, wanted in zip(ps.trace(f, y, x)(y, x), f(y, x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
    check_grads(lambda y, x: sum(np.sum(v * v) for v in f(y, x)), y, x, order=2, symbolic=False, step=1e-3)
    if name in integrate.__all__:
        np.testing.assert_allclose(getattr(integrate, name)(y, dx=0.3), rule(y, dx=0.3), rtol=1e-12)


def test_cumulative_sums_may_begin_with_zero() -> None:

    def f(y: Any) -> Any:
        return scipy.integrate.cumulative_trapezoid(y, dx=0.5, initial=0)

    np.testing.assert_allclose(ps.trace(f, Y)(Y), f(Y), rtol=1e-12)
    program = ps.trace(f, ps.spec("float64", ["M", "N"]))
    for size in (1, 4):
        np.testing.assert_allclose(program(Y[:, :size]), f(Y[:, :size]), rtol=1e-12)


def test_one_file_of_simpsons_rule_serves_every_number_of_samples() -> None:
    def f(y: Any, x: Any) -> Any:
        return simpson(y, dx=0.3), simpson(y, x=x), simpson(y.T, x=x[0], axis=0)

    program = ps.trace(f, *[ps.spec("float64", [3, "N"])] * 2)
    for count in range(1, 7):
        y, x = Y[:, :count], X[:, :count]
        for found, wanted in zip(program(y, x), f(y, x), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", RULES)
def test_a_rule_has_its_gradients_where_the_number_of_samples_is_a_symbol(name: str) -> None:
    rule: Any = getattr(scipy.integrate, name)
    check_grads(lambda y, x: rule(y, x), Y[0], X[0], resize=(5, 1))
    check_grads(lambda y: rule(y, dx=0.5, axis=0), Y, resize=(2, 1))


def test_what_takes_steps_by_values_says_so_at_the_users_line() -> None:
    functions: list[Any] = [
        lambda y: scipy.integrate.tanhsinh(lambda t: t * y[0, 0], 0, 1).integral,
        lambda y: scipy.integrate.solve_bvp(lambda t, v: -v, lambda a, b: a - y[0], [0, 1], np.zeros((6, 2))).x,
    ]
    for function in functions:
        with pytest.raises(UnsupportedFunction, match=r"has no form for traced arrays: how many steps") as caught:
            ps.trace(function, Y)
        assert caught.value.place is not None
        assert caught.value.place.filename == __file__
        assert len(str(caught.value).splitlines()) < 10


def test_an_integral_of_numbers_alone_is_computed_beside_traced_values() -> None:

    def f(y: Any) -> Any:
        return np.array([y[0, 0], 1.0]) * scipy.integrate.quad(lambda t: t * t, 0, 3)[0]

    np.testing.assert_allclose(ps.trace(f, Y)(Y), f(Y))


def test_rombergs_extrapolation_is_scipys_with_gradients() -> None:
    samples = np.cos(np.arange(27.0)).reshape(3, 9)
    check_grads(lambda y: scipy.integrate.romb(y * y, dx=0.3), samples, symbolic=False)
    check_grads(lambda y: scipy.integrate.romb(y[:5] ** 2, axis=0), samples.T, symbolic=False)
    with pytest.raises(ValueError, match="one plus a non-negative power of 2"):
        ps.trace(lambda y: scipy.integrate.romb(y), samples[:, :6])


@pytest.mark.parametrize(
    "x", [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0]]
)
def test_simpson_takes_a_site_twice(x: list[float]) -> None:
    sites, y = np.array(x), np.arange(1.0, len(x) + 1) ** 2

    def f(x: Any, y: Any) -> Any:
        return scipy.integrate.simpson(y, x=x)

    np.testing.assert_allclose(ps.trace(f, sites, y)(sites, y), f(sites, y), rtol=1e-12)
    size = ps.spec("float64", ["N"])
    np.testing.assert_allclose(ps.trace(f, size, size)(sites, y), f(sites, y), rtol=1e-12)
    gradient: Callable[..., Any] = ps.grad(f, wrt=(0, 1))
    in_x, in_y = gradient(sites, y)
    assert np.isfinite(in_x).all()
    wanted = [f(sites, unit) for unit in np.eye(len(x))]
    np.testing.assert_allclose(in_y, wanted, atol=1e-12)

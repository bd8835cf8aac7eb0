"""`while_loop` and `fori_loop`: as many steps as the data say, and as many back."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError
from primsplit.testing import check_grads


def damped(x, w):
    """Fixture F9: while x > 1: x = w sin x + x / 2."""
    return ps.while_loop(lambda v: v > 1, lambda v: w * np.sin(v) + 0.5 * v, x)


def test_a_loop_that_the_data_ends_has_a_gradient() -> None:
    file = ps.split(damped, 9.0, 0.3).joint()
    value, d_x, d_w = file(9.0, 0.3)
    np.testing.assert_allclose([value, d_x, d_w], [0.9260225596, 0.0233949993, 1.3129645854], rtol=1e-9)
    assert [float(v) for v in file(0.2, 0.3)] == [0.2, 1.0, 0.0]


@pytest.mark.parametrize("x", [9.0, 0.2])
def test_the_second_derivative_goes_through_a_loop(x) -> None:
    check_grads(damped, x, 0.3, order=2)


def test_a_counted_loop_has_a_gradient() -> None:
    def f(x, w):
        return ps.fori_loop(0, 5, lambda i, c: np.sin(c * w) + i * x, x).sum()

    check_grads(f, np.array([0.1, 0.2]), 0.7, order=2)


@pytest.mark.parametrize(("lower", "upper", "power"), [(0, 3, 3), (2, 6, 4), (4, 4, 0), (5, 2, 0)])
def test_the_bounds_may_be_known_at_run_time(lower, upper, power) -> None:
    def f(x, a, b):
        return ps.fori_loop(a, b, lambda i, c: c * x, 1.0)

    program = ps.split(f, 2.0, np.int64(0), np.int64(3), wrt=0).joint()
    value, d_x = program(2.0, np.int64(lower), np.int64(upper))
    assert float(value) == 2.0**power
    assert float(d_x) == power * 2.0 ** (power - 1)


def test_several_carries_change_together() -> None:
    def fibonacci(x, n):
        return ps.fori_loop(0, n, lambda i, c: (c[1], c[0] + c[1]), (x, x))[0]

    assert ps.grad(fibonacci)(1.0, np.int64(10)) == 89


def test_a_carry_that_never_changes_is_read_where_it_began() -> None:
    def f(x, w):
        return ps.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + c[1] ** 2, c[1]), (x, w))[0]

    check_grads(f, 0.3, 0.7, order=2)


def test_newton_iterations_are_differentiated_as_they_ran() -> None:
    def root(a):
        def better(x):
            return 0.5 * (x + a / x)

        return ps.while_loop(lambda x: np.abs(x * x - a) > 1e-12, better, a)

    np.testing.assert_allclose(ps.grad(root)(2.0), 0.5 / np.sqrt(2.0), rtol=1e-6)


def test_a_counter_that_starts_as_a_number_may_be_compared_with_one() -> None:
    def f(x):
        return ps.while_loop(lambda c: c[1] < 3, lambda c: (np.sin(c[0]), c[1] + 1), (x, 0))[0]

    check_grads(f, 0.7, order=2)


def test_a_bound_that_is_no_integer_is_refused() -> None:
    with pytest.raises(DtypeError, match="integer"):
        ps.trace(lambda x: ps.fori_loop(0, x, lambda i, c: c, x), 1.0)


def test_on_plain_numbers_it_is_the_loop() -> None:
    assert ps.while_loop(lambda v: v < 10, lambda v: v * 2, 1) == 16
    assert ps.fori_loop(1, 4, lambda i, c: c + i, 0) == 6

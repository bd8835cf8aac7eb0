"""Truncated Taylor polynomials: products, quotients and exponentials have the derivatives of calculus."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit.ops import op
from primsplit.special import jets
from primsplit.special.jets import Jet
from primsplit.tracing.asarray import as_array
from tests.random_programs import run
from tests.recording import record

A, B = np.array([0.5, -1.5]), np.array([2.0, 0.7])
MOST = (2, 1)


def derivative(function: Callable[[Jet, Jet], Jet], most: tuple[int, int] = MOST) -> Any:
    """The derivative of these orders in two parameters."""

    def program(a: Any, b: Any) -> Any:
        return jets.derivative(function(*jets.parameters([a, b], most)))

    return run(record(program, "float64[2]", "float64[2]"), [A, B])[0]


CASES: dict[str, tuple[Callable[[Any, Any], Any], dict[tuple[int, int], Any]]] = {
    "a product": (lambda a, b: a * a * b, {(0, 0): A * A * B, (1, 0): 2 * A * B, (2, 1): 2 + 0 * A, (0, 1): A * A}),
    "a sum": (lambda a, b: a * 3.0 + b * b + 1.0, {(0, 0): 3 * A + B * B + 1, (1, 0): 3 + 0 * A, (2, 1): 0 * A}),
    "the negative": (lambda a, b: -(a * b), {(1, 1): -1 + 0 * A, (0, 0): -A * B}),
    "a quotient": (lambda a, b: b.divides(a), {(0, 0): A / B, (1, 1): -1 / B**2, (0, 1): -A / B**2, (2, 1): 0 * A}),
    "a number over it": (
        lambda a, b: (a * a + 1.0).divides(as_array(1.0)),
        {(1, 0): -2 * A / (A * A + 1) ** 2, (2, 0): (6 * A * A - 2) / (A * A + 1) ** 3},
    ),
    "powers of a quotient": (lambda a, b: b.divides(a * a * a), {(2, 1): -6 * A / B**2, (2, 0): 6 * A / B}),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_those_of_calculus(name: str) -> None:
    function, wanted = CASES[name]
    for most, value in wanted.items():
        np.testing.assert_allclose(derivative(function, most), value, rtol=1e-14, atol=1e-15)


def test_an_exponential_of_a_change_has_the_powers_of_its_slope() -> None:
    """exp(c) for c = a b - its value: the derivatives of exp(a b) over exp(a b)."""

    def function(a: Jet, b: Jet) -> Jet:
        product = a * b
        return jets.exponential(product.with_first(product.first() * 0.0))

    np.testing.assert_allclose(derivative(function, (2, 0)), B**2, rtol=1e-14)
    np.testing.assert_allclose(derivative(function, (1, 1)), 1 + A * B, rtol=1e-14)
    np.testing.assert_allclose(derivative(function, (2, 1)), 2 * B + A * B**2, rtol=1e-14)


def test_coefficients_are_listed_and_read_again() -> None:
    def program(a: Any, b: Any) -> Any:
        found = jets.parameters([a, b], MOST)
        flat = [t for jet in found for t in jets.carries(jet)]
        assert len(flat) == 2 * 6
        again = jets.carried(flat, MOST)
        return jets.derivative(again[0] * again[0] * again[1])

    np.testing.assert_allclose(run(record(program, "float64[2]", "float64[2]"), [A, B])[0], 2.0)


def test_orders_are_all_up_to_the_highest() -> None:
    assert jets.every((2, 1)) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert jets.zero((2, 1)) == (0, 0)
    assert jets.every(()) == [()]


def test_a_factor_that_is_one_up_to_rounding_is_frozen() -> None:
    def program(x: Any) -> Any:
        frozen, change = jets.settled_jet(Jet({(0,): x, (1,): x - 1.0}, (1,)), op.Less(x, 0.0))
        return frozen.terms[(0,)], frozen.terms[(1,)], change

    x = np.array([1.0, 1.0 + 2**-52, 1.5])
    value, slope, change = run(record(program, "float64[3]"), [x])
    np.testing.assert_array_equal(value, [1.0, 1.0, 1.5])
    np.testing.assert_array_equal(slope, [0.0, 0.0, 0.5])
    np.testing.assert_allclose(change, [0.0, 0.0, 0.5], atol=1e-15)

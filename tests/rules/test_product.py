"""Products with zeros among their factors, of a number of factors that only the run knows: right, or loud."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.rules.checks import check_derivative
from tests.rules.rows import Row, rows_of


def mixed(places: tuple[int, ...]) -> ps.Program:
    """The derivative of a product by these factors, one after the other."""
    function = np.prod
    for place in places:
        function = element(function, place)
    return ps.trace(function, ps.spec("float64", ["N"]))


def element(function: Any, place: int) -> Any:
    """The derivative of a function by one element of its argument."""
    return lambda x: ps.grad(function)(x)[place]


@pytest.mark.parametrize("places", [(1,), (5, 0), (0, 1, 2), (0, 1, 2, 3), (5, 0, 1, 2), (3, 5, 1, 0)])
def test_derivatives_up_to_the_fourth_are_the_product_of_the_other_factors(places: tuple[int, ...]) -> None:
    derivative = mixed(places)
    for count in range(7):
        factors = np.array([0.0] * count + [2.0, 3.0, 1.5, 0.7, 1.1, 1.3][: 6 - count])
        others = [factors[i] for i in range(6) if i not in places]
        np.testing.assert_allclose(derivative(factors), np.prod(others), rtol=1e-13)


def test_a_fifth_derivative_is_right_or_no_number() -> None:
    derivative = mixed((0, 1, 2, 3, 4))
    for count in range(8):
        factors = np.array([0.0] * count + [2.0, 3.0, 1.5, 0.7, 1.1, 1.3, 0.4][: 7 - count])
        found = derivative(factors)
        if count < 5:
            np.testing.assert_allclose(found, np.prod(factors[5:]), rtol=1e-13)
        else:
            assert not np.isfinite(found)


@pytest.mark.parametrize("row", rows_of("product"), ids=str)
def test_a_rule_gives_the_derivative_in_its_promised_form(row: Row) -> None:
    check_derivative(row)

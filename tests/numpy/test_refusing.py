"""A run fails for numbers for which NumPy raises, and takes its own path where the function catches the error."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError
from primsplit.numpy.refusing import raise_if_caught, refusing

X = np.array([1.0, 2.0, 3.0])


def test_a_run_with_a_wrong_element_fails_with_the_error() -> None:
    program = ps.trace(lambda x: refusing(x * 2.0, x < 0, ValueError("below 0")), X)
    np.testing.assert_array_equal(program(X), 2 * X)
    with pytest.raises(RunError, match="ValueError: below 0"):
        program(-X)


def test_both_parts_of_a_complex_array_are_refused() -> None:
    program = ps.trace(lambda x: refusing(x * 1j, x < 0, ValueError("below 0")), X)
    np.testing.assert_array_equal(program(X), X * 1j)
    with pytest.raises(RunError, match="below 0"):
        program(-X)


def test_known_elements_are_refused_at_once() -> None:
    def f(x: Any) -> Any:
        assert refusing(x, np.array([False, False]), ValueError("never")) is x
        return refusing(x, np.array([False, True]), ZeroDivisionError("at once"))

    with pytest.raises(ZeroDivisionError, match="at once"):
        ps.trace(f, X)


def test_a_caught_error_is_a_path_of_its_own() -> None:
    def f(x: Any) -> Any:
        try:
            raise_if_caught(lambda: x.sum() < 0, ValueError("below 0"))
            return x.sum()
        except ValueError:
            return 100.0 + x[0]

    program = ps.trace(f, X)
    assert program(X) == 6.0
    assert program(-X) == 99.0


def test_the_condition_of_an_error_that_nobody_catches_is_not_recorded() -> None:
    def never() -> Any:
        raise AssertionError

    def f(x: Any) -> Any:
        raise_if_caught(never, ValueError("below 0"))
        try:
            raise_if_caught(lambda: None, ValueError("never true"))
            return x * 2.0
        except ValueError:
            return x

    np.testing.assert_array_equal(ps.trace(f, X)(X), 2 * X)

"""NumPy's error modes that raise are refused inside of a traced function; others change nothing."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import TraceError

X = np.array([1.0, 2.0])


@pytest.fixture(autouse=True)
def kept_modes() -> Iterator[None]:
    before = np.geterr()
    yield
    np.seterr(**before)


def in_a_block(x: Any) -> Any:
    with np.errstate(divide="raise"):
        return np.log(x)


def with_a_handler(x: Any) -> Any:
    try:
        with np.errstate(all="raise"):
            return 1.0 / x
    except FloatingPointError:
        return 0.0 * x


@np.errstate(invalid="raise")
def decorated(x: Any) -> Any:
    return np.sqrt(x)


def set_and_put_back(x: Any) -> Any:
    before = np.seterr(over="raise")
    try:
        return np.exp(x)
    finally:
        np.seterr(**before)


def in_a_branch(x: Any) -> Any:
    if x[0] > 0:
        with np.errstate(divide="raise"):
            return 1.0 / x
    return x


@pytest.mark.parametrize(
    "function", [in_a_block, with_a_handler, decorated, set_and_put_back, in_a_branch], ids=lambda f: f.__name__
)
def test_a_mode_that_raises_is_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(TraceError, match="errstate"):
        ps.trace(function, X)


def test_other_modes_change_nothing() -> None:
    def function(x: Any) -> Any:
        with np.errstate(divide="ignore", over="warn", invalid="print"):
            return np.log(x)

    np.testing.assert_array_equal(ps.trace(function, X)(np.array([0.0, 1.0])), [-np.inf, 0.0])


def test_ops_that_only_move_elements_are_recorded_in_any_mode() -> None:
    def function(x: Any) -> Any:
        with np.errstate(all="raise"):
            return x[::-1]

    np.testing.assert_array_equal(ps.trace(function, X)(X), X[::-1])


def test_modes_that_were_set_before_are_not_heeded() -> None:
    with np.errstate(all="raise"):
        program = ps.trace(lambda x: np.log(x), X)
    np.testing.assert_array_equal(program(np.array([0.0, 1.0])), [-np.inf, 0.0])

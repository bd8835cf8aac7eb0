"""Results that may be one of several things: handed on to callers that ask which, refused elsewhere."""

import math

import numpy as np
import pytest

from primsplit import tracing
from primsplit.frontends.python.conversion.either import Either
from primsplit.frontends.python.conversion.handing import returned, taken
from primsplit.tracing.asarray import as_array
from primsplit.tracing.branching.paths import NotJoined

AT = ("model.py", 3)


def one_of_two(count: int = 2) -> Either:
    """None or the number 5, as the run decides."""
    with tracing.recording():
        number = as_array(np.array(0))
    return Either(number, {0: None, 1: 5.0} if count == 2 else {0: 5.0}, {1}, at=AT, called="first")


def test_a_result_that_may_be_several_things_is_refused_where_the_caller_asks_for_none() -> None:
    def first() -> object:
        return returned(one_of_two())

    with tracing.fresh_stack(), pytest.raises(NotJoined, match="first is no number or array on one side"):
        first()


def test_a_result_of_one_possible_thing_is_that_thing() -> None:
    with tracing.fresh_stack():
        assert returned(one_of_two(1)) == 5.0
        assert returned("text") == "text"


def test_functions_that_are_not_rewritten_are_called_as_they_are() -> None:
    assert taken(math.sin) is math.sin
    assert taken(abs)(-2) == 2

"""How an expression of the user's is used is read in the source: shown, compared, or in a handler's reach."""

import logging
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit import tracing
from primsplit.tracing.use_sites import is_attribute_asked, is_decided_by, is_shown_alone, is_told


class Asking:
    """An object whose text notes how the expression that asks for it is used."""

    def __init__(self, question: Callable[[Any], bool]) -> None:
        self.question = question
        self.seen: list[bool] = []

    def __str__(self) -> str:
        self.seen.append(self.question(sys._getframe(1)))
        return "text"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("size"):
            self.seen.append(self.question(sys._getframe(1)))
        raise AttributeError(name)


def printed(x: Any) -> None:
    print(f"x is {x}")


def logged(x: Any) -> None:
    logging.getLogger("quiet").debug(f"x is {x}")


def of_an_error(x: Any) -> None:
    try:
        raise ValueError(f"x is {x}")
    except ValueError:
        pass


def of_an_assertion(x: Any) -> None:
    assert x is not None, f"x is {x}"
    print(f"{x}")


def by_a_name(x: Any) -> None:
    told = f"x is {x}"
    print(told)


def a_key(x: Any) -> Any:
    return {"text": 1}[f"{x}"]


def compared(x: Any) -> Any:
    return f"{x}" == "text"


def returned(x: Any) -> Any:
    return f"x is {x}"


def by_a_name_that_is_compared(x: Any) -> Any:
    told = f"x is {x}"
    print(told)
    return told == "x is text"


@pytest.mark.parametrize("function", [printed, logged, of_an_error, of_an_assertion, by_a_name])
def test_a_text_that_people_read_is_told(function: Callable[[Any], Any]) -> None:
    asking = Asking(is_told)
    function(asking)
    assert asking.seen == [True]


@pytest.mark.parametrize("function", [a_key, compared, returned, by_a_name_that_is_compared])
def test_another_text_is_not(function: Callable[[Any], Any]) -> None:
    asking = Asking(is_told)
    function(asking)
    assert asking.seen == [False]


@pytest.mark.parametrize(
    ("function", "decides"), [(compared, True), (a_key, True), (printed, False), (returned, False)]
)
def test_a_text_decides_where_it_is_compared_or_a_key(function: Callable[[Any], Any], decides: bool) -> None:
    asking = Asking(is_decided_by)
    function(asking)
    assert asking.seen == [decides]


def test_an_attribute_is_asked_for_by_the_text_of_its_name() -> None:
    asking = Asking(is_attribute_asked)
    assert not hasattr(asking, "size")
    assert getattr(asking, "sizes", None) is None
    with pytest.raises(AttributeError):
        asking.size_of  # noqa: B018
    assert asking.seen == [True, True, False]


def shown(x: Any, values: list[Any]) -> None:
    print(x - 1)
    values.append(x)
    y = x + 2
    print(y)
    z = x * 3
    values[0] = z > 0


def test_a_value_that_is_only_shown_or_listed_is_shown_alone() -> None:
    first = shown.__code__.co_firstlineno
    answers = [is_shown_alone(__file__, first + line, column) for line, column in ((1, 10), (3, 8), (5, 8))]
    assert answers == [True, True, False]


def caught(error: type[Exception]) -> bool:
    return tracing.is_caught(error)


HANDLERS: dict[str, tuple[Callable[[Any], Any], bool]] = {}


def handler(*, catches: bool) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    def register(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        HANDLERS[function.__name__] = function, catches
        return function

    return register


@handler(catches=False)
def no_handler(x: Any) -> bool:
    return caught(ValueError)


@handler(catches=True)
def its_handler(x: Any) -> bool:
    try:
        return caught(ValueError)
    except ValueError:
        return False


@handler(catches=True)
def a_handler_of_its_base(x: Any) -> bool:
    try:
        return caught(np.linalg.LinAlgError)
    except (KeyError, ValueError):
        return False


@handler(catches=False)
def a_handler_of_another(x: Any) -> bool:
    try:
        return caught(ValueError)
    except (KeyError, ZeroDivisionError):
        return False


@handler(catches=False)
def in_a_handler(x: Any) -> bool:
    try:
        raise KeyError
    except KeyError:
        return caught(KeyError)


@handler(catches=False)
def behind_a_handler(x: Any) -> bool:
    try:
        pass
    except ValueError:
        return False
    return caught(ValueError)


@handler(catches=True)
def any_handler(x: Any) -> bool:
    try:
        return caught(ValueError)
    except:  # noqa: E722
        return False


@handler(catches=False)
def a_handler_around_a_definition(x: Any) -> bool:
    try:

        def inner() -> bool:
            return caught(ValueError)
    except ValueError:
        return False
    return inner()


@handler(catches=True)
def a_handler_around_a_call(x: Any) -> bool:
    try:
        return no_handler(x)
    except ValueError:
        return False


@pytest.mark.parametrize("name", HANDLERS)
def test_an_error_is_caught_by_a_handler_around_it_of_its_class(name: str) -> None:
    function, catches = HANDLERS[name]
    seen: list[bool] = []

    def f(x: Any) -> Any:
        seen.append(function(x))
        return x

    ps.trace(f, np.ones(2))
    assert seen == [catches]

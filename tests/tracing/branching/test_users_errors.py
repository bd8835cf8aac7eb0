"""Errors that only a recording raises are not caught by the user's code; Python's and NumPy's own are."""

import contextlib
import itertools
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError

Function = Callable[[Any], Any]


def text_of_a_number(x: Any) -> Any:
    k = int(x[0] > 0) + 1
    try:
        return {"k1": x[1], "k2": x[2]}["k%d" % k]  # noqa: UP031
    except Exception:  # noqa: BLE001
        return 7.0


def key_with_a_number(x: Any) -> Any:
    k = int(x[0] > 0) + 1
    try:
        return {"k1": x[1], "k2": x[2]}["k{}".format(k)]  # noqa: UP032
    except KeyError:
        return 7.0


def bytes_of_a_length(x: Any) -> Any:
    try:
        return len(bytes(int(x[0] > 0) + 1)) + x[1]
    except (TypeError, ValueError):
        return 7.0


def power_with_a_modulus(x: Any) -> Any:
    try:
        return pow(3, int(x[0] > 0) + 1, 5) + x[1]
    except:  # noqa: E722
        return 7.0


def method_of_a_class(x: Any) -> Any:
    try:
        return int.__add__(int(x[0] > 0), 3) + x[1]
    except TypeError:
        return 7.0


def of_pythons_library(x: Any) -> Any:
    try:
        return statistics.mean([x[0], 1.0]) + x[1]
    except Exception:  # noqa: BLE001
        return 7.0


def first_elements(x: Any) -> Any:
    try:
        return sum(itertools.islice([x[1], x[2]], int(x[0] > 0) + 1))
    except ValueError:
        return 7.0


def loop_over_first_elements(x: Any) -> Any:
    total = 0.0
    try:
        for v in itertools.islice([x[1], x[2]], int(x[0] > 0) + 1):
            total = total + v
    except Exception:  # noqa: BLE001
        return 7.0
    return total


def suppressed(x: Any) -> Any:
    with contextlib.suppress(ValueError):
        return sum(itertools.islice([x[1], x[2]], int(x[0] > 0) + 1))
    return 7.0


@contextlib.contextmanager
def without_errors() -> Iterator[None]:
    try:
        yield
    except Exception:  # noqa: BLE001
        print("an error")


def suppressed_by_a_generator(x: Any) -> Any:
    with without_errors():
        return sum(itertools.islice([x[1], x[2]], int(x[0] > 0) + 1))
    return 7.0


class Lenient:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> bool:
        return True


def suppressed_by_a_class(x: Any) -> Any:
    with Lenient():
        return len(bytes(int(x[0] > 0) + 1)) + x[1]
    return 7.0


@pytest.mark.parametrize(
    "function",
    [
        text_of_a_number, key_with_a_number, bytes_of_a_length, power_with_a_modulus, method_of_a_class,
        of_pythons_library, first_elements, loop_over_first_elements, suppressed, suppressed_by_a_generator,
        suppressed_by_a_class,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_a_handler_does_not_answer_for_a_number_that_python_would_take(function: Function) -> None:
    assert function(np.array([1.0, 2.0, 3.0])) != 7.0
    with pytest.raises(PrimsplitError):
        ps.trace(function, ps.spec("float64", [3]))


def users_error(x: Any) -> Any:
    try:
        raise TypeError("my Array is wrong")
    except TypeError:
        return x[0] * 2


def no_attribute(x: Any) -> Any:
    try:
        return x[0].missing
    except AttributeError:
        return x[0] * 3


def no_length(x: Any) -> Any:
    try:
        return len(x[0])
    except TypeError:
        return x[0] * 3


def no_iterator(x: Any) -> Any:
    try:
        return iter(x[0])
    except TypeError:
        return x[0] * 3


def no_operand(x: Any) -> Any:
    scale = None if x.shape == (3,) else 2.0
    try:
        return x[0] * (scale + 1.0)  # type: ignore[operator]
    except TypeError:
        return x[0] * 3


@pytest.mark.parametrize(
    "function", [users_error, no_attribute, no_length, no_iterator, no_operand], ids=lambda f: f.__name__
)
def test_a_handler_answers_what_python_raises_for_a_number_too(function: Function) -> None:
    x = np.array([1.0, 2.0, 3.0])
    assert ps.trace(function, ps.spec("float64", [3]))(x) == function(x)


WITHOUT_SOURCE = """
class Own(Exception):
    pass

def own(x):
    if x > 3:
        raise Own("too large")
    return x * x

def pythons(x):
    if x > 3:
        raise TypeError("too large")
    return x * x

def general(x):
    if x > 3:
        raise Exception("too large")
    return x * x
"""


@pytest.mark.parametrize("name", ["own", "pythons", "general"])
def test_a_branch_may_raise_an_error_where_the_source_is_not_to_be_had(name: str) -> None:
    names: dict[str, Any] = {}
    exec(compile(WITHOUT_SOURCE, "<nowhere>", "exec"), names)
    program = ps.trace(names[name], 1.0)
    assert float(program(2.0)) == 4.0
    with pytest.raises(PrimsplitError, match="too large"):
        program(4.0)

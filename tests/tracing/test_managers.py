"""Errors of numbers that a context manager suppresses take a path of their own, as errors that a handler catches."""

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import primsplit as ps

Function = Callable[[Any], Any]


def suppressed(x: Any) -> Any:
    result = 2.0 * x
    with contextlib.suppress(ZeroDivisionError, ValueError):
        result = 1.0 / x + math.log(x)
    return result


def suppressed_in_a_callee(x: Any) -> Any:
    result = 5.0
    with contextlib.suppress(ZeroDivisionError):
        result = inverse(x)
    return result


def inverse(x: Any) -> Any:
    return 1.0 / x


def suppressed_in_a_loop(x: Any) -> Any:
    total = 0.0
    for k in range(3):
        with contextlib.suppress(ZeroDivisionError):
            total += 1.0 / (x - k)
    return total


def suppressed_in_a_generator(x: Any) -> Any:
    def terms() -> Iterator[Any]:
        with contextlib.suppress(ZeroDivisionError):
            yield 1.0 / x
        yield 2.0 * x

    return sum(terms())


@contextlib.contextmanager
def without_division() -> Iterator[None]:
    try:
        yield
    except ZeroDivisionError:
        print("no division")


@contextlib.contextmanager
def around_another() -> Iterator[None]:
    with without_division():
        yield


def generator_with_a_handler(x: Any) -> Any:
    with without_division():
        return 1.0 / x
    return 4.0


def generator_in_a_generator(x: Any) -> Any:
    with around_another():
        return 1.0 / x
    return 4.0


@without_division()
def decorated(x: Any) -> Any:
    return 1.0 / x


def decorated_function(x: Any) -> Any:
    found = decorated(x)
    return -1.0 if found is None else found


class Lenient:
    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, ArithmeticError)


def class_that_suppresses(x: Any) -> Any:
    with Lenient():
        return 1.0 / x
    return 4.0


def stack_of_managers(x: Any) -> Any:
    with contextlib.ExitStack() as stack:
        stack.callback(str)
        stack.enter_context(contextlib.suppress(ZeroDivisionError))
        return 1.0 / x
    return 4.0


def function_of_a_stack(x: Any) -> Any:
    with contextlib.ExitStack() as stack:
        stack.push(lambda kind, *_: kind is not None)
        return 1.0 / x
    return 4.0


def no_element(x: Any) -> Any:
    y = np.array([x, 1.0])
    with contextlib.suppress(IndexError):
        return y[int(x) + 1] * 2.0
    return -x


def no_inverse(x: Any) -> Any:
    with contextlib.suppress(np.linalg.LinAlgError):
        return np.linalg.inv(np.array([[x, 1.0], [1.0, 1.0]]))[0, 0]
    return -9.0


def left_by_finally(x: Any) -> Any:
    result = 2.0
    for k in range(3):
        try:
            result += 1.0 / (x - k)
        finally:
            continue  # noqa: B012  # which forgets the error
    return result


FUNCTIONS = [
    suppressed, suppressed_in_a_callee, suppressed_in_a_loop, suppressed_in_a_generator, generator_with_a_handler,
    generator_in_a_generator, decorated_function, class_that_suppresses, stack_of_managers, function_of_a_stack,
    no_element, no_inverse, left_by_finally,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_suppressed_error_takes_a_path_of_its_own(function: Function) -> None:
    program = ps.trace(function, 2.5)
    for x in (0.0, 1.0, 2.0, 2.5, -1.0, -3.0):
        np.testing.assert_allclose(program(x), function(x), rtol=1e-12)


def test_a_manager_that_suppresses_nothing_adds_no_path() -> None:
    class Timer:
        def __enter__(self) -> None:
            pass

        def __exit__(self, *_: object) -> bool:
            return False

    def timed(x: Any) -> Any:
        with Timer(), contextlib.suppress(KeyError), np.errstate(divide="ignore"):
            return 1.0 / x

    assert [op.kind for op in ps.trace(timed, 2.5).block.ops] == [
        op.kind for op in ps.trace(lambda x: 1.0 / x, 2.5).block.ops
    ]


def test_a_manager_that_was_left_suppresses_nothing() -> None:
    def after(x: Any) -> Any:
        with contextlib.suppress(ZeroDivisionError):
            pass
        return 1.0 / x

    assert not any(op.kind == "If" for op in ps.trace(after, 2.5).block.ops)


WITHOUT_SOURCE = """
class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        return kind is ZeroDivisionError
"""


def test_a_manager_whose_source_is_not_to_be_had_may_suppress() -> None:
    names: dict[str, Any] = {}
    exec(compile(WITHOUT_SOURCE, "<nowhere>", "exec"), names)

    def f(x: Any) -> Any:
        with names["Quiet"]():
            return 1.0 / x
        return 4.0

    program = ps.trace(f, 2.5)
    assert [float(program(x)) for x in (0.0, 2.0)] == [4.0, 0.5]

"""A copy has the user's file, lines, cells and attributes; its code is found by the identity of the function's."""

import functools
import traceback
import types
from collections.abc import Callable
from typing import Any

import primsplit as ps
from primsplit.frontends.python.converter.copies import Conversion, Options, origin
from primsplit.frontends.python.converter.operators import OPERATORS


def copy_of(function: Any) -> Any:
    return Conversion(OPERATORS, Options(serves=True)).copy(function)


def wrapper(function: Callable[..., Any]) -> Callable[..., Any]:
    return functools.wraps(function)(lambda *args: function(*args))


def test_an_error_in_a_copy_has_the_users_file_line_and_column() -> None:
    def raising(function: Any) -> Any:
        try:
            copy_of(function)(0.0)
        except ZeroDivisionError as error:
            frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == __file__]
            return next((f.lineno, f.colno, f.name) for f in frames if f.line == "return y / x")
        return None

    @wrapper
    @wrapper
    def decorated(x: Any) -> Any:
        y = 1.0
        return y / x

    def plain(x: Any) -> Any:
        y = 1.0
        return y / x

    inner = decorated.__wrapped__.__wrapped__
    for function in (plain, inner):
        line = function.__code__.co_firstlineno + (4 if function is inner else 2)
        assert raising(function) == (line, 15, function.__name__)


def test_a_copy_shares_cells_defaults_and_attributes() -> None:
    count = 0

    def f(x: Any, *, step: int = 2) -> Any:
        nonlocal count
        count += step
        return x + count

    f.note = "kept"  # type: ignore[attr-defined]
    copied = copy_of(f)
    assert (copied(1), f(1), copied(1, step=1)) == (3, 5, 6)
    assert count == 5
    assert copied.note == "kept"
    assert copied.__globals__ is f.__globals__
    assert copied.__qualname__ == f.__qualname__
    assert origin(copied) is f
    assert copy_of(copied) is not copied
    assert copy_of(copied).__code__ is copied.__code__


def test_functions_of_the_package_are_not_copied() -> None:
    assert isinstance(ps.trace, types.FunctionType)
    assert copy_of(ps.trace) is ps.trace


class MissingFile:
    """A file that has no function."""

    def code_of(self, _: types.FunctionType) -> types.CodeType | None:
        return None


def test_a_conversion_inside_of_another_does_what_either_does() -> None:
    first, second, other = MissingFile(), MissingFile(), MissingFile()
    around = Options(
        packages=frozenset({"a"}), without_source=True, rewritten={"f": first, "g": second}, own=frozenset({copy_of})
    )
    inner = Options(serves=True, packages=frozenset({"b"}), rewritten={"g": other}, own=frozenset({wrapper}))
    options = Conversion.inside(Conversion(OPERATORS, around), OPERATORS, inner).options
    assert options.serves
    assert options.packages == {"a", "b"}
    assert options.without_source
    assert options.rewritten == {"f": first, "g": other}
    assert options.own == {copy_of, wrapper}
    assert Conversion.inside(None, OPERATORS, inner).options is inner
    assert not Options().beside(Options()).serves
    assert not Options().beside(Options()).without_source

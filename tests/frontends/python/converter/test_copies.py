"""A copy has the user's file, lines, cells and attributes; its code is found by the identity of the function's."""

import ast
import functools
import linecache
import math
import subprocess
import sys
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.python.converter.copies import (
    Conversion,
    converted_code,
    converted_source,
    is_converted,
    origin,
)
from primsplit.frontends.python.converter.operators import OPERATORS
from primsplit.frontends.python.converter.source import SourceError

USERS = OPERATORS[False]
X = np.array([0.3, 1.7, -0.4])


def copy_of(function: Any) -> Any:
    return Conversion(OPERATORS, serves=True).copy(function)


def test_a_copy_shows_what_the_operators_are_asked() -> None:
    def f(x: Any, table: Any) -> Any:
        table[0] = math.sin(x) + 1
        return table.sum()

    assert converted_source(f, USERS) == ast.unparse(
        ast.parse(
            "def f(x: Any, table: Any) -> Any:\n"
            "    _ps.changed(table)[0] = _ps.add(_ps.called(_ps.owner(math).sin)(x), 1)\n"
            "    return _ps.called(_ps.owner(table).sum)()\n"
        )
    )


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


def test_lambdas_on_one_line_are_told_apart() -> None:
    pair = (lambda x: x + 1.0, lambda x: x * 3.0), lambda x: lambda y: y - x
    (first, second), third = pair
    assert [copy_of(f)(2.0) for f in (first, second)] == [3.0, 6.0]
    assert copy_of(third)(2.0)(10.0) == 8.0
    assert is_converted(copy_of(second).__code__)


class Base:
    def value(self, x: Any) -> Any:
        return x + 1.0


class Own(Base):
    __scale = 2.0

    def value(self, x: Any) -> Any:
        def inner() -> Any:
            return super(Own, self).value(x) * self.__scale + __class__.__scale  # type: ignore[name-defined]

        return super().value(x) + inner()


def test_private_names_super_and_the_class_of_a_method_are_its_own() -> None:
    copied = copy_of(Own.value)
    assert is_converted(copied.__code__)
    assert copied(Own(), 1.0) == Own().value(1.0) == 8.0


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


def with_source(source: str, name: str) -> dict[str, Any]:
    names: dict[str, Any] = {"np": np, "math": math, "__name__": "users_generated"}
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    exec(compile(source, name, "exec"), names)
    return names


def test_equal_code_of_two_files_has_two_conversions() -> None:
    source = "def f(x):\n    return math.sin(x)\n"
    first, second = (with_source(source, name)["f"] for name in ("<first>", "<second>"))
    assert first.__code__ == second.__code__.replace(co_filename="<first>")
    made = [converted_code(f, USERS) for f in (first, second)]
    assert [c.co_filename for c in made] == ["<first>", "<second>"]
    assert converted_code(first, USERS) is made[0]


def test_a_source_that_changed_is_not_taken_for_the_functions() -> None:
    made = with_source("def f(x):\n    return math.sin(x)\n", "<changing>")["f"]
    text = "def f(x):\n    return math.cos(x)\n"
    linecache.cache["<changing>"] = len(text), None, text.splitlines(keepends=True), "<changing>"
    with pytest.raises(SourceError, match="has changed since it was loaded"):
        converted_code(made, USERS)


def test_a_function_without_source_reads_what_it_calls_through_its_names() -> None:
    names: dict[str, Any] = {"np": np, "sin": math.sin, "limit": 2.0}
    exec("def f(x):\n    return np.array([sin(x[0]), x[1]]).sum() * len(x) + max(x[0], limit)\n", names)
    f = names["f"]
    np.testing.assert_allclose(ps.trace(f, X)(X), f(X))
    assert names["np"] is np
    assert names["sin"] is math.sin


PROGRAM = """
import math
import numpy as np, primsplit as ps
TABLE = np.arange(4.0)
def f(x):
    total = 0.0
    for k in range(9):
        total = total + math.sin(x[k % 3]) if x[k % 3] > 0.1 * k else total * 0.5
    return total * TABLE[np.argmax(x)]
x = np.array([0.3, 1.7, -0.4])
assert abs(ps.trace(f, x)(x) - f(x)) < 1e-12
print("right")
"""


@pytest.mark.parametrize("way", ["a file", "-c"])
def test_a_program_is_converted_wherever_its_source_is(way: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    given = [str(path)] if way == "a file" else ["-c", PROGRAM]
    done = subprocess.run([sys.executable, *given], capture_output=True, text=True, check=False)
    assert done.stdout == "right\n", done.stderr


def test_functions_of_the_package_are_not_copied() -> None:
    assert isinstance(ps.trace, types.FunctionType)
    assert copy_of(ps.trace) is ps.trace


def test_a_user_may_read_what_is_traced() -> None:
    assert (
        ps.converted_source(Own().value).splitlines()[-1]
        == "    return _ps.add(_ps.called(_ps.owner(super()).value)(x), _ps.called(inner)())"
    )
    with pytest.raises(ps.errors.SpecError, match="has no source in Python"):
        ps.converted_source(math.sin)
    names: dict[str, Any] = {}
    exec("def f(x): return x", names)
    with pytest.raises(ps.errors.SpecError, match=r"the source of f \(<string>\) cannot be read"):
        ps.converted_source(names["f"])


def test_an_operator_over_several_lines_counts_at_its_first() -> None:
    def f(x: Any) -> Any:
        return (
            x
            @ np.array(
                [x[0], 1.0, 2.0]
            )
        )  # fmt: skip

    (product,) = [op for op in ps.trace(f, X).block.ops if op.kind in {"MatMul", "ReduceSum"}][-1:]
    assert product.place is not None
    assert product.place.line == f.__code__.co_firstlineno + 2

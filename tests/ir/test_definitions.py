"""Code objects and their definitions in a file."""

import ast
import linecache
import types
from collections.abc import Callable
from typing import Any

import pytest

from primsplit.ir.definitions import by_code, definition_in, parsed


def source_of(function: Callable[..., Any]) -> str:
    found = definition_in(function.__code__)
    assert found is not None
    return ast.unparse(found.node)


def test_each_lambda_of_a_line_has_its_own_definition() -> None:
    first, second = lambda x: x + 1, lambda x: x * 3
    assert [source_of(f) for f in (first, second)] == ["lambda x: x + 1", "lambda x: x * 3"]


def test_code_without_a_source_has_no_definition() -> None:
    names: dict[str, Any] = {}
    exec("def f(x):\n    return x\n", names)
    assert definition_in(names["f"].__code__) is None


@pytest.mark.parametrize(
    "text", ["def g(x):\n    return x\n", "def f(y):\n    return y\n", "\n\ndef f(x): return x", "(("]
)
def test_code_whose_source_changed_has_no_definition(text: str) -> None:
    name = f"<changed {text}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    names: dict[str, Any] = {}
    exec(compile("def f(x):\n    return x\n", name, "exec"), names)
    assert definition_in(names["f"].__code__) is None


def test_a_file_is_read_once_for_a_text() -> None:
    assert parsed("some.py", "def f(): pass\n") is parsed("some.py", "def f(): pass\n")
    assert parsed("some.py", "def g(): pass\n").definitions.keys() == {("g", 1)}


def test_an_answer_is_kept_for_a_code_object_and_not_for_an_equal_one() -> None:
    asked: list[types.CodeType] = []

    @by_code
    def find(code: types.CodeType) -> int:
        asked.append(code)
        return len(asked)

    first, second = (compile("1 + x", "same.py", "eval") for _ in range(2))
    assert first == second
    assert [find(first), find(second), find(first)] == [1, 2, 1]

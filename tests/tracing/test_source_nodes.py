"""The node of the source that a frame evaluates, for each operator of Python that calls a method of the user's."""

import ast
import linecache
import sys
from collections.abc import Callable
from typing import Any

import pytest

from primsplit.tracing.source_nodes import nodes_around, nodes_at, nodes_of_line

Seen = list[tuple[str, list[str], str]]


class Asking:
    """An object whose methods note the nodes around what their caller evaluates."""

    def __init__(self) -> None:
        self.seen: Seen = []

    def note(self, called: str) -> "Asking":
        frame = sys._getframe(2)
        nodes = nodes_around(frame)
        text = ast.unparse(nodes[-1]) if nodes else ""
        self.seen.append((called, [type(n).__name__ for n in nodes], text))
        return self

    def __add__(self, other: object) -> "Asking":
        return self.note("+")

    def __iadd__(self, other: object) -> "Asking":
        return self.note("+=")

    def __neg__(self) -> "Asking":
        return self.note("-")

    def __call__(self, *args: object) -> "Asking":
        return self.note("()")

    def __getitem__(self, key: object) -> "Asking":
        return self.note("[]")

    def __lt__(self, other: object) -> bool:
        self.note("<")
        return True

    def __str__(self) -> str:
        self.note("str")
        return ""

    def method(self, *args: object) -> "Asking":
        return self.note("method")


def operators(a: Any) -> None:
    y = a + 1
    y += a
    (
        a
        .method(a[0])
        .method(2)
    )  # fmt: skip
    b = -a if a < 1 else y
    b(1)(2)


def test_the_evaluated_node_is_the_last_and_its_function_the_first() -> None:
    asking = Asking()
    operators(asking)
    assert asking.seen == [
        ("+", ["FunctionDef", "Assign", "BinOp"], "a + 1"),
        ("+=", ["FunctionDef", "AugAssign"], "y += a"),
        ("[]", ["FunctionDef", "Expr", "Call", "Attribute", "Call", "Subscript"], "a[0]"),
        ("method", ["FunctionDef", "Expr", "Call", "Attribute", "Call"], "a.method(a[0])"),
        ("method", ["FunctionDef", "Expr", "Call"], "a.method(a[0]).method(2)"),
        ("<", ["FunctionDef", "Assign", "IfExp", "Compare"], "a < 1"),
        ("-", ["FunctionDef", "Assign", "IfExp", "UnaryOp"], "-a"),
        ("()", ["FunctionDef", "Expr", "Call", "Call"], "b(1)"),
        ("()", ["FunctionDef", "Expr", "Call"], "b(1)(2)"),
    ]


def test_a_lambda_a_comprehension_and_a_class_are_scopes() -> None:
    a = Asking()
    added: Callable[[Any], Any] = lambda v: v + 1  # noqa: E731
    added(a)
    [a + k for k in [1]]

    class _Held:
        value = a(1)

    lasts = [(nodes[0], nodes[-1]) for _, nodes, _ in a.seen]
    assert lasts == [("Lambda", "BinOp"), ("FunctionDef", "BinOp"), ("ClassDef", "Call")]


def test_a_part_of_a_text_has_the_text_around_it() -> None:
    a = Asking()
    print(f"the text of a is {a!s}")
    ((_, nodes, _),) = a.seen
    assert nodes[:4] == ["FunctionDef", "Expr", "Call", "JoinedStr"]
    assert "Constant" not in nodes


def test_a_decorator_is_evaluated_by_the_function_around() -> None:
    a = Asking()
    before = 1

    @str
    @a(before)
    def _inner() -> None: ...

    after = a + 1
    assert after is a
    kinds = [nodes for _, nodes, _ in a.seen]
    assert kinds[0] == ["FunctionDef", "FunctionDef", "Call"]
    assert kinds[-1] == ["FunctionDef", "Assign", "BinOp"]


def test_a_default_is_evaluated_by_the_function_around() -> None:
    a = Asking()

    def inner(v: Any = a + 1) -> Any:
        return v

    inner()
    (found,) = a.seen
    assert found[1][:1] + found[1][-2:] == ["FunctionDef", "arguments", "BinOp"]


def run(program: str, filename: str, shown: str) -> Seen:
    """Run a program of a file that is shown with another text."""
    linecache.cache[filename] = len(shown), None, shown.splitlines(keepends=True), filename
    asking = Asking()
    exec(compile(program, filename, "exec"), {"a": asking})
    return asking.seen


def test_the_lines_of_a_module_have_the_module_around_them() -> None:
    assert run("a + 1\n", "<module>", "a + 1\n") == [("+", ["Module", "Expr", "BinOp"], "a + 1")]


@pytest.mark.parametrize("shown", ["", "def g():\n    return a + 1\nf()\n", "(("])
def test_another_source_has_no_nodes(shown: str) -> None:
    program = "def f():\n    return a + 1\nf()\n"
    assert run(program, f"<other {shown}>", shown) == [("+", [], "")]


def test_an_instruction_without_columns_has_no_nodes() -> None:
    code = compile("a + 1", "<without columns>", "eval")
    assert nodes_at(code, len(code.co_code)) == ()


def test_the_nodes_of_a_place_begin_with_the_module() -> None:
    line = operators.__code__.co_firstlineno + 1
    assert [type(n).__name__ for n in nodes_of_line(__file__, line, 8)][:3] == ["Module", "FunctionDef", "Assign"]

"""Variables may share a name where one is a loop's and they are never needed at the same time."""

import ast

import pytest

from primsplit.audit.mathematics.lifetimes import Lifetimes, Sharing, carries_of
from primsplit.audit.mathematics.shown import Shown
from primsplit.ir import Op

OP = Op("Identity", (), ())


def value(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def shown(text: str) -> list[Shown]:
    """Return statements of Python as those of a listing."""

    def lines(body: list[ast.stmt]) -> list[Shown]:
        return [line for each in body for line in one(each)]

    def one(each: ast.stmt) -> list[Shown]:
        match each:
            case ast.Assign(targets=[target], value=given):
                return [Shown(op=OP, ops=[], target=ast.unparse(target).strip("()"), value=given)]
            case ast.For(body=body):
                head = Shown(op=OP, ops=[], head="for t in range({}):", expression=value("T"))
                head.below = lines(body)
                return [head]
            case ast.If(test=test, body=[ast.Break()]):
                return [Shown(op=OP, ops=[], head="if {}: break", expression=test)]
            case ast.If(test=test, body=body, orelse=other):
                first = Shown(op=OP, ops=[], head="if {}:", expression=test, below=lines(body))
                return [first, Shown(op=OP, ops=[], head="else:", below=lines(other))]
        raise AssertionError(ast.dump(each))

    return lines(ast.parse(text).body)


LOOP = "b = a\nfor t in n:\n    b = tanh(b)\n"


@pytest.mark.parametrize(
    ("text", "meet"),
    [
        (LOOP + "y = b", False),
        (LOOP + "y = b + a", True),  # the start is needed behind the loop
        ("b = a\nfor t in n:\n    b = tanh(b) + a\ny = b", True),  # and in each step
        ("for t in n:\n    b = a + t\n    a = b * 2\ny = a", False),
        ("for t in n:\n    b = a + t\n    a = a * 2 + b\ny = a", True),
        ("if c:\n    b = a\n    y = b\nelse:\n    y = a", False),
        ("b = c\nif c:\n    y = b\nelse:\n    y = a", True),
        ("for t in n:\n    b = c + t\n    if b: break\n    a = b\ny = a", True),  # the loop may end before the copy
        ("a, b = c, c\ny = a", True),  # both are assigned at once
    ],
)
def test_two_variables_meet_where_one_gets_a_value_while_the_other_is_needed(text: str, meet: bool) -> None:
    assert ("a" in Lifetimes(shown(text), "ac", frozenset("y")).against["b"]) == meet


def test_the_variables_of_a_loop_are_assigned_before_it_and_in_it() -> None:
    assert carries_of(shown("c = a\n" + LOOP + "for t in n:\n    d = b\ny = d")) == {"b"}


def test_variables_share_a_name_only_where_one_is_of_a_loop() -> None:
    lines = shown(LOOP + "d = b\ne = d\ny = e")
    sharing = Sharing(lines, "a", frozenset("y"), {"a": "h", "d": "z", "k": "k"})
    assert sharing.may_share("b", "h")
    assert not sharing.may_share("e", "z")
    assert not sharing.may_share("b", "k")  # a constant

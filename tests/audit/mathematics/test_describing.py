"""A name tells the operator and its operand."""

import ast

import pytest

from primsplit.audit.mathematics.describing import described, root


def tree(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("expression", "name"),
    [("exp(x)", "exp_x"), ("x.reshape(2, 3)", "x_reshaped"), ("x**2", "x_squared"), ("-x", "minus_x"), ("2 * 3", "")],
)
def test_a_name_tells_the_operator_and_its_operand(expression: str, name: str) -> None:
    assert described(tree(expression), {"x": "x"}) == name


def test_the_root_of_a_choice_is_what_is_chosen() -> None:
    assert root(tree("where(c, a, b)"), {"a": "a", "b": "b", "c": "c"}) == "a"

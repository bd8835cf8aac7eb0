"""Expressions as trees."""

import ast

import numpy as np
import pytest

from primsplit.audit.trees import call, fill, literal, name, names_in, tree, variables_in


def test_precedence_is_the_unparsers() -> None:
    negative = tree("-a", a=name("x"))
    assert ast.unparse(tree("a ** 2 @ b", a=negative, b=tree("u + v"))) == "(-x) ** 2 @ (u + v)"
    assert ast.unparse(tree("a ** b", a=literal(-2.0), b=name("n"))) == "(-2.0) ** n"


def test_a_tree_is_filled_without_changing_its_template() -> None:
    assert ast.unparse(tree("a + b", a=name("x"), b=name("y"))) == "x + y"
    assert ast.unparse(tree("a + b", a=name("b"), b=name("a"))) == "b + a"
    assert names_in(tree("np.sum(a[i])")) == {"np", "a", "i"}


def test_a_function_is_no_hole_though_a_variable_has_its_name() -> None:
    read = tree("transpose * transpose(x, axes=transpose) + x.transpose(y)")
    assert ast.unparse(fill(read, {"transpose": name("a")})) == "a * transpose(x, axes=a) + x.transpose(y)"
    assert variables_in(tree("transpose(x)")) == {"x"}


@pytest.mark.parametrize("value", [np.inf, -np.inf, (1,), [1, (2.5, None)], "a'\"\n", -3, np.float32(0.5), True])
def test_a_literal_is_its_value(value: object) -> None:
    assert eval(ast.unparse(literal(value)), {"np": np}) == value
    assert ast.unparse(call("np.full", literal((2,)), dtype=name("t"))) == "np.full((2,), dtype=t)"

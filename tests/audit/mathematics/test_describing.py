"""A name tells the operator and its operand."""

import ast

import pytest

from primsplit.audit.mathematics.describing import briefly, described, root


def tree(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("x == 0", "x_is_0"),
        ("x > x", "x_above_x"),
        ("x >= 1", "test_x"),
        ("x - mean(x)", "x_centered"),
        ("exp(x)", "exp_x"),
        ("x.reshape(2, 3)", "x_reshaped"),
        ("x**2", "x_squared"),
        ("-x", "minus_x"),
        ("2 * 3", ""),
    ],
)
def test_a_name_tells_the_operator_and_its_operand(expression: str, name: str) -> None:
    assert described(tree(expression), {"x": "x"}) == name


def test_the_root_of_a_choice_is_what_is_chosen() -> None:
    assert root(tree("where(c, a, b)"), {"a": "a", "b": "b", "c": "c"}) == "a"


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("exp(-rate * years)", "exp_rate"),
        ("-sum(rate * years)", "sum_rate"),
        ("clip(rate * years, 0, 1)", "rate_clipped"),
        ("(rate + years) * rate", "rate_times"),
        ("(rate + years) ** 2", "rate_power"),
        ("take_along_axis(the_rate_of_interest, years)", "the_rate_of_interest"),
        ("exp(2)", ""),
        ("(-(d_cosine_1 * rate))[:, 0]", "d_cosine_1_times"),
        ("(rate @ years).T", "rate_by"),
        ("-d_log_of_sum.reshape(3)[0] * rate", "d_log_of_sum_times"),
    ],
)
def test_a_brief_name_tells_the_last_operation_and_the_first_value(expression: str, name: str) -> None:
    names = ("rate", "years", "the_rate_of_interest", "d_cosine_1", "d_log_of_sum")
    assert briefly(tree(expression), {n: n for n in names}) == name

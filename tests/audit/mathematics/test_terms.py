"""Sums and products are written as people write them, with the same value."""

import ast

import numpy as np
import pytest

from primsplit.audit.mathematics.simplify import number_tree, simplified, text_of

ROWS = [
    ("-a + b", "b - a"),
    ("-2.0 * a + b", "b - 2 * a"),
    ("a + -2.0 * b", "a - 2 * b"),
    ("a - -2.0 * b", "a + 2 * b"),
    ("a * -b", "-(a * b)"),
    ("a + b * -c", "a - b * c"),
    ("a + b + b", "a + 2 * b"),
    ("a - b - b", "a - 2 * b"),
    ("-a * b - a * b", "-2 * a * b"),
    ("a * b * -2.0", "-2 * a * b"),
    ("(a**3) ** 2", "a**6"),
    ("a * (1 / b) * c", "a / b * c"),
    ("sum(full(9, 2.0), axis=0) * a", "18 * a"),
    ("(a / 8.0) @ b", "a @ b / 8"),
    ("(a / sqrt(8.0)).T @ b", "a.T @ b / sqrt(8)"),
    ("x.T[::-1].T", "x[:, ::-1]"),
    ("3 * (2 * a)", "6 * a"),
    ("-2.0 * a * -0.5", "a"),
    ("0.1 * 0.3 * a", "0.1 * 0.3 * a"),
    ("0.1 * 0.3 * a * 0.7", "0.7 * 0.1 * 0.3 * a"),
    ("0.1 * (a * 0.3) * (b * 0.7)", "0.7 * 0.1 * 0.3 * a * b"),
    ("a * b * a", "a**2 * b"),
    ("2 * a * b * (a * c)", "2 * a**2 * b * c"),
    ("a / b * a", "a / b * a"),
    ("a * (b / c)", "a * b / c"),
    ("(a / b) * (a / b)", "(a / b)**2"),
    ("2.0 * (b / c)", "2 * b / c"),
    ("1 / a * b", "b / a"),
    ("-1.0 / a * b", "-1 / a * b"),
    ("(a * b) + (a * b)", "2 * a * b"),
    ("a == -0.0", "a == 0"),
    ("(a.T @ b).T", "b.T @ a"),
    ("(a.T @ b - c.T @ x.T).T", "b.T @ a - x @ c"),
    ("~(a == b)", "a != b"),
    ("0 > a", "a < 0"),
    ("1.5 <= a", "a >= 1.5"),
    ("zeros((3,))", "zeros(3)"),
]


@pytest.mark.parametrize(("given", "wanted"), ROWS)
def test_terms_are_written_as_people_write_them(given: str, wanted: str) -> None:
    found = simplified(ast.parse(given, mode="eval").body)
    assert text_of(found) == wanted
    random = np.random.default_rng(0)
    space = {
        "sqrt": np.sqrt,
        "sum": np.sum,
        "full": np.full,
        "zeros": np.zeros,
        **{n: random.standard_normal((3, 3)) for n in "abcx"},
    }
    np.testing.assert_allclose(eval(wanted, space), eval(given, space), rtol=1e-12)


def test_a_choice_inside_of_the_same_choice_is_made_once_but_in_a_divisor() -> None:
    inner = "where(c, 2 * where(c, x, 0) / where(c, y, 1), 0)"
    assert text_of(simplified(ast.parse(inner, mode="eval").body)) == "where(c, 2 * x / where(c, y, 1), 0)"


@pytest.mark.parametrize(
    ("number", "wanted"),
    [(44 / 45, "44 / 45"), (-25360 / 2187, "-25360 / 2187"), (0.2837164923, "0.2837164923"), (0.125, "0.125")],
)
def test_a_quotient_of_small_integers_is_written_as_one(number: float, wanted: str) -> None:
    assert text_of(number_tree(number)) == wanted
    assert eval(wanted) == number


def test_a_number_of_few_bits_is_no_quotient_by_chance() -> None:
    digits = np.float32(0.28371649)
    assert "/" not in text_of(number_tree(float(digits), np.float32))

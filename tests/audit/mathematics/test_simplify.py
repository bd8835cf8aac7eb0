"""Expressions are written as people write them, with the same value."""

import ast

import numpy as np
import pytest

from primsplit.audit.mathematics.simplify import number_tree, renamed, simplified, text_of

ROWS = [
    ("np.full((2, 1), 0, 'int64')", "zeros((2, 1), int)"),
    ("np.full((2, 1), 0.0, 'float64')", "zeros((2, 1))"),
    ("np.float32(1.0) - h * h", "1 - h**2"),
    ("x * (x * x)", "x**3"),
    ("x**2 * x**2", "x**4"),
    ("x * 2.0", "2 * x"),
    ("-1.0 * x", "-x"),
    ("a + -b", "a - b"),
    ("a - -b", "a + b"),
    ("0 - b", "-b"),
    ("0 + b", "b"),
    ("x ** 1", "x"),
    ("(a @ b).T.T", "a @ b"),
    ("x.mT.T", "x.mT.T"),
    ("x + x", "2 * x"),
    ("a * (b * c)", "a * b * c"),
    ("a + (b + c)", "a + b + c"),
    ("np.full((2, 3), 0.0, np.float32)", "zeros((2, 3))"),
    ("special.erf(_power(x, y))", "erf(power(x, y))"),
    ("np.take(x, np.array([1, 2, 3, 4, 5, 5], 'int64'), axis=0)", "take(x, r_[1:6, 5], axis=0)"),
    ("np.array([0, 1, 2, 3, 4], 'int64')", "arange(5)"),
    ("_scatter_nd(a, i, u, reduction='add')", "scatter_add(a, i, u)"),
    ("(N, 3)[0]", "N"),
    ("2 * array(x.shape[:1])[0]", "2 * array(x.shape[0])"),
    ("array(x.shape[1:2])[0]", "array(x.shape[1])"),
    ("array(x.shape[:2])[0]", "array(x.shape[:2])[0]"),
    ("scatter_nd(zeros((1, n)), array([0]), u).T", "u[:, None]"),
    ("scatter_nd(zeros((1, n)), array([0]), u, reduction='add').T", "u[:, None]"),
    ("scatter_nd(zeros((2, n)), array([0]), u).T", "scatter_nd(zeros((2, n)), array([0]), u).T"),
]


@pytest.mark.parametrize(("given", "wanted"), ROWS)
def test_an_expression_is_written_as_people_write_it(given: str, wanted: str) -> None:
    assert text_of(simplified(ast.parse(given, mode="eval").body)) == wanted


@pytest.mark.parametrize(
    ("number", "dtype", "wanted"),
    [
        (np.float32(np.sqrt(np.float32(8))).item(), np.float32, "sqrt(8)"),
        (np.pi, np.float64, "pi"),
        (-1 / np.sqrt(2 * np.pi), np.float64, "-1 / sqrt(2 * pi)"),
        (np.float32(0.70710677).item(), np.float32, "1 / sqrt(2)"),
        (0.1, np.float64, "0.1"),
        (1 - 0.9, np.float32, "0.1"),
        (np.float32(1e-5).item(), np.float32, "1e-05"),
        (3.14159, np.float64, "3.14159"),
        (1 / 569, np.float64, "1 / 569"),
        (0.0017574692442883, np.float64, "0.0017574692442883"),
        (0.5, np.float64, "0.5"),
        (-(2**63), np.int64, "-9223372036854775808"),
        (-3.0, np.float64, "-3"),
        (np.inf, np.float64, "np.inf"),
    ],
)
def test_a_number_has_the_short_name_of_the_same_number(number: float, dtype: type[np.generic], wanted: str) -> None:
    found = number_tree(number, dtype)
    assert text_of(found) == wanted
    space = {"np": np, "sqrt": np.sqrt, "pi": np.pi}
    assert dtype(eval(ast.unparse(found), space)) == dtype(number)


def test_functions_keep_their_names_where_values_get_others() -> None:
    tree = ast.parse("where(where > 0, x, y)", mode="eval").body
    assert text_of(renamed(tree, {"where": "mask", "x": "z"})) == "where(mask > 0, z, y)"

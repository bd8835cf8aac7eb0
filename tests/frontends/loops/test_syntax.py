"""Facts of a function's syntax: what statements assign, combine and index."""

import ast

import pytest

from primsplit.frontends.loops.syntax import called, changed, combination, ranks, whole_numbers


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("t + x", ("add", "x")), ("x * t", ("multiply", "x")),
        ("t - x", ("add", "-x")), ("max(t, x)", ("maximum", "x")),
        ("np.minimum(x[i], t)", ("minimum", "x[i]")),
        ("x - t", None), ("t / x", None), ("t + t", None), ("x + y", None),
        ("f(t, x)", None), ("t", None),
    ],
)  # fmt: skip
def test_what_is_combined_with_a_name_is_found(text: str, wanted: tuple[str, str] | None) -> None:
    found = combination(expression("t"), expression(text))
    assert (None if found is None else (found[0], ast.unparse(found[1]))) == wanted


def test_an_element_is_combined_as_a_name_is() -> None:
    found = combination(expression("y[i]"), expression("y[i] + 2 * x"))
    assert found is not None
    assert ast.unparse(found[1]) == "2 * x"


def test_names_that_statements_assign_and_combine_are_told_apart() -> None:
    body = ast.parse("a = x\nfor i in range(3):\n    t = t + a\n    s *= 2\n    b, c = a, t\n    y[i] = b").body
    assert changed(body) == ({"a", "b", "c"}, {"t", "s"})


def test_arrays_have_as_many_axes_as_indices() -> None:
    assert {*ranks(ast.parse("y[i] = x[i, j] + f(z)[k] + w[(i)]"))} == {("y", 1), ("x", 2), ("w", 1)}


def test_whole_numbers_are_in_ranges_indices_and_shapes_and_what_these_are_computed_from() -> None:
    tree = ast.parse("n = len(x) // k\nm = n + 1\ny = np.zeros(m)\nfor i in range(p):\n    y[i + q] = x[i] * scale")
    assert {"n", "m", "k", "p", "q", "i"} <= whole_numbers(tree)
    assert not {"scale", "y"} & whole_numbers(tree)


def test_the_name_of_a_call_has_no_module() -> None:
    assert [called(expression(t)) for t in ("f(x)", "np.sin(x)", "a.b.c()", "f(x)(y)")] == ["f", "sin", "c", ""]

"""A transpose of what has a name is written with that name."""

import ast

from primsplit.audit.mathematics.shown import Shown
from primsplit.audit.mathematics.simplify import text_of
from primsplit.audit.mathematics.turned import with_turned
from primsplit.ir import Op


def texts(*rows: tuple[str, str]) -> list[str]:
    lines = [Shown(op=Op("Mul", (), (), {}), ops=[], target=t, value=ast.parse(v, mode="eval").body) for t, v in rows]
    return [f"{line.target} = {text_of(line.value)}" for line in with_turned(lines) if line.value is not None]


def test_keys_are_transposed_by_their_name() -> None:
    found = texts(
        ("k", "transpose(x.reshape(5, 2, 3), (1, 0, 2))"), ("s", "q @ transpose(x.reshape(5, 2, 3), (1, 2, 0))")
    )
    assert found == ["k = transpose(x.reshape(5, 2, 3), (1, 0, 2))", "s = q @ k.mT"]


def test_a_name_that_comes_later_comes_first_then() -> None:
    found = texts(
        ("s", "q @ transpose(x.reshape(5, 2, 3), (1, 2, 0))"), ("k", "transpose(x.reshape(5, 2, 3), (1, 0, 2))")
    )
    assert found == ["k = transpose(x.reshape(5, 2, 3), (1, 0, 2))", "s = q @ k.mT"]


def test_a_name_stays_where_what_it_reads_is_set_in_between() -> None:
    found = texts(
        ("s", "q @ transpose(f(x), (1, 2, 0))"), ("x", "x + 1"), ("k", "transpose(f(x), (1, 0, 2))"), ("x", "x + 2")
    )
    assert found[0] == "s = q @ transpose(f(x), (1, 2, 0))"


def test_another_transpose_is_no_transpose_of_its_matrices() -> None:
    found = texts(("k", "transpose(f(x), (1, 0, 2))"), ("s", "transpose(f(x), (2, 1, 0))"))
    assert found[1] == "s = transpose(f(x), (2, 1, 0))"

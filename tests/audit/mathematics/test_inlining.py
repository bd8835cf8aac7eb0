"""Statements are written into their readers where the line stays one that people read."""

import ast
from collections.abc import Sequence

from primsplit.audit.mathematics.inlining import Inlining
from primsplit.audit.mathematics.shown import LONGEST, Shown
from primsplit.audit.mathematics.simplify import text_of
from primsplit.ir import Op

ROW = Op("Identity", (), (), {})


def line(target: str, value: str, section: str = "forward") -> Shown:
    return Shown(op=ROW, ops=[], target=target, value=ast.parse(value, mode="eval").body, section=section)


def inlined(lines: Sequence[Shown], *kept: str) -> list[str]:
    made = Inlining([*lines], frozenset(kept), {}, {"hs": (5, 3), "a": (5, 3)}.get).run()
    return [f"{x.target} = {text_of(x.value)}" for top in made for x in top.walk() if x.value is not None]


def test_a_value_of_one_reader_is_in_it() -> None:
    assert inlined([line("e", "exp(p)"), line("y", "e * sum(e_2)")], "y") == ["y = exp(p) * sum(e_2)"]


def test_a_short_value_of_two_readers_is_in_both_and_a_long_one_in_none() -> None:
    short = [line("s", "1 - h**2"), line("a", "d * s"), line("y", "f(a, a, b * s)")]
    assert inlined(short, "y", "a") == ["a = d * (1 - h**2)", "y = f(a, a, b * (1 - h**2))"]
    assert len(inlined([line("s", "exp(h)"), line("a", "d * s"), line("y", "b * s + a")], "a", "y")) == 3
    assert len(inlined([line("s", "g @ h"), line("a", "d * s"), line("y", "b * s + a")], "a", "y")) == 3


def test_a_name_of_the_users_stays() -> None:
    assert len(inlined([line("hidden", "tanh(x)"), line("y", "sum(hidden)")], "hidden", "y")) == 2


def test_a_value_stays_before_what_changes_its_operands() -> None:
    lines = [line("s", "h + 1"), line("h", "h * 2"), line("y", "s * h")]
    assert inlined(lines, "y", "h") == ["s = h + 1", "h = h * 2", "y = s * h"]


def test_a_line_stays_short() -> None:
    long = " + ".join(f"term_{i}" for i in range(9))
    lines = [line("s", long), line("y", f"sum(s * {long.replace('term', 'other')})")]
    assert len(inlined(lines, "y")) == 2
    assert all(len(text) <= LONGEST for text in inlined(lines, "y"))


def test_a_step_reads_its_part_of_what_is_computed_for_all_steps() -> None:
    loop = Shown(op=ROW, ops=[], head="for t in range(5):", below=[line("d", "d * a[t]")])
    assert inlined([line("a", "1 - hs**2"), loop], "d") == ["d = d * (1 - hs[t]**2)"]


def test_a_step_that_reads_other_steps_leaves_the_value() -> None:
    loop = Shown(op=ROW, ops=[], head="for t in range(4):", below=[line("d", "d * a[t] * a[t + 1]")])
    assert inlined([line("a", "1 - hs**2"), loop], "d")[0] == "a = 1 - hs**2"

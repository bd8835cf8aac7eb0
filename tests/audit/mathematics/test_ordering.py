"""Statements of a line come together, each behind what it reads."""

import ast

from primsplit.audit.mathematics.ordering import grouped, in_sections
from primsplit.audit.mathematics.shown import Shown
from primsplit.ir import Op
from primsplit.ir.errors import Place


def statement(line: int, text: str, section: str = "") -> Shown:
    target, value = text.split(" = ")
    op = Op("Add", (), (), {}, Place("f.py", line, "f"))
    return Shown(op=op, ops=[op], target=target, value=ast.parse(value, mode="eval").body, section=section)


def test_statements_are_grouped_by_line_as_far_as_they_can() -> None:
    lines = [statement(8, "h = y"), statement(7, "b = h"), statement(8, "c = y"), statement(8, "d = b")]
    assert [line.target for line in grouped(lines)] == ["h", "c", "b", "d"]


def test_a_statement_stays_before_one_that_changes_what_it_reads() -> None:
    lines = [statement(1, "a = x"), statement(2, "b = h"), statement(1, "h = a"), statement(2, "c = h")]
    assert [line.target for line in grouped(lines)] == ["a", "b", "h", "c"]


def test_a_section_is_in_one_place_as_far_as_it_can_be() -> None:
    first, back = statement(1, "a = x", "forward"), statement(2, "d_a = a", "backward")
    free, late = statement(3, "y = a", "forward"), statement(3, "z = d_a", "forward")
    assert [line.target for line in in_sections([first, back, free, late])] == ["a", "y", "d_a", "z"]


def test_a_statement_does_not_pass_one_that_reads_what_it_sets() -> None:
    lines = [statement(1, "a = x", "f"), statement(2, "d = a", "b"), statement(3, "a = y", "f")]
    assert [line.value and ast.unparse(line.value) for line in in_sections(lines)] == ["x", "a", "y"]

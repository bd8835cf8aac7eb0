"""Columns stay where they are, whatever stands in another line."""

import ast

from primsplit.audit.mathematics.printing import LINES_AT, Printer
from primsplit.audit.mathematics.shown import Shown
from primsplit.ir import Op
from primsplit.ir.errors import Place


def statement(line: int, target: str, value: str) -> Shown:
    op = Op("Add", (), (), {}, Place("f.py", line, "f"))
    return Shown(op=op, ops=[op], target=target, value=ast.parse(value, mode="eval").body)


def test_what_stands_beside_a_statement_has_its_column() -> None:
    printer = Printer({"mul": "twice"}, {"mul": (3,)})
    short, long = printer.section([statement(4, "mul", "2 * x"), statement(5, "z", f"{'x + ' * 20}x")], "forward")
    assert short == "  twice = 2 * x".ljust(LINES_AT) + "f.py:4".ljust(16) + "[3]"
    assert long.endswith("x  f.py:5")


def test_the_backward_pass_says_what_it_is_the_gradient_of() -> None:
    printer = Printer({}, {})
    assert [*printer.section([statement(4, "h", "tanh(x)")], "forward")] == ["  h = tanh(x)".ljust(LINES_AT) + "f.py:4"]
    lines = [*printer.section([statement(4, "d_x", "d_h"), statement(4, "d_w", "d_h")], "backward")]
    assert lines == ["  # Grad of: h = tanh(x)", "  d_x = d_h", "  d_w = d_h"]


def test_a_gradient_inside_of_the_forward_pass_says_what_it_is_of() -> None:
    printer = Printer({}, {})
    inner = statement(4, "d_x", "d_h * x")
    inner.op = Op("Mul", (), (), {}, inner.op.place, "pullback of Tanh")
    second = statement(4, "d_d_x", "d_h * d_x")
    second.op = Op("Mul", (), (), {}, inner.op.place, "pullback of Mul (order 2)")
    lines = [statement(4, "h", "tanh(x)"), inner, statement(5, "x_1", "x - d_x")]
    first = "  h = tanh(x)".ljust(LINES_AT) + "f.py:4"
    last = "  x_1 = x - d_x".ljust(LINES_AT) + "f.py:5"
    assert [*printer.section(lines, "forward")] == [first, "  # Grad of: h = tanh(x)", "  d_x = d_h * x", last]
    assert [*printer.section([second], "backward")] == ["  # Grad of: d_x = d_h * x", "  d_d_x = d_h * d_x"]

"""A remark tells the statement whose values its statements read, where a line has several."""

import ast
from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics
from primsplit.audit.mathematics.remarks import Remarks
from primsplit.audit.mathematics.shown import Shown
from primsplit.audit.written import read_written
from primsplit.ir import Op
from primsplit.ir.errors import Place

FIRST, SECOND = Place("f.py", 3, "f"), Place("f.py", 4, "f")


def line(place: Place, *inside: Place) -> Shown:
    ops = [Op("Mul", (), (), {}, each) for each in (place, *inside)]
    return Shown(op=ops[0], ops=ops, target="y", value=ast.parse("x", mode="eval").body)


def test_the_statement_that_shares_most_names_is_told() -> None:
    remarks = Remarks()
    remarks.learn(line(FIRST), "a = x * w1", "", {"a", "x", "w1"})
    remarks.learn(line(FIRST), "b = a * w2", "", {"b", "a", "w2"})
    assert remarks.of(FIRST, "", {"x", "w1"}) == "a = x * w1"
    assert remarks.of(FIRST, "", {"w2"}) == "b = a * w2"
    assert remarks.of(FIRST, "", set()) == "b = a * w2"
    assert remarks.of(FIRST, "", {"a"}, before="a = x * w1") == "a = x * w1"
    assert remarks.of(SECOND, "", {"a"}) == ""
    assert remarks.of(None, "", {"a"}) == ""


def test_a_line_of_a_function_that_is_a_part_of_its_callers_statement_is_told_by_that() -> None:
    remarks = Remarks()
    remarks.learn(line(SECOND, FIRST), "h = tanh(x @ w1)", "", {"d_h", "x", "w1"})
    remarks.learn(line(FIRST), "z = h @ w2", "", {"d_z", "h", "w2"})
    assert remarks.of(FIRST, "", {"x", "w1"}) == "h = tanh(x @ w1)"
    assert remarks.of(FIRST, "", {"h", "w2"}) == "z = h @ w2"
    assert remarks.of(FIRST, "", set()) == "z = h @ w2"


def test_a_line_inside_of_a_statement_of_another_line_is_told_by_that() -> None:
    remarks = Remarks()
    remarks.learn(line(FIRST, SECOND), "q = heads(x @ w)", "", {"q", "x", "w"})
    assert remarks.of(SECOND, "", {"x"}) == "q = heads(x @ w)"
    remarks.learn(line(SECOND), "z = x + 1", "", {"d_z", "x"})
    assert remarks.of(SECOND, "", {"x"}) == "z = x + 1"


def test_the_gradients_of_a_function_that_is_called_twice_tell_the_call_that_they_are_of(tmp_path: Path) -> None:
    def scaled(x: Any, scale: Any, shift: Any) -> Any:
        return np.tanh(x) * scale + shift

    def model(x: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        first = scaled(x, a, b)
        return scaled(first, c, d)

    path = str(tmp_path / "f.onnx")
    ps.split(model, np.ones((2, 3)), *(np.ones(3) for _ in range(4)), wrt=(1, 2, 3, 4)).save(path)
    rows = list_as_mathematics(read_written(path)).splitlines()
    told = {row.split(" = ")[0].strip(): remark for row, remark in _with_remarks(rows)}
    assert "first = tanh_x * a + b" in told["d_a, d_b"]
    assert "y = tanh_first * c + d" in told["d_c, d_d"]


def _with_remarks(rows: list[str]) -> list[tuple[str, str]]:
    found, remark = [], ""
    for row in rows:
        if "# Grad of: " in row:
            remark = row
        elif remark and " = " in row:
            found.append((row, remark))
    return found

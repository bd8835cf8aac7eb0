"""Single statements of a file as texts."""

from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.audit.review.statements import StatementPrinter
from primsplit.audit.written import Written, read_written
from primsplit.ir import Op


def file_of(function: Any, folder: Path) -> Written:
    (path,) = ps.export(function, np.ones((2, 3), np.float32), path=folder / "f.onnx", mode="value")
    return read_written(path)


def op_of(file: Written, kind: str) -> Op:
    return next(op for op in file.ops() if op.kind == kind)


def test_a_statement_has_its_attributes_and_no_types_unless_they_are_asked_for(tmp_path: Path) -> None:
    def function(x: Any) -> Any:
        total = np.sum(x, axis=1)
        return np.exp(total)

    file = file_of(function, tmp_path)
    printer = StatementPrinter(file, {})
    assert printer.head(op_of(file, "ReduceSum")) == "total = ReduceSum(x, [1], keepdims=0)"
    assert printer.head(op_of(file, "Exp"), typed=True) == "y: float32[2] = Exp(total)"


def test_values_have_the_names_that_are_given(tmp_path: Path) -> None:
    file = file_of(lambda x: np.exp(np.tanh(x)), tmp_path)
    printer = StatementPrinter(file, {op_of(file, "Tanh").outputs[0]: "other name"})
    assert printer.head(op_of(file, "Exp")) == "y = Exp(`other name`)"


def test_a_branch_is_written_with_both_sides(tmp_path: Path) -> None:
    def function(x: Any) -> Any:
        return np.exp(x) if np.sum(x) > 1 else np.sin(x)

    file = file_of(function, tmp_path)
    lines = [*StatementPrinter(file, {}).statement(op_of(file, "If"))]
    assert [line.strip() for line in lines if line.strip().endswith(":")] == ["then_branch():", "else_branch():"]
    assert [sum(kind in line for line in lines) for kind in ("Exp(x)", "Sin(x)")] == [1, 1]
    assert all(line.startswith("  ") for line in lines[1:])


def test_each_body_is_indented_by_four_more(tmp_path: Path) -> None:
    def function(x: Any) -> Any:
        if np.sum(x) > 1:
            return np.exp(x) if np.sum(x) < 2 else np.tanh(x)
        return np.sin(x)

    file = file_of(function, tmp_path)
    lines = [*StatementPrinter(file, {}).statement(op_of(file, "If"))]
    indents = {
        kind: len(line) - len(line.lstrip()) for line in lines for kind in ("Sin", "Exp", "Tanh") if kind in line
    }
    assert indents == {"Sin": 4, "Exp": 8, "Tanh": 8}

"""The view with a line for each node."""

import ast
from collections import Counter
from pathlib import Path
from typing import Any

import onnx.helper as oh
import pytest

from primsplit.audit.page.every_node import every_node
from primsplit.audit.written import Written
from tests.audit.page.pages import SPECS, STEPS, foreign, loss, total, written


def counted(file: Written) -> Counter[str]:
    """Count the operators that the rows of a view stand for."""
    return Counter(op.kind for f in every_node(file).functions for row in f.rows for op in row.ops)


@pytest.mark.parametrize(("function", "specs"), [(loss, SPECS), (total, STEPS)])
@pytest.mark.parametrize("form", ["joint", "split", "functions"])
def test_every_node_is_in_one_row(tmp_path: Path, function: Any, specs: Any, form: Any) -> None:
    for file in written(tmp_path, function, *specs, form=form):
        assert counted(file) == Counter(op.kind for op in file.ops())


def test_rows_are_statements_of_numpy(tmp_path: Path) -> None:
    (file,) = written(tmp_path, loss, *SPECS, wrt="w")
    (graph,) = every_node(file).functions
    hidden = next(row for row in graph.rows if row.assigned == ("hidden",))
    assert (hidden.text, hidden.section, hidden.shape) == ("hidden = np.tanh(matmul_x)", "forward", "float32[N,4]")
    for row in graph.rows:
        ast.parse(row.text if not row.text.endswith(":") else f"{row.text} pass")
    assert [(p.name, p.type) for p in graph.params][:2] == [("w", "float32[3,4]"), ("x", "float32[N,3]")]


def test_bodies_of_loops_and_branches_are_indented_below_their_heads(tmp_path: Path) -> None:
    (file,) = written(tmp_path, total, *STEPS)
    rows = every_node(file).functions[0].rows
    texts = [row.text for row in rows]
    head = next(i for i, text in enumerate(texts) if text.startswith("for "))
    assert rows[head + 1].depth == rows[head].depth + 1
    assert texts[head] == f"for {rows[head].assigned[0]} in xs:"
    assert {"else:"} <= {*texts}


def test_a_file_with_an_operator_that_numpy_lacks_is_shown_as_its_nodes(tmp_path: Path) -> None:
    nodes = (
        oh.make_node("Nope", ["x"], ["a/b"], name="first", domain="com.microsoft", alpha=0.5),
        oh.make_node("Relu", ["a/b"], ["y"], name="second"),
    )
    (graph,) = every_node(foreign(tmp_path, *nodes)).functions
    assert [row.text for row in graph.rows] == ["`a/b` = com.microsoft::Nope(x, alpha=0.5)", "y = Relu(`a/b`)"]
    assert [row.note for row in graph.rows] == ["first", "second"]
    assert graph.rows[0].assigned == ("`a/b`",)


def test_the_graphs_of_nodes_that_numpy_lacks_are_below_them(tmp_path: Path) -> None:
    value = oh.make_tensor_value_info("inner", 1, [3])
    body = oh.make_graph([oh.make_node("Nope", ["x"], ["inner"], domain="com.microsoft")], "then", [], [value])
    test = oh.make_node("Constant", [], ["test"], value=oh.make_tensor("t", 9, [], [True]))
    file = foreign(tmp_path, test, oh.make_node("If", ["test"], ["y"], then_branch=body, else_branch=body))
    rows = every_node(file).functions[0].rows
    assert [(row.depth, row.text) for row in rows if row.op.kind != "Constant"] == [
        (0, "y = If(test)"),
        (1, "else_branch():"),
        (2, "inner = com.microsoft::Nope(x)"),
        (2, "return inner"),
        (1, "then_branch():"),
        (2, "inner = com.microsoft::Nope(x)"),
        (2, "return inner"),
    ]
    assert counted(file) == Counter(op.kind for op in file.ops())

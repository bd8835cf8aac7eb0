"""Branches and loops as Python writes them."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

import primsplit as ps
from primsplit.audit.numpy_style import to_numpy
from primsplit.audit.statement_maker import statements_of
from primsplit.audit.statements import Branch, Loop, Scan
from primsplit.audit.suites import read_by
from primsplit.audit.written import read_written


def traced(function: Any, *types: Any, path: Path) -> Any:
    ps.trace(function, *types).save(path)
    return read_written(str(path))


def test_a_branch_assigns_on_both_sides(tmp_path: Path) -> None:
    def chosen(x: Any) -> Any:
        return ps.cond(np.sum(x) > 0, lambda x: x * 2.0, lambda x: x, x)

    file = traced(chosen, ps.spec("float64", [3]), path=tmp_path / "f.onnx")
    text = to_numpy([file]).text
    assert "    if greater_x:\n        y = x * 2.0\n    else:\n        y = x\n    return y\n" in text
    (branch,) = (s for s in statements_of(file).main.statements if isinstance(s, Branch))
    assert read_by([branch]) == {"greater_x", "x"}


def test_a_scan_is_a_loop_over_its_arrays(tmp_path: Path) -> None:
    def total(h: Any, xs: Any) -> Any:
        return ps.scan(lambda h, x: (h + x, h * x), h, xs, reverse=True)

    file = traced(total, ps.spec("float32"), ps.spec("float32", [4]), path=tmp_path / "f.onnx")
    text = to_numpy([file]).text
    assert "in xs[::-1]:\n" in text
    assert "_each[::-1], np.zeros((0,), 'float32'))" in text
    assert any(isinstance(s, Scan) for s in statements_of(file).main.statements)


def test_a_loop_ends_by_its_condition(tmp_path: Path) -> None:
    def halved(x: Any) -> Any:
        return ps.while_loop(lambda v: v > 1.0, lambda v: v / 2.0, x)

    file = traced(halved, ps.spec("float64"), path=tmp_path / "f.onnx")
    assert any(isinstance(s, Loop) for s in statements_of(file).main.statements)
    scope: dict[str, Any] = {}
    exec(to_numpy([file]).text, scope)
    assert scope["forward"](np.float64(40.0)) == 0.625
    assert scope["forward"](np.float64(0.5)) == 0.5


def counted(condition: bool, folder: Path) -> Any:
    """A Loop of three steps that adds 1; its condition is true, or that the sum is below 2."""
    nodes = [helper.make_node("Constant", [], ["one"], value_float=1.0), helper.make_node("Add", ["v", "one"], ["w"])]
    if condition:
        nodes += [helper.make_node("Constant", [], ["two"], value_float=2.0)]
        nodes += [helper.make_node("Less", ["w", "two"], ["on"])]
    else:
        nodes += [helper.make_node("Identity", ["was_on"], ["on"])]
    told = helper.make_tensor_value_info
    inner = [told("i", 7, []), told("was_on", 9, []), told("v", 1, [])]
    body = helper.make_graph(nodes, "body", inner, [told("on", 9, []), told("w", 1, [])])
    outer = [
        helper.make_node("Constant", [], ["three"], value_int=3),
        helper.make_node("Loop", ["three", "", "x"], ["y"], body=body),
    ]
    graph = helper.make_graph(outer, "g", [told("x", 1, [])], [told("y", 1, [])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), folder / "m.onnx")
    return read_written(str(folder / "m.onnx"))


def test_only_a_loop_with_a_condition_has_a_break(tmp_path: Path) -> None:
    for condition, expected in ((False, 3.0), (True, 2.0)):
        text = to_numpy([counted(condition, tmp_path)]).text
        assert ("break" in text) is condition
        assert "in range(3):" in text
        scope: dict[str, Any] = {}
        exec(text, scope)
        assert scope["forward"](np.float32(0)) == expected

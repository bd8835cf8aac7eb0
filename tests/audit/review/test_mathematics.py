"""Changes as statements of mathematics."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx

import primsplit as ps
from primsplit.audit.review.difference import Difference, difference
from primsplit.audit.review.listing import unified
from primsplit.audit.written import read_written

X = np.linspace(-1.0, 1.0, 6, dtype=np.float32).reshape(2, 3)
W = np.linspace(0.5, 1.5, 12, dtype=np.float32).reshape(3, 4)


def compared(old: Any, new: Any, folder: Path, **options: Any) -> Difference:
    paths = [ps.export(f, W, X, path=folder / f"{n}.onnx", **options)[0] for n, f in (("old", old), ("new", new))]
    return difference(*map(read_written, paths))


def lines_of(found: Difference) -> list[str]:
    """The statements of both sides, without remarks."""
    return [line for line in unified(found.shown_changes) if line[0] in "+-" and "# " not in line]


def relu(w: Any, x: Any) -> Any:
    hidden = np.maximum(x @ w, 0.0)
    return np.sum(hidden * hidden)


def bent(w: Any, x: Any) -> Any:
    hidden = np.tanh(x @ w)
    return np.sum(hidden * hidden)


def test_relu_to_tanh_is_one_statement_forward_and_one_backward(tmp_path: Path) -> None:
    lines = lines_of(compared(relu, bent, tmp_path, wrt="w"))
    assert [line[0] for line in lines] == ["-", "+", "-", "+"]
    assert lines[0].startswith("- hidden = maximum(")
    assert lines[1] == "+ hidden = tanh(x @ w)"
    assert "1 - hidden" in lines[3]


def test_a_statement_of_a_value_in_both_files_is_changed_and_others_are_added_or_removed(tmp_path: Path) -> None:
    def more(w: Any, x: Any) -> Any:
        hidden = np.tanh(x @ w)
        offset = np.sum(np.abs(w))
        return np.sum(hidden * hidden) + offset

    found = compared(relu, more, tmp_path, mode="value").mathematics
    assert found is not None
    assert found.counts == {"forward": {"same": 0, "changed": 2, "added": 1, "removed": 0}}
    told = {(c.status, *(s and s.lines[0].split(" = ")[0] for s in (c.before, c.after))) for c in found.changes}
    assert told == {("changed", "hidden", "hidden"), ("added", None, "offset"), ("changed", "y", "y")}
    back = compared(more, relu, tmp_path, mode="value").mathematics
    assert back is not None
    assert back.counts == {"forward": {"same": 0, "changed": 2, "added": 0, "removed": 1}}


def test_a_file_has_no_changes_against_itself(tmp_path: Path) -> None:
    found = compared(relu, relu, tmp_path)
    assert found.mathematics is not None
    assert (found.mathematics.changes, found.mathematics.hidden) == ((), 0)


def test_nodes_that_no_statement_shows_are_counted(tmp_path: Path) -> None:
    """The mathematics of a value that is handed on twice or once is one."""
    node, files = onnx.helper.make_node, []
    once = [node("Exp", ["x"], ["a"]), node("Identity", ["a"], ["y"])]
    twice = [node("Exp", ["x"], ["a"]), node("Identity", ["a"], ["b"]), node("Identity", ["b"], ["y"])]
    for name, nodes in (("once", once), ("twice", twice)):
        ends = [[onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [3])] for n in ("x", "y")]
        model = onnx.helper.make_model(
            onnx.helper.make_graph(nodes, "g", *ends), opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9
        )
        onnx.save(model, tmp_path / f"{name}.onnx")
        files.append(read_written(str(tmp_path / f"{name}.onnx")))
    found = difference(*files)
    assert not found.is_same
    assert found.mathematics is not None
    assert (lines_of(found), found.mathematics.hidden > 0) == ([], True)


def test_a_type_that_begins_is_told_beside_the_statement(tmp_path: Path) -> None:
    def widened(w: Any, x: Any) -> Any:
        hidden = np.tanh(x @ w).astype(np.float64)
        return np.sum(hidden * hidden)

    lines = lines_of(compared(bent, widened, tmp_path, mode="value"))
    assert any("float64" in line for line in lines if line.startswith("+"))


def test_without_mathematics_nodes_are_shown(tmp_path: Path) -> None:
    kind = onnx.TensorProto.BFLOAT16
    files = []
    for operator in ("Add", "Mul"):
        ends = [[onnx.helper.make_tensor_value_info(n, kind, [3])] for n in ("x", "y")]
        held = onnx.helper.make_tensor("c", kind, [3], [1.0, 2.0, 3.0])
        node = onnx.helper.make_node(operator, ["x", "c"], ["y"])
        graph = onnx.helper.make_graph([node], "g", *ends, initializer=[held])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9)
        onnx.save(model, tmp_path / f"{operator}.onnx")
        files.append(read_written(str(tmp_path / f"{operator}.onnx")))
    found = difference(*files)
    assert found.mathematics is None
    assert lines_of(found) == ["- y = Add(x, c)", "+ y = Mul(x, c)"]

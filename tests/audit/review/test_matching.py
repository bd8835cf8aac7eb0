"""Which statements of one file are those of the other."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx

import primsplit as ps
from primsplit.audit.review.difference import Difference, difference
from primsplit.audit.written import read_written

X = np.linspace(0.5, 1.5, 3, dtype=np.float32)
Rows = list[tuple[str, str, str]]


def rows(found: Difference) -> Rows:
    """The status and the first lines of each change."""
    sides = ((c.status, c.before, c.after) for c in found.changes)
    return [(s, "" if a is None else a.lines[0], "" if b is None else b.lines[0]) for s, a, b in sides]


def compared(old: Any, new: Any, folder: Path) -> Difference:
    """The difference of two functions' files, without derivatives."""
    paths = [ps.export(f, X, path=folder / f"{n}.onnx", mode="value")[0] for n, f in (("old", old), ("new", new))]
    return difference(*map(read_written, paths))


def test_a_step_between_a_variable_and_its_value_leaves_the_readers(tmp_path: Path) -> None:
    """The readers of `h` are the same, though another op computes what `h` was."""

    def old(x: Any) -> Any:
        h = np.tanh(x)
        return np.exp(h) * h

    def new(x: Any) -> Any:
        h = np.tanh(x) * 2.0
        return np.exp(h) * h

    assert rows(compared(old, new, tmp_path)) == [
        ("added", "", "tanh_x = Tanh(x)"),
        ("changed", "h = Tanh(x)", "h = Mul(tanh_x, 2.0)"),
    ]


def test_a_step_behind_a_temporary_changes_its_reader(tmp_path: Path) -> None:
    def old(x: Any) -> Any:
        return np.exp(np.tanh(x))

    def new(x: Any) -> Any:
        return np.exp(np.abs(np.tanh(x)))

    assert rows(compared(old, new, tmp_path)) == [
        ("added", "", "abs_x = Abs(tanh_x)"),
        ("changed", "y = Exp(tanh_x)", "y = Exp(abs_x)"),
    ]


def test_operands_that_change_their_place_keep_their_partners(tmp_path: Path) -> None:
    """No reader reads the two Exp in one place: their operator and operands pair them."""

    def old(x: Any) -> Any:
        return np.exp(x * 2.0) - 1.0

    def new(x: Any) -> Any:
        return 1.0 - np.exp(x * 3.0)

    found = rows(compared(old, new, tmp_path))
    assert [row[0] for row in found] == ["changed", "changed"]
    assert [[text.split(" = ")[1][:3] for text in row[1:]] for row in found] == [["Mul", "Mul"], ["Sub", "Sub"]]


def test_swapped_variables_are_two_changes(tmp_path: Path) -> None:
    def old(x: Any) -> Any:
        a = np.tanh(x)
        b = np.exp(x)
        return a / b

    def new(x: Any) -> Any:
        a = np.exp(x)
        b = np.tanh(x)
        return a / b

    assert {row[0] for row in rows(compared(old, new, tmp_path))} == {"changed"}
    assert {row[1:] for row in rows(compared(old, new, tmp_path))} == {
        ("a = Tanh(x)", "a = Exp(x)"),
        ("b = Exp(x)", "b = Tanh(x)"),
    }


def test_changes_far_apart_are_found_alone(tmp_path: Path) -> None:
    def chain(first: Any, last: Any) -> Any:
        def function(x: Any) -> Any:
            x = first(x)
            for _ in range(4):
                x = np.sqrt(x + 1.0)
            return last(x) * 2.0

        return function

    found = rows(compared(chain(np.tanh, np.exp), chain(np.abs, np.log), tmp_path))
    assert [row[0] for row in found] == ["changed", "changed"]
    assert [(a.split(" = ")[1][:3], b.split(" = ")[1][:3]) for _, a, b in found] == [("Tan", "Abs"), ("Exp", "Log")]


def test_a_change_in_a_loop_is_shown_inside_of_it(tmp_path: Path) -> None:
    def looped(step: Any) -> Any:
        return lambda x: ps.fori_loop(0, 50, lambda i, c: step(c) + 1.0, x)

    (change,) = compared(looped(np.tanh), looped(np.sin), tmp_path).changes
    assert (change.status, change.nodes) == ("changed", 1)
    assert len(change.inside) == 2
    assert change.inside[1] == "body"


def test_statements_of_model_local_functions_are_compared(tmp_path: Path) -> None:
    files = []
    for name, function in (("old", np.tanh), ("new", np.sin)):

        def layer(x: Any, function: Any = function) -> Any:
            return np.sum(function(x))

        (path,) = ps.export(layer, X, path=tmp_path / f"{name}.onnx", form="functions")
        files.append(read_written(path))
    found = difference(*files)
    assert ("changed", "sin_x = Tanh(x)", "sin_x = Sin(x)") in rows(found)
    assert not found.is_same


def test_renumbered_names_of_a_file_from_elsewhere_are_no_difference(tmp_path: Path) -> None:
    """A first node that is new shifts the numbers of all names behind it."""
    node = onnx.helper.make_node
    old = [node("Mul", ["x", "x"], ["Mul_0"]), node("Mul", ["Mul_0", "x"], ["Mul_1"]), node("Exp", ["Mul_1"], ["y"])]
    new = [
        node("Mul", ["x", "x"], ["Mul_0"]),
        node("Tanh", ["x"], ["Tanh_0"]),
        node("Mul", ["x", "x"], ["Mul_1"]),
        node("Mul", ["Mul_1", "x"], ["Mul_2"]),
        node("Add", ["Tanh_0", "Mul_0"], ["Add_0"]),
        node("Exp", ["Mul_2"], ["y"]),
    ]
    for name, nodes in (("old", old), ("new", new)):
        info = onnx.helper.make_tensor_value_info
        ends = [[info(n, onnx.TensorProto.FLOAT, [3])] for n in ("x", "y")]
        graph = onnx.helper.make_graph(nodes, "g", *ends)
        imports = [onnx.helper.make_opsetid("", 20)]
        onnx.save(onnx.helper.make_model(graph, opset_imports=imports, ir_version=9), tmp_path / f"{name}.onnx")
    found = difference(*(read_written(str(tmp_path / f"{n}.onnx")) for n in ("old", "new")))
    assert {row[0] for row in rows(found)} == {"added"}
    assert len(found.changes) == 3

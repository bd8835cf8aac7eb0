"""The statements, arrays and types in which two files differ."""

import copy
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.audit.review.difference import Difference, difference
from primsplit.audit.written import read_written
from primsplit.cli.options import Exported, FunctionDerivation
from primsplit.programs.export import save_derived

X = np.linspace(-1.0, 1.0, 6, dtype=np.float32).reshape(2, 3)
W = np.linspace(0.5, 1.5, 12, dtype=np.float32).reshape(3, 4)
Function = Callable[..., Any]


def relu(w: Any, x: Any) -> Any:
    hidden = np.maximum(x @ w, 0.0)
    return np.sum(hidden * hidden)


def bent(w: Any, x: Any) -> Any:
    hidden = np.tanh(x @ w)
    return np.sum(hidden * hidden)


def compared(old: Function, new: Function, folder: Path, *arrays: Any, **options: Any) -> Difference:
    """The difference of the files of two functions."""
    arrays = arrays or (W, X)
    files = []
    for name, function in (("old", old), ("new", new)):
        (path,) = ps.export(function, *arrays, path=folder / f"{name}.onnx", **options)
        files.append(read_written(path))
    return difference(*files)


def told(found: Difference, side: str = "after") -> list[str]:
    """The statements that changed, of one side."""
    listed = (getattr(change, side) for change in found.changes)
    return [line for one in listed if one is not None for line in one.lines]


def test_a_file_does_not_differ_from_itself(tmp_path: Path) -> None:
    found = compared(relu, relu, tmp_path)
    assert found.is_same
    assert (found.changes, found.moved, found.renamed) == ((), 0, {})
    assert sum(c["same"] for c in found.counts.values()) == len([*found.before.ops()])


def test_relu_to_tanh_changes_the_statements_of_its_line_alone(tmp_path: Path) -> None:
    found = compared(relu, bent, tmp_path)
    assert not found.is_same
    sources = {
        s.place.source for c in found.changes for s in (c.before, c.after) if s is not None and s.place is not None
    }
    assert sources == {"hidden = np.maximum(x @ w, 0.0)", "hidden = np.tanh(x @ w)"}
    assert "hidden = Tanh(matmul_x)" in told(found)
    assert {c.status for c in found.changes if c.section == "forward"} <= {"changed", "removed"}


def test_another_constant_is_a_changed_statement(tmp_path: Path) -> None:
    def half(w: Any, x: Any) -> Any:
        return 0.5 * np.sum(np.tanh(x @ w))

    def quarter(w: Any, x: Any) -> Any:
        return 0.25 * np.sum(np.tanh(x @ w))

    found = compared(half, quarter, tmp_path)
    (forward,) = (c for c in found.changes if c.section == "forward")
    assert (forward.status, forward.nodes) == ("changed", 1)
    assert forward.before is not None
    assert forward.after is not None
    assert ("0.5" in forward.before.lines[0], "0.25" in forward.after.lines[0]) == (True, True)


def test_another_array_is_told_with_its_digests_and_its_distance(tmp_path: Path) -> None:
    def scaled(by: Any) -> Function:
        return lambda w, x: np.sum((x @ w) * by)

    by = np.linspace(1.0, 2.0, 8, dtype=np.float32).reshape(2, 4)
    other = by.copy()
    other[1, 2] += 0.125
    found = compared(scaled(by), scaled(other), tmp_path)
    assert [row["difference"] for row in found.arrays] == [0.125]
    assert found.arrays[0]["before"]["sha256"] != found.arrays[0]["after"]["sha256"]
    assert found.changes == ()
    assert not found.is_same


def test_a_dropped_op_is_found(tmp_path: Path) -> None:
    def shifted(w: Any, x: Any) -> Any:
        hidden = np.tanh(x @ w + 3.0)
        return np.sum(hidden)

    def plain(w: Any, x: Any) -> Any:
        hidden = np.tanh(x @ w)
        return np.sum(hidden)

    found = compared(shifted, plain, tmp_path)
    assert any("3.0" in line for line in told(found, "before"))
    assert "hidden = Tanh(matmul_x)" in told(found)
    assert {c.section for c in found.changes} == {"forward"}


def test_another_branch_is_found_and_the_other_side_is_not_shown(tmp_path: Path) -> None:
    def cubed(x: Any) -> Any:
        total = np.sum(x)
        return total**3 if total > 1 else total**2

    def fourth(x: Any) -> Any:
        total = np.sum(x)
        return total**4 if total > 1 else total**2

    found = compared(cubed, fourth, tmp_path, X)
    forward = [c for c in found.changes if c.section == "forward"]
    assert {c.inside[1] for c in forward if c.inside} == {"then_branch"}
    assert [line for c in forward if c.after for line in c.after.lines] == ["mul_total = Mul(mul_total_1, mul_total_1)"]


def test_other_dtypes_of_inputs_are_told_as_such_and_count_the_statements_that_follow(tmp_path: Path) -> None:
    files = []
    for dtype in ("float32", "float64"):
        (path,) = ps.export(bent, W.astype(dtype), X.astype(dtype), path=tmp_path / f"{dtype}.onnx")
        files.append(read_written(path))
    found = difference(*files)
    assert [(row["name"], row["before"], row["after"]) for row in found.inputs] == [
        ("w", "float32[3,4]", "float64[3,4]"),
        ("x", "float32[2,3]", "float64[2,3]"),
    ]
    assert found.retyped > 3
    assert found.changes == ()


def test_a_silent_promotion_is_found_where_it_begins(tmp_path: Path) -> None:
    def promoted(w: Any, x: Any) -> Any:
        hidden = np.tanh(x @ w).astype(np.float64)
        return np.sum(hidden * hidden)

    found = compared(bent, promoted, tmp_path)
    assert any("to=float64" in line for line in told(found))
    assert found.retyped > 0


def test_another_rule_of_the_users_is_found_at_the_line_of_its_call(tmp_path: Path) -> None:
    def ruled(factor: float) -> Function:
        @ps.primitive
        def soft(x: Any) -> Any:
            return np.log1p(np.exp(x))

        @ps.rrule(soft)
        def rule(x: Any) -> Any:
            return soft(x), lambda dy: factor * dy / (1.0 + np.exp(-x))

        return lambda x: np.sum(soft(x))

    found = compared(ruled(1.0), ruled(1.5), tmp_path, X)
    assert {c.section for c in found.changes} == {"backward"}
    assert any("1.5" in line for line in told(found))


def test_a_renamed_variable_is_told_and_is_no_difference(tmp_path: Path) -> None:
    def named(w: Any, x: Any) -> Any:
        h = np.maximum(x @ w, 0.0)
        return np.sum(h * h)

    found = compared(relu, named, tmp_path)
    assert found.is_same
    assert found.renamed["hidden"] == "h"
    assert found.moved > 0


def test_another_name_of_an_input_is_a_difference_of_inputs_alone(tmp_path: Path) -> None:
    def named(weight: Any, x: Any) -> Any:
        hidden = np.maximum(x @ weight, 0.0)
        return np.sum(hidden * hidden)

    found = compared(relu, named, tmp_path)
    assert {row["name"] for row in found.inputs} == {"w", "weight"}
    assert {row["name"] for row in found.outputs} == {"d_w", "d_weight"}
    assert not found.is_same


def test_another_first_value_of_a_state_is_a_difference(tmp_path: Path) -> None:
    def counted(first: float) -> Function:
        total = ps.state("total", np.float32(first))

        def step(x: Any) -> Any:
            total[...] = total + np.sum(x)
            return total + 0.0

        return step

    found = compared(counted(0.0), counted(1.0), tmp_path, X, mode="value")
    assert [row["name"] for row in found.states] == ["total"]


def test_other_versions_of_operators_are_a_difference(tmp_path: Path) -> None:
    (path,) = ps.export(bent, W, X, path=tmp_path / "old.onnx")
    model = onnx.load(path)
    model.opset_import[0].version += 1
    onnx.save(model, tmp_path / "new.onnx")
    found = difference(read_written(path), read_written(str(tmp_path / "new.onnx")))
    assert [(r["name"], int(r["after"]) - int(r["before"])) for r in found.opsets] == [("ai.onnx", 1)]


def test_the_order_of_independent_nodes_is_no_difference(tmp_path: Path) -> None:
    node = onnx.helper.make_node
    nodes = [node("Exp", ["x"], ["a"]), node("Tanh", ["x"], ["b"]), node("Add", ["a", "b"], ["y"])]
    for name, order in (("old", nodes), ("new", [nodes[1], nodes[0], nodes[2]])):
        _save(order, tmp_path / f"{name}.onnx")
    found = difference(*(read_written(str(tmp_path / f"{n}.onnx")) for n in ("old", "new")))
    assert found.is_same


def test_an_output_that_is_another_value_is_found_though_no_statement_is_another(tmp_path: Path) -> None:
    node = onnx.helper.make_node
    nodes = [node("Exp", ["x"], ["a"]), node("Tanh", ["x"], ["b"])]
    swapped = [node("Exp", ["x"], ["b"]), node("Tanh", ["x"], ["a"])]
    for name, order in (("old", nodes), ("new", swapped)):
        _save(order, tmp_path / f"{name}.onnx", outputs=("a", "b"))
    found = difference(*(read_written(str(tmp_path / f"{n}.onnx")) for n in ("old", "new")))
    assert not found.is_same


def test_a_changed_default_of_an_input_is_found(tmp_path: Path) -> None:
    for name, number in (("old", 2.0), ("new", 3.0)):
        path = tmp_path / f"{name}.onnx"
        _save([onnx.helper.make_node("Mul", ["x", "w"], ["y"])], path, inputs=("x", "w"))
        model = onnx.load(path)
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.full(3, number, np.float32), "w"))
        onnx.save(model, path)
    found = difference(*(read_written(str(tmp_path / f"{n}.onnx")) for n in ("old", "new")))
    assert [(row["name"], row["difference"]) for row in found.arrays] == [("w", 1.0)]


def _save(nodes: Any, path: Path, inputs: Any = ("x",), outputs: Any = ("y",)) -> None:
    def info(name: str) -> Any:
        return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3])

    graph = onnx.helper.make_graph(nodes, "g", [*map(info, inputs)], [*map(info, outputs)])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9), path)


MODELS = sorted((Path(__file__).parents[3] / "models").glob("*.py"))
OTHERS = {
    "Add": "Sub",
    "Mul": "Div",
    "Sub": "Add",
    "Div": "Mul",
    "Tanh": "Exp",
    "Exp": "Tanh",
    "Log": "Exp",
    "Neg": "Abs",
}


@pytest.mark.slow
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_another_operator_of_any_node_of_a_model_is_one_changed_statement(path: Path, tmp_path: Path) -> None:
    made = Exported(str(path), FunctionDerivation(), quiet=True)
    (written,) = save_derived(made.derived, str(tmp_path / "old.onnx"), made.mode, "joint")
    before, model = read_written(written), onnx.load(written)
    assert difference(before, read_written(written)).is_same
    nodes = [i for i, node in enumerate(model.graph.node) if node.op_type in OTHERS]
    for i in random.Random(0).sample(nodes, min(10, len(nodes))):
        planted = copy.deepcopy(model)
        planted.graph.node[i].op_type = OTHERS[planted.graph.node[i].op_type]
        onnx.save(planted, tmp_path / "new.onnx")
        found = difference(before, read_written(str(tmp_path / "new.onnx")))
        assert [c.status for c in found.changes] == ["changed"]

"""A file is read as it is, an op for each node."""

import itertools
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import primsplit as ps
from primsplit.audit.file_listing import list_file
from primsplit.audit.written import read_written
from primsplit.ir.errors import FileError, ParseError


def test_an_operator_and_a_type_that_nobody_knows_are_listed(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [
            helper.make_node("Odd", ["x"], ["a", "b"], domain="my.domain", level=3, texts=["p", "q"]),
            helper.make_node("SequenceConstruct", ["a", "b"], ["s"]),
        ],
        "g",
        [helper.make_tensor_value_info("x", 1, None)],
        [helper.make_tensor_sequence_value_info("s", 1, ["N"])],
    )
    domains = [helper.make_opsetid("", 21), helper.make_opsetid("my.domain", 1)]
    onnx.save(helper.make_model(graph, opset_imports=domains), tmp_path / "m.onnx")
    (text,) = list_file(read_written(str(tmp_path / "m.onnx")))
    assert text.splitlines() == [
        "g(x: float32[...]):",
        "  a, b                    = my.domain::Odd(x, level=3, texts=['p', 'q'])",
        "  s: sequence(float32[N]) = SequenceConstruct(a, b)",
        "  return s",
    ]


def test_a_graph_inside_reads_the_values_around_it(tmp_path: Path) -> None:
    path = tmp_path / "f.onnx"
    ps.trace(lambda x: ps.cond(x[0] > 0, lambda: x * 2.0, lambda: x), np.ones(3)).save(path)
    written = read_written(str(path))
    (op,) = (op for op in written.block.ops if op.kind == "If")
    inside = [inner.kind for block in op.blocks() for inner in block.ops]
    assert inside == ["Mul", "Identity"]
    assert {v for block in op.blocks() for inner in block.ops for v in inner.inputs} >= {written.block.params[0]}


def test_a_default_of_an_input_is_an_input_and_a_constant(tmp_path: Path) -> None:
    model = ps.load(_weighted(tmp_path))
    ps.split(model, wrt="W").save(tmp_path / "g.onnx", weights="defaults")
    written = read_written(str(tmp_path / "g.onnx"))
    assert written.inputs == ("x", "W", "d_y")
    assert "W" in written.held
    assert written.block.ops[0].inputs == (written.block.params[0], written.block.params[1])


def _weighted(folder: Path) -> str:
    ends = [helper.make_tensor_value_info(name, 1, [3]) for name in "xy"]
    weight = helper.make_tensor("W", 1, [3], [1.0, 2.0, 3.0])
    graph = helper.make_graph([helper.make_node("Mul", ["x", "W"], ["y"])], "g", ends[:1], ends[1:], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), folder / "m.onnx")
    return str(folder / "m.onnx")


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"no model")
    with pytest.raises(ParseError, match="no valid model"):
        read_written(str(tmp_path / "m.onnx"))
    with pytest.raises(FileError, match="No such file"):
        read_written(str(tmp_path / "none.onnx"))
    node = helper.make_node("Tanh", ["gone"], ["y"])
    graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("y", 1, [3])])
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    with pytest.raises(ParseError, match="no valid model"):
        read_written(str(tmp_path / "m.onnx"))


INVALID = {
    "an operator that lacks an input": helper.make_node("Where", ["x"], ["y"]),
    "a branch without sides": helper.make_node("If", ["x"], ["y"]),
    "an attribute of another type": helper.make_node("Softmax", ["x"], ["y"], axis="last"),
    "an attribute without a type": onnx.NodeProto(
        op_type="Softmax", input=["x"], output=["y"], attribute=[onnx.AttributeProto(name="axis")]
    ),
    "no operator": helper.make_node("", ["x"], ["y"]),
    "a function that calls itself": helper.make_node("Again", ["x"], ["y"], domain="my"),
    "functions of 3 ** 20 nodes": helper.make_node("F0", ["x"], ["y"], domain="my"),
}


@pytest.mark.parametrize("node", INVALID.values(), ids=INVALID)
def test_a_model_that_is_not_valid_is_refused_as_it_is_when_loaded(tmp_path: Path, node: onnx.NodeProto) -> None:
    domains = [helper.make_opsetid("", 21), helper.make_opsetid("my", 1)]
    again = helper.make_node("Again", ["x"], ["y"], domain="my")
    functions = [helper.make_function("my", "Again", ["x"], ["y"], [again], domains)]
    for i in range(20):
        following = (f"F{i + 1}", "my") if i < 19 else ("Neg", "")
        nodes = [helper.make_node(following[0], [a], [b], domain=following[1]) for a, b in itertools.pairwise("xsty")]
        functions.append(helper.make_function("my", f"F{i}", ["x"], ["y"], nodes, domains))
    used = [f for f in functions if node.domain == "my" and (f.name == "Again") == (node.op_type == "Again")]
    ends = [helper.make_tensor_value_info(name, 1, [3]) for name in "xy"]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:])
    path = str(tmp_path / "m.onnx")
    onnx.save(helper.make_model(graph, opset_imports=domains, functions=used, ir_version=10), path)
    with pytest.raises(ParseError) as told:
        read_written(path)
    with pytest.raises(ParseError) as loaded:
        ps.load(path)
    assert str(told.value) == str(loaded.value)


def test_nodes_before_those_that_they_read_are_listed_behind_them(tmp_path: Path) -> None:
    ends = [helper.make_tensor_value_info(name, 1, [3]) for name in "xy"]
    nodes = [helper.make_node("Exp", ["a"], ["y"]), helper.make_node("Sin", ["x"], ["a"])]
    opset = [helper.make_opsetid("", 21)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:]), opset_imports=opset), tmp_path / "m")
    written = read_written(str(tmp_path / "m"))
    assert [(op.kind, str(op.outputs[0].type)) for op in written.block.ops] == [
        ("Sin", "float32[3]"),
        ("Exp", "float32[3]"),
    ]

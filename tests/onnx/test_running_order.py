"""Nodes in an order that can be run: each behind those that it reads, also inside of its graphs."""

import onnx
import onnx.helper as h

from primsplit.onnx.running_order import in_running_order


def model(*nodes: onnx.NodeProto) -> onnx.ModelProto:
    """A model of these nodes."""
    value = h.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])
    return h.make_model(h.make_graph(nodes, "g", [value], [h.make_tensor_value_info("z", 1, [2])]))


def kinds(graph: onnx.GraphProto) -> list[str]:
    """The operators in order."""
    return [node.op_type for node in graph.node]


def test_nodes_move_behind_those_they_read_and_others_stay() -> None:
    nodes = [h.make_node(k, [a], [b]) for k, a, b in (("Exp", "y", "z"), ("Neg", "x", "v"), ("Sin", "x", "y"))]
    assert kinds(in_running_order(model(*nodes)).graph) == ["Neg", "Sin", "Exp"]
    assert kinds(in_running_order(model(*nodes[1:], nodes[0])).graph) == ["Neg", "Sin", "Exp"]


def test_what_a_graph_inside_reads_comes_first_and_the_graph_is_sorted_too() -> None:
    inner = h.make_graph(
        [h.make_node("Exp", ["b"], ["c"]), h.make_node("Neg", ["y"], ["b"])], "then", [],
        [h.make_tensor_value_info("c", 1, [2])],
    )  # fmt: skip
    branch = h.make_node("If", ["x"], ["z"], then_branch=inner, else_branch=inner)
    graph = in_running_order(model(branch, h.make_node("Sin", ["x"], ["y"]))).graph
    assert kinds(graph) == ["Sin", "If"]
    assert kinds(graph.node[1].attribute[0].g) == ["Neg", "Exp"]


def test_a_cycle_is_left_as_it_is() -> None:
    nodes = [h.make_node("Exp", ["a"], ["b"]), h.make_node("Sin", ["b"], ["a"]), h.make_node("Neg", ["x"], ["z"])]
    assert kinds(in_running_order(model(*nodes)).graph) == ["Exp", "Sin", "Neg"]

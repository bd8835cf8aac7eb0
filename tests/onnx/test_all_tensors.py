"""Every tensor of a model is found, wherever it stands."""

import onnx
from onnx import helper

from primsplit.onnx.all_tensors import all_tensors

FLOAT = onnx.TensorProto.FLOAT


def tensor(name: str) -> onnx.TensorProto:
    return helper.make_tensor(name, FLOAT, [1], [1.0])


def sparse(name: str) -> onnx.SparseTensorProto:
    indices = helper.make_tensor(f"{name} indices", onnx.TensorProto.INT64, [1], [0])
    return helper.make_sparse_tensor(tensor(f"{name} values"), indices, [4])


def graph(name: str) -> onnx.GraphProto:
    constant = helper.make_node("Constant", [], [f"{name} y"], value=tensor(f"{name} attribute"))
    return helper.make_graph([constant], name, [], [], [tensor(f"{name} initializer")])


def test_all_are_found() -> None:
    branches = helper.make_node("If", ["c"], ["z"], then_branch=graph("then"), else_branch=graph("else"))
    lists = helper.make_node("Lists", [], ["l"], domain="own")
    lists.attribute.append(helper.make_attribute("tensors", [tensor("of a list")]))
    lists.attribute.append(helper.make_attribute("sparse", sparse("attribute")))
    lists.attribute.append(helper.make_attribute("many", [sparse("of many")]))
    lists.attribute.append(helper.make_attribute("graphs", [graph("of graphs")]))
    whole = graph("main")
    whole.node.extend([branches, lists])
    whole.sparse_initializer.append(sparse("sparse"))
    inner = helper.make_node("Constant", [], ["y"], value=tensor("of a function"))
    function = helper.make_function("own", "F", [], ["y"], [inner], [helper.make_opsetid("", 21)])
    function.attribute_proto.append(helper.make_attribute("default", tensor("default")))
    model = helper.make_model(whole, functions=[function])
    training = model.training_info.add()
    training.initialization.CopyFrom(graph("initialization"))
    training.algorithm.CopyFrom(graph("algorithm"))
    graphs = ("main", "then", "else", "of graphs", "initialization", "algorithm")
    wanted = {f"{name} {kind}" for name in graphs for kind in ("attribute", "initializer")}
    wanted |= {f"{name} {kind}" for name in ("attribute", "of many", "sparse") for kind in ("values", "indices")}
    wanted |= {"of a list", "of a function", "default"}
    found = [each.name for each in all_tensors(model)]
    assert set(found) == wanted
    assert len(found) == len(wanted)

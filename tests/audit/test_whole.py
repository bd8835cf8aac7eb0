"""Functions of a file stand in the place of their calls."""

from pathlib import Path

import numpy as np
import onnx
from onnx import helper

import primsplit as ps
from primsplit.audit.whole import whole
from primsplit.audit.written import read_written
from primsplit.testing.reference import evaluate


def bent(w: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.tanh(x @ w) ** 2


def test_the_graph_without_calls_computes_the_same(tmp_path: Path) -> None:
    w, x = np.linspace(-1, 1, 3), np.linspace(0, 1, 6).reshape(2, 3)
    values = {}
    for form in ("joint", "functions"):
        (path,) = ps.export(bent, w, x, path=tmp_path / f"{form}.onnx", form=form)
        graph = whole(read_written(str(path)))
        assert not any("::" in op.kind for op in graph.block.ops)
        values[form] = evaluate(graph.block, [w, x, np.ones(2)])
        named = dict(zip(graph.file.outputs, graph.block.results, strict=True))
        assert [graph.names[v] for v in named.values()] == [*named]
    for one, other in zip(values["joint"], values["functions"], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_a_node_of_the_graph_tells_its_name_and_line(tmp_path: Path) -> None:
    (path,) = ps.export(bent, np.ones(3), np.ones((2, 3)), path=tmp_path / "f.onnx")
    graph = whole(read_written(str(path)))
    (tanh,) = (op for op in graph.block.ops if op.kind == "Tanh")
    told = graph.about(tanh)
    assert told["operator"] == "Tanh"
    assert told["place"].startswith("test_whole.py:")
    assert told["source"] == "return np.tanh(x @ w) ** 2"
    assert "Tanh" in told["node"]


def test_an_attribute_that_a_call_gives_or_a_default_is_that_of_the_copied_node(tmp_path: Path) -> None:
    domains = [helper.make_opsetid("", 21), helper.make_opsetid("my", 1)]
    leaky, half = helper.make_node("LeakyRelu", ["x"], ["a"]), helper.make_node("Constant", [], ["c"])
    leaky.attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope")
    half.attribute.add(name="value_float", type=onnx.AttributeProto.FLOAT, ref_attr_name="share")
    inner = [leaky, half, helper.make_node("Mul", ["a", "c"], ["y"])]
    bent = helper.make_function("my", "Bent", ["x"], ["y"], inner, domains, ["slope"])
    bent.attribute_proto.append(helper.make_attribute("share", 0.25))
    nodes = [
        helper.make_node("Bent", ["x"], ["h"], domain="my", slope=0.5),
        helper.make_node("Bent", ["h"], ["y"], domain="my", slope=2.0, share=-3.0),
    ]
    ends = [helper.make_tensor_value_info(name, 1, [2]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    path = str(tmp_path / "m.onnx")
    onnx.save(helper.make_model(graph, opset_imports=domains, functions=[bent], ir_version=10), path)
    x = np.array([-4.0, 4.0], np.float32)
    (found,) = evaluate(whole(read_written(path)).block, [x])
    np.testing.assert_allclose(found, [-4 * 0.5 * 0.25 * 2 * -3, 4 * 0.25 * -3])
    np.testing.assert_allclose(found, ps.load(path)(x))

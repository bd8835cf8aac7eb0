"""A small model, and what may be changed in it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

W = np.arange(6, dtype=np.float32).reshape(3, 2)
Edit = Callable[[onnx.ModelProto], Any]


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def linear() -> onnx.ModelProto:
    """tanh(x @ W)."""
    graph = helper.make_graph(
        [node("MatMul", "x W", "z"), node("Tanh", "z", "y")],
        "linear",
        [helper.make_tensor_value_info("x", 1, ["N", 3])],
        [helper.make_tensor_value_info("y", 1, ["N", 2])],
        [numpy_helper.from_array(W, "W")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def written(folder: Path, model: onnx.ModelProto | bytes) -> str:
    path = folder / "model.onnx"
    path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    return str(path)


def with_nodes(*nodes: onnx.NodeProto) -> Edit:
    def edit(model: onnx.ModelProto) -> None:
        del model.graph.node[:]
        model.graph.node.extend(nodes)

    return edit


def twice(field: str) -> Edit:
    def edit(model: onnx.ModelProto) -> None:
        values = getattr(model.graph, field)
        values.add().CopyFrom(values[0])

    return edit


def opsets(*versions: int) -> Edit:
    def edit(model: onnx.ModelProto) -> None:
        del model.opset_import[:]
        model.opset_import.extend(helper.make_opsetid("", v) for v in versions)

    return edit


def weights(**fields: Any) -> Edit:
    """The tensor W with other fields; dims as a list."""

    def edit(model: onnx.ModelProto) -> None:
        tensor = model.graph.initializer[0]
        for name, value in fields.items():
            tensor.ClearField(name)
            if isinstance(value, list):
                getattr(tensor, name).extend(value)
            elif value is not None:
                setattr(tensor, name, value)

    return edit


def external(**entries: Any) -> Edit:
    def edit(model: onnx.ModelProto) -> None:
        tensor = model.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=str(value))

    return edit


def attribute(**fields: Any) -> Edit:
    """The first node a Softmax whose attribute `axis` has other fields."""

    def edit(model: onnx.ModelProto) -> None:
        with_nodes(node("Softmax", "x", "y", axis=1))(model)
        for name, value in fields.items():
            setattr(model.graph.node[0].attribute[0], name, value)

    return edit


def sparse(indices: object, dims: Sequence[int] = (3, 2), count: int = 1) -> Edit:
    """The weights with `count` ones at indices."""
    values, places = (
        numpy_helper.from_array(np.ones(count, np.float32), "W"),
        numpy_helper.from_array(np.array(indices)),
    )

    def edit(model: onnx.ModelProto) -> None:
        del model.graph.initializer[:]
        model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, dims))

    return edit


def functions(*calls: str) -> Edit:
    """The local function f0 and so on, which call these functions."""

    def edit(model: onnx.ModelProto) -> None:
        imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
        for i, called in enumerate(calls):
            body = [helper.make_node(called, ["a"], ["c"], domain="own")]
            model.functions.append(helper.make_function("own", f"f{i}", ["a"], ["c"], body, imports))
        model.opset_import.append(helper.make_opsetid("own", 1))
        with_nodes(helper.make_node("f0", ["x"], ["y"], domain="own"))(model)

    return edit


def doubling(model: onnx.ModelProto) -> None:
    """Thirty functions, each of which calls the one before twice: 2**30 nodes once they are inlined."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    body = [node("Neg", "a", "c")]
    for i in range(31):
        model.functions.append(helper.make_function("own", f"f{i}", ["a"], ["c"], body, imports))
        body = [helper.make_node(f"f{i}", [a], [c], domain="own") for a, c in (("a", "b"), ("b", "c"))]
    model.opset_import.append(helper.make_opsetid("own", 1))
    with_nodes(helper.make_node("f30", ["x"], ["y"], domain="own"))(model)


def field(path: str, value: Any) -> Edit:
    """Set what is at a path like `graph.input.0.name`."""

    def edit(model: onnx.ModelProto) -> None:
        *way, last = path.split(".")
        found: Any = model
        for step in way:
            found = found[int(step)] if step.isdigit() else getattr(found, step)
        setattr(found, last, value)

    return edit


def cleared(path: str) -> Edit:
    def edit(model: onnx.ModelProto) -> None:
        *way, last = path.split(".")
        found: Any = model
        for step in way:
            found = found[int(step)] if step.isdigit() else getattr(found, step)
        found.ClearField(last)

    return edit


def rank_two(*sizes: int) -> Edit:
    def edit(model: onnx.ModelProto) -> None:
        for dim, size in zip(model.graph.input[0].type.tensor_type.shape.dim, sizes, strict=True):
            dim.dim_value = size

    return edit


def remark(graph: onnx.GraphProto, text: str | None) -> None:
    """Give every node of a graph and of its sub-graphs this remark in its metadata, or none."""
    for each in graph.node:
        del each.metadata_props[:]
        if text is not None:
            each.metadata_props.add(key="remark", value=text)
        for attribute in each.attribute:
            remark(attribute.g, text)

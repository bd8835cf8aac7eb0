"""The nine networks that the onnx package brings along, with weights that tell something.

In the package their weights are constants, most of them 0.02 everywhere, behind which a wrong gradient can hide. Here
every weight is an input of the model, and `random_weights` draws numbers that keep the layers' outputs of one size.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
NAMES = sorted(path.stem.removeprefix("light_") for path in LIGHT.glob("*.onnx"))

Arrays = dict[str, np.ndarray[Any, Any]]


def light_network(name: str, *, double: bool = False) -> onnx.ModelProto:
    """The network with its image as the first input and its float weights as the others, perhaps all in float64."""
    model = onnx.load(LIGHT / f"light_{name}.onnx")
    graph = model.graph
    shapes = _weight_shapes(graph)
    image = next(i for i in graph.input if _rank(i) == 4 and i.name not in shapes)
    kept = [t for t in graph.initializer if t.name not in shapes]
    nodes = [n for n in graph.node if n.op_type != "ConstantOfShape"]
    dtype = TensorProto.DOUBLE if double else TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info(image.name, dtype, _shape(image))]
    inputs += [helper.make_tensor_value_info(key, dtype, shape) for key, shape in shapes.items()]
    outputs = [helper.make_tensor_value_info(graph.output[0].name, dtype, _shape(graph.output[0]))]
    read = {i for n in nodes for i in n.input}
    made = helper.make_graph(nodes, name, inputs, outputs, [t for t in kept if t.name in read])
    return helper.make_model(made, opset_imports=model.opset_import, ir_version=8)


def _weight_shapes(graph: onnx.GraphProto) -> dict[str, list[int]]:
    """The float constants of a graph: its initializers, and what ConstantOfShape makes."""
    tensors = {t.name: t for t in graph.initializer}
    read = {i for n in graph.node for i in n.input}
    shapes = {}
    for node in graph.node:
        if node.op_type == "ConstantOfShape" and node.output[0] in read:
            shapes[node.output[0]] = [int(d) for d in numpy_helper.to_array(tensors[node.input[0]])]
    for tensor in graph.initializer:
        if tensor.data_type == TensorProto.FLOAT and tensor.name in read:
            shapes[tensor.name] = list(tensor.dims)
    return shapes


def _rank(value: onnx.ValueInfoProto) -> int:
    return len(value.type.tensor_type.shape.dim)


def random_inputs(model: onnx.ModelProto, seed: int = 0) -> Arrays:
    """An image and weights: products with variance 2 / inputs, factors and variances around 1, summands around 0.

    Where branches are added up, the products have half of that variance.
    """
    random = np.random.default_rng(seed)
    places = _places(model.graph)
    gain = 1.0 if any(n.op_type == "Sum" for n in model.graph.node) else 2.0
    image, *weights = model.graph.input
    found = {image.name: random.standard_normal(_shape(image)).astype(np.float32)}
    for weight in weights:
        shape, (kind, position) = _shape(weight), places[weight.name]
        drawn = random.standard_normal(shape)
        if kind in {"Conv", "Gemm", "MatMul"} and position == 1:
            drawn *= np.sqrt(gain / np.prod(shape[1:]))
        elif (kind, position) in {("BatchNormalization", 1), ("BatchNormalization", 4), ("Mul", 1)}:
            drawn = random.uniform(0.5, 1.5, shape)
        else:
            drawn *= 0.1
        found[weight.name] = drawn.astype(np.float32)
    return found


def learned(model: onnx.ModelProto) -> list[str]:
    """The names of the weights but for BatchNormalization's mean and variance, which training does not learn."""
    places = _places(model.graph)
    statistics = {("BatchNormalization", 3), ("BatchNormalization", 4)}
    return [i.name for i in model.graph.input[1:] if places[i.name] not in statistics]


def _places(graph: onnx.GraphProto) -> dict[str, tuple[str, int]]:
    """The operator and position at which each input of the graph is read, through Unsqueeze."""
    found: dict[str, tuple[str, int]] = {}
    for node in reversed(graph.node):
        for position, name in enumerate(node.input):
            through = node.op_type in {"Unsqueeze", "Reshape"} and position == 0
            found[name] = found[node.output[0]] if through and node.output[0] in found else (node.op_type, position)
    return found


def _shape(value: onnx.ValueInfoProto) -> list[int]:
    return [d.dim_value for d in value.type.tensor_type.shape.dim]

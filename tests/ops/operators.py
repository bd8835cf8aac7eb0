"""Operators run on arrays: onnx's own node cases, some of our own for operators that have none, and the evaluators.

onnx's reference evaluator runs them, or onnxruntime where that has no implementation. Neither knows of primsplit.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.reference
import onnxruntime

from tools.node_cases import node_cases

Arrays = list[Any]
"""One array an input or output; None for an input that is left out."""
MOST = 4096
"""Cases with larger inputs are left out: small ones show the same."""


@dataclass
class Example:
    """One node with inputs that are tensors. `outputs` are what the evaluator makes of them."""

    kind: str
    name: str
    model: onnx.ModelProto
    inputs: Arrays

    def run(self, inputs: Sequence[Any]) -> Arrays | None:
        """The outputs for these inputs; None where no evaluator takes them."""
        arrays = {n: x for n, x in zip(self.names, inputs, strict=True) if x is not None}
        for evaluate in (self._by_reference, self._by_onnxruntime):
            try:
                with np.errstate(all="ignore"):
                    found = evaluate(arrays)
            except Exception:  # noqa: BLE001  # evaluators raise whatever they meet
                continue
            return [np.asarray(x) for x in found]
        return None

    @functools.cached_property
    def outputs(self) -> Arrays | None:
        """The outputs for the example's own inputs."""
        return self.run(self.inputs)

    @property
    def node(self) -> onnx.NodeProto:
        """The one node."""
        return self.model.graph.node[0]

    @property
    def names(self) -> list[str]:
        """The names of the inputs, "" for one that is left out."""
        return list(self.node.input)

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes that the node gives."""
        return {a.name: onnx.helper.get_attribute_value(a) for a in self.node.attribute}

    @functools.cached_property
    def _evaluator(self) -> onnx.reference.ReferenceEvaluator:
        return onnx.reference.ReferenceEvaluator(self.model)

    def _by_reference(self, arrays: dict[str, Any]) -> Sequence[Any]:
        return list(self._evaluator.run(None, arrays))

    def _by_onnxruntime(self, arrays: dict[str, Any]) -> Sequence[Any]:
        return list(self._session.run(None, arrays))

    @functools.cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        model = onnx.ModelProto.FromString(self.model.SerializeToString())
        for declared in (*model.graph.input, *model.graph.output):
            declared.type.tensor_type.ClearField("shape")
        return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def one_node(kind: str, inputs: Sequence[Any], dtype: Any = np.float32, **attributes: Any) -> Example:
    """A node of an operator of opset 21 with one output of this dtype."""
    names = [f"x{i}" for i in range(len(inputs))]
    declared = [
        onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in zip(names, inputs, strict=True)
    ]
    made = onnx.helper.make_tensor_value_info("y", onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), None)
    graph = onnx.helper.make_graph([onnx.helper.make_node(kind, names, ["y"], **attributes)], "g", declared, [made])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    return Example(kind, "own", model, [*inputs])


def _own() -> list[Example]:
    draw = np.random.default_rng(7)
    x = draw.normal(size=(3, 4)).astype(np.float32)
    picture = draw.normal(size=(1, 2, 5, 6)).astype(np.float32)
    small, one, zero = np.array([[1, 2], [3, 4]], np.uint8), np.float32(1), np.uint8(0)
    boxes = np.array([[0, 0, 0, 2, 2], [0, 1, 1, 4, 4]], np.float32)
    return [
        one_node("RandomNormal", [], shape=[3, 4]),
        one_node("RandomUniform", [], shape=[3, 4]),
        one_node("RandomNormalLike", [x]),
        one_node("RandomUniformLike", [x]),
        one_node("Multinomial", [np.log(np.abs(x) + 0.1)], np.int32, sample_size=8),
        one_node("GlobalLpPool", [picture]),
        one_node("MaxRoiPool", [picture, boxes], pooled_shape=[2, 2]),
        one_node("Cast", [x], np.float64, to=onnx.TensorProto.DOUBLE),
        one_node("CastLike", [x, np.ones(2)], np.float64),
        one_node("AffineGrid", [draw.normal(size=(1, 2, 3)).astype(np.float32), np.array([1, 1, 2, 3])]),
        one_node("MaxUnpool", [picture[:, :1, :2, :2], np.array([[[[0, 0], [5, 6]]]])], kernel_shape=[2, 2]),
        one_node("OneHot", [np.array([7, 7]), np.array(3), np.array([0.5, 2.5], np.float32)]),
        one_node("Pad", [x, np.array([-1, 0, 0, 1])]),
        one_node("Trilu", [x]),
        one_node("Dropout", [x, np.array(0.5, np.float32), np.array(True)]),
        one_node("ThresholdedRelu", [x], alpha=-1.0),
        one_node("Selu", [x], gamma=-1.0),
        one_node("Shrink", [x], lambd=0.5, bias=3.0),
        one_node("Gemm", [x, x.T], alpha=-1.0),
        one_node("LRN", [picture], size=1, alpha=0.0, beta=1.0, bias=-1.0),
        one_node("Range", [np.float32(-2), np.float32(2), np.float32(1)]),
        one_node("MatMulInteger", [small, small[0]], np.int32),
        one_node("NonZero", [np.ones((2, 2, 2), np.float32)], np.int64),
        one_node("QLinearMatMul", [small, one, zero, small[0], one, zero, one, zero], np.uint8),
        one_node("Unique", [x]),
        one_node("MatMul", [x[:, :3], x[:, 1:]]),
        one_node("Mish", [x]),
        one_node("MelWeightMatrix", [*map(np.int64, (8, 64, 8192)), np.float32(200), np.float32(4000)]),
        one_node("Det", [draw.normal(size=(2, 2)).astype(np.float32)]),
    ]


@functools.cache
def examples() -> dict[str, list[Example]]:
    """Examples by operator: nodes of the standard's own domain whose inputs and outputs are tensors."""
    found: dict[str, list[Example]] = {}
    for case in node_cases(None, ""):
        node = case.model.graph.node[0]
        if node.op_type.startswith("Optional"):
            continue  # Of a tensor they are Identity, of nothing they are not.
        if len(case.model.graph.node) > 1 or node.domain or len(case.inputs) != len([n for n in node.input if n]):
            continue
        if not all(isinstance(x, np.ndarray) and x.size <= MOST for x in (*case.inputs, *case.expected)):
            continue
        given = iter(case.inputs)
        inputs = [next(given) if name else None for name in node.input]
        found.setdefault(node.op_type, []).append(Example(node.op_type, case.name, case.model, inputs))
    for example in _own():
        found.setdefault(example.kind, []).append(example)
    return found


def same(a: Any, b: Any) -> bool:
    """Whether arrays are equal up to rounding; NaN equals NaN."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return bool(np.all(a == b)) if a.dtype.kind != "V" else a.tobytes() == b.tobytes()
    return bool(np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True))

"""Small quantized models, and the comparison of their values bit by bit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import primsplit as ps
from tests.onnx.definitions.kernels import code


def saved(
    folder: Path, nodes: Sequence[onnx.NodeProto], inputs: dict[str, Any], constants: dict[str, Any], rank: int
) -> str:
    graph = helper.make_graph(
        list(nodes),
        "quantized",
        [helper.make_tensor_value_info(k, code(v.dtype), ["N", *v.shape[1:]]) for k, v in inputs.items()],
        [helper.make_tensor_value_info("y", 1, [None] * rank)],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    path = str(folder / "quantized.onnx")
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), path)
    return path


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    domain = "com.microsoft" if kind.startswith("QLinear") and kind not in {"QLinearConv", "QLinearMatMul"} else ""
    return helper.make_node(kind, inputs.split(), outputs.split(), domain=domain, **attributes)


def check_bits(path: str, **feeds: np.ndarray) -> Any:
    """The program's value is that of the model itself, bit by bit; the program."""
    program = ps.load(path)
    expected = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feeds)[0]
    np.testing.assert_array_equal(program(*feeds.values()), expected)
    return program


def gradient(program: Any, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return ps.grad(lambda x: (program(x) * weights).sum())(x)


S, Z = np.float32(0.1), np.uint8(30)


def inside(x: np.ndarray, s: Any = S, z: Any = Z) -> np.ndarray:
    """Return 1 where x is not saturated, else 0."""
    rounded = np.round(x / s) + np.float32(z)
    limits = np.iinfo(np.asarray(z).dtype)
    return ((rounded >= limits.min) & (rounded <= limits.max)).astype(x.dtype)


def quantized(array: np.ndarray, dtype: str = "int8", axis: int | None = None) -> tuple[Any, Any]:
    """Integers of seven bits, and the scale: one, or one along an axis.

    Of eight, onnxruntime's products saturate on processors without VNNI.
    """
    bound = np.abs(array).max() if axis is None else np.abs(array).max(tuple(i for i in range(array.ndim) if i != axis))
    scale = (bound / (np.iinfo(dtype).max // 2)).astype(np.float32)
    wide = scale if axis is None else scale.reshape([-1 if i == axis else 1 for i in range(array.ndim)])
    return np.round(array / wide).astype(dtype), scale


def scale(x: float) -> np.ndarray:
    return np.asarray(x, np.float32)

"""An ONNX network of convolutions as torch's functions, node by node, for comparison with torch's autograd."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torch import Tensor
from torch.nn import functional


def run_in_torch(model: onnx.ModelProto, inputs: Mapping[str, Tensor]) -> Tensor:
    """The first result of the model."""
    values: dict[str, Any] = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    values |= inputs
    for node in model.graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        values[node.output[0]] = KINDS[node.op_type](attributes, *(values[name] for name in node.input if name))
    found: Tensor = values[model.graph.output[0].name]
    return found


def _padded(x: Tensor, a: Mapping[str, Any], fill: float) -> tuple[Tensor, Any]:
    """The input and torch's `padding`; padding that is not the same at both ends is done at once."""
    pads = a.get("pads", [0, 0, 0, 0])
    if pads[:2] == pads[2:]:
        return x, pads[:2]
    return functional.pad(x, (pads[1], pads[3], pads[0], pads[2]), value=fill), 0


def _convolution(a: Mapping[str, Any], x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    x, padding = _padded(x, a, 0.0)
    return functional.conv2d(x, w, b, a.get("strides", 1), padding, a.get("dilations", 1), a.get("group", 1))


def _max_pool(a: Mapping[str, Any], x: Tensor) -> Tensor:
    x, padding = _padded(x, a, float("-inf"))
    return functional.max_pool2d(x, a["kernel_shape"], a.get("strides", 1), padding)


def _average_pool(a: Mapping[str, Any], x: Tensor) -> Tensor:
    """With padding that is not the same at both ends, the mean of the padded array over the mean of padded ones."""
    pads, kernel, strides = a.get("pads", [0, 0, 0, 0]), a["kernel_shape"], a.get("strides", 1)
    counts = bool(a.get("count_include_pad", 0))
    if pads[:2] == pads[2:]:
        return functional.avg_pool2d(x, kernel, strides, pads[:2], count_include_pad=counts)
    share = 1.0 if counts else functional.avg_pool2d(_padded(torch.ones_like(x), a, 0.0)[0], kernel, strides)
    return functional.avg_pool2d(_padded(x, a, 0.0)[0], kernel, strides) / share


def _batch_norm(a: Mapping[str, Any], x: Tensor, w: Tensor, b: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    return functional.batch_norm(x, mean, variance, w, b, eps=a.get("epsilon", 1e-5))


def _gemm(a: Mapping[str, Any], x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return functional.linear(x, w if a.get("transB", 0) else w.T, b)


def _response_norm(a: Mapping[str, Any], x: Tensor) -> Tensor:
    return functional.local_response_norm(x, a["size"], a["alpha"], a["beta"], a["bias"])


def _softmax(a: Mapping[str, Any], x: Tensor) -> Tensor:
    """As opsets below 13 have it: over all axes from `axis` on."""
    rows = x.reshape(int(np.prod(x.shape[: a.get("axis", 1)])), -1)
    return torch.softmax(rows, 1).reshape(x.shape)


def _unsqueezed(a: Mapping[str, Any], x: Tensor) -> Tensor:
    for axis in a["axes"]:
        x = x.unsqueeze(axis)
    return x


def _reshaped(_: Any, x: Tensor, shape: np.ndarray[Any, Any]) -> Tensor:
    return x.reshape([x.shape[i] if d == 0 else int(d) for i, d in enumerate(shape)])


KINDS: dict[str, Callable[..., Any]] = {
    "Conv": _convolution,
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_norm,
    "Gemm": _gemm,
    "LRN": _response_norm,
    "Softmax": _softmax,
    "Unsqueeze": _unsqueezed,
    "Reshape": _reshaped,
    "GlobalAveragePool": lambda _, x: x.mean((2, 3), keepdim=True),
    "Relu": lambda _, x: torch.relu(x),
    "Dropout": lambda _, x: x,
    "Mul": lambda _, x, y: x * y,
    "Add": lambda _, x, y: x + y,
    "Sum": lambda _, *xs: sum(xs[1:], xs[0]),
    "Concat": lambda a, *xs: torch.cat(xs, a["axis"]),
    "Transpose": lambda a, x: x.permute(a["perm"]),
}

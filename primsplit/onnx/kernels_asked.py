"""Ask onnxruntime whether it can create the kernels of a model's nodes.

onnx's inference accepts what kernels refuse when a file is loaded: an LSTM that clips at -1, an LRN of an even size,
counts of n-grams that do not fit their pool. Each node of a rare kind is given to onnxruntime in a model of its own,
which takes less than a millisecond, once for all nodes that are alike.
"""

import re
from collections.abc import Iterable

import numpy as np
import onnx
import onnx.helper
import onnxruntime
from onnx.numpy_helper import from_array

from primsplit.ir import Const, Op
from primsplit.ir.caching.limited import Limited
from primsplit.ir.errors import ParseError
from primsplit.onnx.threads import open_session
from primsplit.ops.inference.standard import key_of, tensor_of, type_proto
from primsplit.ops.inference.table import Site
from primsplit.ops.schema import IR_VERSION, OPSET

LEGALIZED = frozenset({"layout"})
"""Attributes that a file is written without: kernels lack recurrences whose batch comes first."""

_TAKEN: Limited[object, str] = Limited(4096)


def check_kernels(steps: Iterable[Op]) -> None:
    """Raise ParseError at an operator that onnxruntime refuses to create a kernel for, with its reason."""
    for step in steps:
        key = key_of(Site(step.kind, step.inputs, step.attributes, len(step.outputs)))
        refusal = _TAKEN.get(key)
        if refusal is None:
            refusal = _TAKEN[key] = _refusal(step)
        if refusal:
            raise ParseError(f"onnxruntime does not take this {step.kind}: {refusal}", place=step.place)


def _refusal(step: Op) -> str:
    """Return why onnxruntime creates no session of the operator alone; "" if it does, or has no kernel at all."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        open_session(_alone(step), options, threads=1)
    except Exception as error:  # noqa: BLE001  # onnxruntime raises classes that share no ancestor of its own
        told = str(error)
        return "" if "NOT_IMPLEMENTED" in told else _reason(told)
    return ""


def _alone(step: Op) -> bytes:
    """Return a model of one operator."""
    names = {id(v): f"i{k}" for k, v in enumerate(step.inputs) if v is not None}
    held = {id(v): v for v in step.inputs if v is not None}
    stored = {key: v for key, v in held.items() if isinstance(v, Const) and v.is_small}
    given = {k: v for k, v in step.attributes.items() if k not in LEGALIZED}
    attributes = {k: from_array(v) if isinstance(v, np.ndarray) else v for k, v in given.items()}
    outputs = [f"o{k}" for k in range(len(step.outputs))]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(step.kind, [names.get(id(v), "") for v in step.inputs], outputs, **attributes)],
        "alone",
        [onnx.ValueInfoProto(name=names[k], type=type_proto(v.type)) for k, v in held.items() if k not in stored],
        [
            onnx.ValueInfoProto(name=name, type=type_proto(v.type))
            for name, v in zip(outputs, step.outputs, strict=True)
        ],
        [_named(tensor_of(v), names[key]) for key, v in stored.items()],
    )
    opset = onnx.helper.make_opsetid("", OPSET)
    made: bytes = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION).SerializeToString()
    return made


def _named(tensor: onnx.TensorProto, name: str) -> onnx.TensorProto:
    tensor.name = name
    return tensor


def _reason(told: str) -> str:
    """Return onnxruntime's message, without the places in its own code."""
    told = " ".join(told.split()).rsplit("] : ", 1)[-1]
    told = re.sub(r"^.*OpKernelInfo ?&\)( \[with [^\]]*\])?", "", told)
    return re.sub(r"^\d+ : \w+ : (Exception during initialization: )?(/\S+ )?", "", told).strip()[:200]

"""Convert the function bodies that the standard defines for operators to Blocks; `through_body` differentiates them."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import onnx
import onnx.defs
import onnx.helper
from onnx.numpy_helper import from_array, to_array

from primsplit import tracing
from primsplit.ir import NOWHERE, Block, Const, Op, Var
from primsplit.ir.errors import PrimsplitError
from primsplit.ops import op as operators
from primsplit.ops.inference.standard import type_proto
from primsplit.ops.schema import OPSET
from primsplit.rules.table import with_defaults
from primsplit.tracing.array import Array
from primsplit.tracing.trees import as_list


def body_of(op: Op) -> tuple[Block, list[int]]:
    """Return the body of an op, and the positions of the op's inputs that are the body's parameters.

    Small constants are part of the body, as they are of a rule. Raises PrimsplitError if the standard has no body.
    """
    function = function_of(op)
    positions: list[int] = []
    params: list[Var] = []
    with tracing.recording(place=NOWHERE) as recorded:
        inputs: list[Array | None] = []
        for position, value in enumerate(op.inputs):
            if value is None or (isinstance(value, Const) and value.is_small):
                inputs.append(None if value is None else Array(value))
                continue
            param = recorded.param(value.type)
            param.sizes = value.sizes
            params.append(param)
            positions.append(position)
            inputs.append(Array(param))
        outputs = _interpret(function, inputs, with_defaults(op.kind, op.attributes))
        results = [array.value for array in outputs[: len(op.outputs)]]
    return tracing.close(op.kind.lower(), params, recorded, results), positions


def function_of(op: Op) -> onnx.FunctionProto:
    """Return the body in the standard's form, for the op's attributes and types if it depends on them."""
    found: Any = onnx.defs.get_schema(op.kind, OPSET)
    fixed = [v for v in found.function_opset_versions if v <= OPSET]
    if fixed:
        return _parsed(found.get_function_with_opset_version(max(fixed)))
    versions = [v for v in found.context_dependent_function_opset_versions if v <= OPSET]
    if not versions:
        raise PrimsplitError(f"the standard gives no function body for {op.kind}", place=op.place)
    names = [f"x{i}" if v is not None else "" for i, v in enumerate(op.inputs)]
    given = {k: from_array(v) if isinstance(v, np.ndarray) else v for k, v in op.attributes.items()}
    node = onnx.helper.make_node(op.kind, names, [f"y{i}" for i in range(len(op.outputs))], **given)
    types = [onnx.TypeProto() if v is None else type_proto(v.type) for v in op.inputs]
    return _parsed(
        found.get_context_dependent_function_with_opset_version(
            max(versions), node.SerializeToString(), [t.SerializeToString() for t in types]
        )
    )


def _parsed(data: bytes) -> onnx.FunctionProto:
    function = onnx.FunctionProto()
    function.ParseFromString(data)
    return function


def _interpret(
    function: onnx.FunctionProto, inputs: Sequence[Array | None], attributes: Mapping[str, Any]
) -> list[Array]:
    """Record the nodes of a function called on these inputs."""
    known: dict[str, Array | None] = dict(zip_longest(function.input, inputs))
    known[""] = None
    for node in function.node:
        given = {a.name: v for a in node.attribute if (v := _attribute(a, attributes)) is not None}
        if node.op_type == "Constant":
            known[node.output[0]] = Array(tracing.constant(_constant(given)))
            continue
        results = getattr(operators, node.op_type)(*(known[n] for n in node.input), outputs=len(node.output), **given)
        known.update(zip(node.output, as_list(results), strict=True))
    return [array for name in function.output if (array := known.get(name)) is not None]


def _attribute(attribute: onnx.AttributeProto, outer: Mapping[str, Any]) -> Any:
    """Return the value of a node's attribute, which may be that of the function called.

    Raises PrimsplitError for a graph.
    """
    if attribute.ref_attr_name:
        return outer.get(attribute.ref_attr_name)
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.GraphProto):
        raise PrimsplitError(f"a function body with a graph in its attribute {attribute.name} is not read")
    return to_array(value) if isinstance(value, onnx.TensorProto) else value


_DTYPES = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}


def _constant(given: Mapping[str, Any]) -> Any:
    ((name, value),) = given.items()
    return np.asarray(value, _DTYPES[name]) if name in _DTYPES else value

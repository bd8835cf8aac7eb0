"""Return the definition that the standard gives of an operator by others, as a graph of their nodes.

```
y = Swish(x, alpha=2.0)   ->   graph(x): a = Mul(x, 2.0); b = Sigmoid(a); y = Mul(x, b)
```
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx.defs
import onnx.helper
import onnx.shape_inference

from primsplit.audit.written import UNKNOWN
from primsplit.ir import Block, Const, Op, Type, Value
from primsplit.ir.dims import Size


def definition(op: Op, types: Mapping[Value, Type], opsets: Mapping[str, int]) -> onnx.ModelProto | None:
    """Return a model of the definition of an op with these types of inputs, which are those of its inputs that it has.

    None for an operator that has no definition, and for a node that has bodies.
    """
    domain, _, kind = op.kind.rpartition("::")
    if not onnx.defs.has(kind, domain) or any(isinstance(v, Block) for v in op.attributes.values()):
        return None
    try:
        schema = onnx.defs.get_schema(kind, opsets.get(domain, 1), domain)
    except onnx.defs.SchemaError:
        return None
    function = _function(schema, op, domain, types)
    return None if function is None else _model(function, schema, op, types, opsets.get("", 1))


def _function(schema: Any, op: Op, domain: str, types: Mapping[Value, Type]) -> onnx.FunctionProto | None:
    """Return the function of a schema, which may depend on the node's attributes and types."""
    found = onnx.FunctionProto()
    if schema.has_function:
        found.ParseFromString(schema.function_body.SerializeToString())
        return found
    if not schema.has_context_dependent_function:
        return None
    given = [f"i{i}" if v is not None else "" for i, v in enumerate(op.inputs)]
    outputs = [f"o{i}" if v.hint else "" for i, v in enumerate(op.outputs)]
    attributes = {name: _plain(value) for name, value in op.attributes.items()}
    node = onnx.helper.make_node(schema.name, given, outputs, domain=domain, **attributes)
    told = [_proto(_type(v, types)).SerializeToString() for v in op.inputs]
    version = max(schema.context_dependent_function_opset_versions)
    made = schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), told)
    found.ParseFromString(made)
    return found if made else None


def _type(value: Value | None, types: Mapping[Value, Type]) -> Type | None:
    return value.type if isinstance(value, Const) else None if value is None else types.get(value)


def _proto(told: Type | None) -> onnx.TypeProto:
    if told is None:
        return onnx.TypeProto()
    sizes = [str(d) if isinstance(d, Size) else d for d in told.shape or ()]
    shape = None if told.shape is None else [None if UNKNOWN in str(d) else d for d in sizes]
    return onnx.helper.make_tensor_type_proto(onnx.helper.np_dtype_to_tensor_dtype(told.dtype), shape)


def _model(
    function: onnx.FunctionProto, schema: Any, op: Op, types: Mapping[Value, Type], opset: int
) -> onnx.ModelProto:
    """Return a function as a model: with the node's attributes, with types, without what the node lacks."""
    attributes = {name: a.default_value for name, a in schema.attributes.items() if a.default_value.name}
    attributes.update({n: onnx.helper.make_attribute(n, _plain(v)) for n, v in op.attributes.items()})
    present = [i < len(op.inputs) and op.inputs[i] is not None for i in range(len(function.input))]
    missing = {name for name, is_present in zip(function.input, present, strict=True) if not is_present}
    nodes = [_filled(node, attributes, missing) for node in function.node]
    inputs = []
    for i, name in enumerate(function.input):
        if present[i]:
            inputs.append(onnx.ValueInfoProto(name=name, type=_proto(_type(op.inputs[i], types))))
    read = zip(op.outputs, function.output, strict=False)
    outputs = [onnx.ValueInfoProto(name=name) for var, name in read if var.hint]
    graph = onnx.helper.make_graph(nodes, schema.name, inputs, outputs)
    imports = list(function.opset_import)
    if all(each.domain for each in imports):
        imports.append(onnx.helper.make_opsetid("", opset))
    model = onnx.helper.make_model(graph, opset_imports=imports)
    return onnx.shape_inference.infer_shapes(model)


def _plain(value: Any) -> Any:
    return onnx.numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value


def _filled(node: onnx.NodeProto, attributes: Mapping[str, Any], missing: set[str]) -> onnx.NodeProto:
    """Return a node of a function with attributes in the place of references to them."""
    found = onnx.NodeProto()
    found.CopyFrom(node)
    del found.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name in attributes:
                found.attribute.add().CopyFrom(attributes[attribute.ref_attr_name])
                found.attribute[-1].name = attribute.name
        else:
            found.attribute.add().CopyFrom(attribute)
            for i, inner in enumerate(attribute.g.node):
                found.attribute[-1].g.node[i].CopyFrom(_filled(inner, attributes, missing))
    found.input[:] = ["" if name in missing else name for name in node.input]
    return found

"""Infer result types by onnx's own C++ inference, for the operators that have no rule here."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.defs
import onnx.helper
import onnx.shape_inference
from onnx.checker import ValidationError
from onnx.numpy_helper import from_array

from primsplit.ir import Const, Type, Value
from primsplit.ir.caching.limited import Limited
from primsplit.ir.carriers import CARRIERS, LATER, in_carrier
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import ShapeError
from primsplit.ops.inference.table import Site, fresh
from primsplit.ops.schema import IR_VERSION, OPSET, schema


def infer_by_standard(site: Site) -> Sequence[Type]:
    """Return the types that onnx infers.

    Sizes that it does not know get fresh symbols. Raises ShapeError with its reason.
    """
    found = _asked(site)
    types = [_read(found[f"o{k}"], site) for k in range(site.outputs)]
    return types if all(v is None or _held(v.type) is v.type for v in site.inputs) else _as_said(types, site)


def _asked(site: Site) -> Mapping[str, onnx.TypeProto]:
    """Return onnx's types of the outputs `o0`, `o1` and so on, as far as it knows them."""
    domain, _, name = site.kind.rpartition("::")
    inputs = [f"i{k}" if v is not None else "" for k, v in enumerate(site.inputs)]
    attributes = {k: from_array(v) if isinstance(v, np.ndarray) else v for k, v in site.attributes.items()}
    node = onnx.helper.make_node(name, inputs, [f"o{k}" for k in range(site.outputs)], domain=domain, **attributes)
    present = {f"i{k}": v for k, v in enumerate(site.inputs) if v is not None}
    try:
        found: Mapping[str, onnx.TypeProto] = onnx.shape_inference.infer_node_outputs(
            onnx.defs.get_schema(name, max_inclusive_version=OPSET, domain=domain),
            node,
            {key: type_proto(_held(v.type)) for key, v in present.items()},
            {key: tensor_of(v) for key, v in present.items() if isinstance(v, Const) and v.is_small},
            opset_imports=[onnx.helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
        )
    except (onnx.shape_inference.InferenceError, ValidationError, RuntimeError) as error:
        raise ShapeError(f"{site.kind}: {str(error).splitlines()[0]}") from None
    return found


_SOUND: Limited[Hashable, bool] = Limited(4096)


def check_by_standard(site: Site) -> None:
    """Raise ShapeError if onnx's own inference refuses a node, as onnxruntime does when it loads a file.

    The rules here infer the types of a valid node, and need not find each fault. Empty arrays are kept from onnx:
    builds of it with assertions end the process at a Slice of one.
    """
    key = key_of(site)
    sizes = [d for v in site.inputs if v is not None for d in v.type.shape or () if isinstance(d, int)]
    if key in _SOUND or (sizes and min(sizes) < 1) or not _knows_dtypes(site):
        return
    _asked(site)
    _SOUND[key] = True


def key_of(site: Site) -> Hashable:
    """Return a key that is equal for uses of an operator with equal types, attributes and small constants."""
    return (site.kind, site.outputs, *map(_told, site.inputs), *map(_attribute, sorted(site.attributes.items())))


def _knows_dtypes(site: Site) -> bool:
    """Whether onnx's inference accepts the dtypes; it refuses valid ones: later dtypes, and axes of 32 bits."""
    arrays = [v for v in site.attributes.values() if isinstance(v, np.ndarray)]
    if any(a.dtype.name in LATER for a in arrays):
        return False
    return not any(isinstance(v, Const) and v.type.dtype == np.int32 for v in site.inputs)


def _told(value: Value | None) -> Hashable:
    """Return a key of what onnx sees of an input."""
    return value and (value.type.key, value.key if isinstance(value, Const) and value.is_small else None)


def _attribute(named: tuple[str, Any]) -> Hashable:
    """Return a key that is equal for equal attributes."""
    name, value = named
    told = (str(value.dtype), value.shape, value.tobytes()) if isinstance(value, np.ndarray) else repr(value)
    return name, type(value).__name__, told


def _held(type: Type) -> Type:
    """Return the type in its carrier dtype, if onnx's inference does not know its own."""
    return Type(CARRIERS[type.key[0]], type.shape) if type.key[0] in LATER else type


def tensor_of(const: Const) -> onnx.TensorProto:
    """Return the numbers as an ONNX tensor, in their carrier dtype if there is one."""
    return from_array(in_carrier(const.numpy()) if const.type.key[0] in LATER else const.numpy())


def _as_said(types: Sequence[Type], site: Site) -> Sequence[Type]:
    """Replace carriers in the types of outputs by the dtypes that inputs of the same type variable have."""
    known = schema(site.kind)
    said = {known.variable(i): v.type.dtype for i, v in enumerate(site.inputs) if v is not None}
    variables = [known.outputs[min(i, len(known.outputs) - 1)][1] for i in range(len(types))]
    return [Type(said.get(name, t.dtype), t.shape) for name, t in zip(variables, types, strict=True)]


def type_proto(type: Type) -> onnx.TypeProto:
    """Return the type as ONNX writes it, with symbols as texts."""
    shape = None if type.shape is None else [d.text if isinstance(d, Size) else d for d in type.shape]
    return onnx.helper.make_tensor_type_proto(onnx.helper.np_dtype_to_tensor_dtype(type.dtype), shape)


def _read(proto: onnx.TypeProto, site: Site) -> Type:
    known = {d.text: d for v in site.inputs if v is not None for d in v.type.shape or () if isinstance(d, Size)}
    tensor = proto.tensor_type
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if not tensor.HasField("shape"):
        return Type(dtype, None)
    return Type(dtype, [_dim(d, known) for d in tensor.shape.dim])


def _dim(dim: onnx.TensorShapeProto.Dimension, known: dict[str, Size]) -> Dim:
    if dim.HasField("dim_value"):
        return int(dim.dim_value)
    return known[dim.dim_param] if dim.dim_param in known else fresh("unknown")

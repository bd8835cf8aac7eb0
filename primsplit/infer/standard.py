"""Result types by onnx's own C++ inference, for the operators that have no rule here."""

from collections.abc import Sequence

import numpy as np
import onnx
import onnx.defs
import onnx.helper
import onnx.shape_inference
from onnx.checker import ValidationError
from onnx.numpy_helper import from_array

from primsplit.dims import Dim, Size
from primsplit.errors import ShapeError
from primsplit.infer.table import Site, fresh
from primsplit.ir import Const, Type
from primsplit.schema import IR_VERSION, OPSET


def infer_by_standard(site: Site) -> Sequence[Type]:
    """Ask onnx. Sizes that it does not know get fresh names. Raises ShapeError with onnx's reason."""
    domain, _, name = site.kind.rpartition("::")
    inputs = [f"i{k}" if v is not None else "" for k, v in enumerate(site.inputs)]
    outputs = [f"o{k}" for k in range(site.outputs)]
    attributes = {k: from_array(v) if isinstance(v, np.ndarray) else v for k, v in site.attributes.items()}
    node = onnx.helper.make_node(name, inputs, outputs, domain=domain, **attributes)
    present = {f"i{k}": v for k, v in enumerate(site.inputs) if v is not None}
    try:
        found = onnx.shape_inference.infer_node_outputs(
            onnx.defs.get_schema(name, max_inclusive_version=OPSET, domain=domain),
            node,
            {key: _proto(v.type) for key, v in present.items()},
            {key: from_array(v.numpy()) for key, v in present.items() if isinstance(v, Const) and v.is_small},
            opset_imports=[onnx.helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
        )
    except (onnx.shape_inference.InferenceError, ValidationError, RuntimeError) as error:
        raise ShapeError(f"{site.kind}: {str(error).splitlines()[0]}") from None
    return [_read(found[name], site) for name in outputs]


def _proto(type: Type) -> onnx.TypeProto:
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

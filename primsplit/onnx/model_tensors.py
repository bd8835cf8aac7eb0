"""Read the numbers of a model's tensors by onnx_ir, whose import is slow."""

import onnx
import onnx_ir as oir

from primsplit.onnx.external_data import entries_of, external_path
from primsplit.onnx.tensors import Tensor


def tensor_in(tensor: onnx.TensorProto, model: str) -> Tensor:
    """Return the numbers of a tensor of the model's file at this path.

    Raises ParseError for data in a forbidden place.
    """
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        return Tensor(oir.from_proto(tensor), beside=False, model=model)
    entries = entries_of(tensor, model)
    held = oir.ExternalTensor(
        external_path(tensor, model),
        int(entries.get("offset", 0)),
        int(entries["length"]) if "length" in entries else None,
        oir.DataType(tensor.data_type),
        shape=oir.Shape(tensor.dims),
        name=tensor.name,
    )
    return Tensor(held, beside=True, model=model)

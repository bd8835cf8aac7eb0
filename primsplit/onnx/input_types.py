"""Complete the types of a model's inputs if its file leaves them open: from the caller's specs, and from its nodes.

```
x: float32[...]  with specs={"x": "[N,3]"}   ->   x: float32[N,3]
```
"""

from collections.abc import Mapping
from typing import Any

import onnx

from primsplit.ir import Type
from primsplit.ir.errors import SpecError
from primsplit.onnx.declared import numpy_dtype
from primsplit.onnx.demands import demanded
from primsplit.tracing.specs import leaf_type, parse_spec

Specs = Mapping[str, Any]
"""By name a text such as `f32[N,3]`, or `[N,3]` of the declared dtype; a type, an array of it, or a rank."""


def declare(graph: onnx.GraphProto, specs: Specs, path: str) -> None:
    """Write the types of `specs` into a graph, and the ranks that its nodes demand of inputs without one.

    A size that replaces a named one does so in every input. A value inside of the graph gets the rank of its spec; the
    spec of a sequence or an optional value is that of the tensors in it. Raises SpecError for a name that the graph
    lacks, and for a type that does not fit the declared one.
    """
    inputs = {v.name: v for v in graph.input if tensor_type(v.type).elem_type}
    inner = {name for node in graph.node for name in node.output if name} if set(specs) - set(inputs) else set()
    for name, said in specs.items():
        if name not in inputs and name not in inner:
            raise SpecError(f"{path} has no value {name}", because=(f"its inputs are {', '.join(inputs)}",))
        value = inputs.get(name) or graph.value_info.add(name=name)
        if isinstance(said, int):
            _rank(value, said, path)
        else:
            _narrow(graph, value, _type(said, value), path)
    tensors = [v for v in inputs.values() if v.type.HasField("tensor_type")]
    unranked = [v for v in tensors if not v.type.tensor_type.HasField("shape")]
    ranks = demanded(graph) if unranked else {}
    for value in unranked:
        if value.name in ranks:
            _rank(value, ranks[value.name], path)


def tensor_type(type: onnx.TypeProto) -> onnx.TypeProto.Tensor:
    """Return the type of a tensor, or of those in a sequence or an optional value; an empty one for anything else."""
    kind = type.optional_type.elem_type if type.HasField("optional_type") else type
    return kind.sequence_type.elem_type.tensor_type if kind.HasField("sequence_type") else kind.tensor_type


def _type(said: Any, value: onnx.ValueInfoProto) -> Type:
    """Return a value's type by its spec. Raises SpecError if it is none, or of another dtype than declared."""
    number = tensor_type(value.type).elem_type
    declared = numpy_dtype(number) if number else None
    is_shape = isinstance(said, str) and said.strip().startswith("[")
    text = f"{declared or 'float32'}{said}" if is_shape else said
    found = parse_spec(text) if isinstance(text, str) else leaf_type(text)
    if found is None:
        raise SpecError(f"{said!r} says no type of {value.name}", cure="Write it like 'f32[N,3]'.")
    if declared is not None and found.dtype != declared:
        raise SpecError(f"{value.name} is {declared} in its file, and cannot be {found}")
    return found


def _narrow(graph: onnx.GraphProto, value: onnx.ValueInfoProto, said: Type, path: str) -> None:
    """Give a value the shape of its spec. Raises SpecError if the declared one is another."""
    tensor, sizes = tensor_type(value.type), said.shape or ()
    _rank(value, len(sizes), path)
    declared = [d.dim_value if d.HasField("dim_value") else d.dim_param for d in tensor.shape.dim]
    pairs = list(zip(declared, sizes, strict=True))
    if any(isinstance(a, int) and 0 <= a != b for a, b in pairs):
        told = f"its file declares [{','.join(str(d or '?') for d in declared)}]"
        raise SpecError(f"{path}: {value.name} cannot be {said}", because=(told,))
    named = {a: b for a, b in pairs if isinstance(a, str) and a}
    for dim, size in zip(tensor.shape.dim, sizes, strict=True):
        _write(dim, size)
    for other in graph.input:
        for dim in tensor_type(other.type).shape.dim:
            if dim.dim_param in named:
                _write(dim, named[dim.dim_param])


def _rank(value: onnx.ValueInfoProto, rank: int, path: str) -> None:
    """Give a value without a shape so many axes. Raises SpecError if it has another number of them."""
    tensor = tensor_type(value.type)
    shape = tensor.shape
    if not tensor.HasField("shape"):
        shape.SetInParent()
        shape.dim.extend(onnx.TensorShapeProto.Dimension() for _ in range(rank))
    if len(shape.dim) != rank:
        raise SpecError(f"{path}: {value.name} has {len(shape.dim)} axes, and not {rank}")


def _write(dim: onnx.TensorShapeProto.Dimension, size: Any) -> None:
    if isinstance(size, int):
        dim.dim_value = size
    else:
        dim.dim_param = str(size)

"""Sequences and optional values at the ends of a model: an input or output for each tensor in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx

from primsplit.errors import ParseError, SpecError, UnsupportedFunction
from primsplit.infer import fresh
from primsplit.ir import Type, Value, Var
from primsplit.onnxio.graph_reader import GraphReader, numpy_dtype
from primsplit.onnxio.sequences import Absent, Entry, Growing, Listed, Stacked, listed, require_tensor
from primsplit.tracing import Recording


@dataclass(frozen=True, slots=True)
class Said:
    """What the caller says of inputs that are no tensors: how many elements sequences have, which optionals are given.

    An optional input that nothing is said of is given.
    """

    lengths: Mapping[str, int] = field(default_factory=dict)
    given: Mapping[str, bool] = field(default_factory=dict)

    def check(self, inputs: Sequence[onnx.ValueInfoProto], path: str) -> None:
        """Raise SpecError for a name that is no such input, or a length that none can have."""
        optional = {v.name for v in inputs if v.type.HasField("optional_type")}
        sequences = {v.name for v in inputs if _of_optional(v.type).HasField("sequence_type")}
        for what, said, known in (("sequence", self.lengths, sequences), ("optional", self.given, optional)):
            unknown = [name for name in said if name not in known]
            if unknown:
                raise SpecError(f"{path} has no input {unknown[0]} that is {'an' if known is optional else 'a'} {what}")
        wrong = [name for name, length in self.lengths.items() if length < 0]
        if wrong:
            raise SpecError(f"the sequence {wrong[0]} cannot have {self.lengths[wrong[0]]} elements")


def _of_optional(type: onnx.TypeProto) -> onnx.TypeProto:
    """The type of what an optional value holds; any other type as it is."""
    return type.optional_type.elem_type if type.HasField("optional_type") else type


class Ends:
    """Names the tensors of a model's ends: `x`, and `x.0`, `x.1` for those of a sequence `x`."""

    def __init__(self, reader: GraphReader, said: Said) -> None:
        self.reader = reader
        self.said = said
        self.params: list[Var] = []
        self.inputs: list[str] = []
        self.results: list[Value] = []
        self.outputs: list[str] = []

    def input(self, value: onnx.ValueInfoProto, recorded: Recording) -> Any:
        """Add the parameters of an input; what it is in a call: an array, a list, or None.

        Raises UnsupportedFunction for a sequence without a length.
        """
        name, kind = value.name, _of_optional(value.type)
        if value.type.HasField("optional_type") and not self.said.given.get(name, True):
            self.reader.values[name] = Absent()
            return None
        if kind.HasField("tensor_type"):
            tensor = onnx.ValueInfoProto(name=name, type=kind)
            self.add_param(self.reader.param(tensor, recorded), name)
            return 0.0
        element = kind.sequence_type.elem_type
        if not element.HasField("tensor_type"):
            what = kind.WhichOneof("value") or "value of no type"
            raise UnsupportedFunction(f"{self.reader.path}: the input {name} is a {what}, and holds no tensors")
        if name not in self.said.lengths:
            raise UnsupportedFunction(
                f"{self.reader.path}: the input {name} is a sequence of unknown length",
                because=("a program takes a fixed number of arrays",),
                cure=f"Say its length: ps.load(path, lengths={{{name!r}: 3}}), or --length {name}:3.",
            )
        items = []
        for i in range(self.said.lengths[name]):
            items.append(recorded.param(_element_type(element.tensor_type, f"{name}.{i}"), f"{name}.{i}"))
            self.add_param(items[-1], f"{name}.{i}")
        self.reader.values[name] = Listed(tuple(items))
        return [0.0] * len(items)

    def add_param(self, param: Var, name: str) -> None:
        self.params.append(param)
        self.inputs.append(name)

    def output(self, declared: onnx.ValueInfoProto, entry: Entry) -> Any:
        """Add the results of an output; what it is in the result: an array, a list, or None.

        Raises UnsupportedFunction for a sequence whose length only the run knows.
        """
        name = declared.name
        if isinstance(entry, Absent):
            return None
        if not isinstance(entry, Listed | Stacked | Growing):
            self.add_result(require_tensor(entry, "the model"), name)
            return 0.0
        known = None if isinstance(entry, Growing) else listed(entry)
        if known is None:
            raise UnsupportedFunction(
                f"{self.reader.path}: the output {name} is a sequence whose length only the run knows",
                because=("a program gives a fixed number of arrays",),
                cure="Let the model join it to one tensor: ConcatFromSequence.",
            )
        number = _of_optional(declared.type).sequence_type.elem_type.tensor_type.elem_type
        for i, item in enumerate(known.items):
            if number and item.type.dtype.kind not in "OUT" and numpy_dtype(number) != item.type.dtype:
                told = f"holds {item.type.dtype}, and is declared to hold {numpy_dtype(number)}"
                raise ParseError(f"{self.reader.path}: the output {name} {told}")
            self.add_result(item, f"{name}.{i}")
        return [0.0] * len(known.items)

    def add_result(self, value: Value, name: str) -> None:
        self.results.append(value)
        self.outputs.append(name)


def _element_type(tensor: onnx.TypeProto.Tensor, stem: str) -> Type:
    """The type of one element: a size that is no number may be another one in each."""
    dtype = numpy_dtype(tensor.elem_type)
    if not tensor.HasField("shape"):
        return Type(dtype, None)
    sizes = [
        int(d.dim_value) if d.HasField("dim_value") and d.dim_value >= 0 else fresh(f"{stem}_{axis}")
        for axis, d in enumerate(tensor.shape.dim)
    ]
    return Type(dtype, sizes)

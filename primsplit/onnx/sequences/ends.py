"""Name the tensors of sequences and optional values at the ends of a model: one input or output for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx

from primsplit.ir import Type, Value, Var
from primsplit.ir.errors import SpecError, UnsupportedFunction
from primsplit.onnx.declared import numpy_dtype
from primsplit.onnx.graph_reader import GraphReader
from primsplit.onnx.input_types import tensor_type
from primsplit.onnx.sequences.forms import (
    Absent,
    Entry,
    Listed,
    Maybe,
    MaybeSequence,
    Ragged,
    Sequenced,
    leaves,
    listed,
    require_tensor,
)
from primsplit.ops.inference import fresh
from primsplit.tracing import Recording


@dataclass(frozen=True, slots=True)
class Said:
    """The caller's words on inputs that are no tensors: the lengths of sequences, and which optionals are given.

    An optional input is given by default.
    """

    lengths: Mapping[str, int] = field(default_factory=dict)
    given: Mapping[str, bool] = field(default_factory=dict)

    def check(self, inputs: Sequence[onnx.ValueInfoProto], path: str) -> None:
        """Raise SpecError for a name that is no such input, or an impossible length."""
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
    """Return the type of an optional value's content; any other type as it is."""
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
        """Add the parameters of an input; return its form in a call: an array, a list, or None.

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
        """Add the results of an output; return its form in the result: an array, a list, or None.

        A sequence whose length only the run knows is one array, the elements along its first axis; if they may differ
        in shape, `elements`, one after the other in a row, and their `shapes`, with -1 for an axis that an element
        lacks. An optional value that the run decides on is an array of one row or none; for a sequence a further number
        says whether it is `given`.
        """
        name = declared.name
        if isinstance(entry, Absent):
            return None
        number = tensor_type(declared.type).elem_type
        if isinstance(entry, Maybe):
            self.add_element(entry.tensor, name, number)
            return 0.0
        if isinstance(entry, MaybeSequence):
            self.add_element(entry.rows.elements, f"{name}.elements", number)
            self.add_result(entry.given, f"{name}.given")
            self.add_result(entry.rows.shapes, f"{name}.shapes")
            return {"elements": 0.0, "given": 0.0, "shapes": 0.0}
        if not isinstance(entry, Sequenced):
            self.add_result(require_tensor(entry, "the model"), name)
            return 0.0
        if isinstance(entry, Ragged):
            self.add_element(entry.elements, f"{name}.elements", number)
            self.add_result(entry.shapes, f"{name}.shapes")
            return {"elements": 0.0, "shapes": 0.0}
        known = listed(entry)
        if known is None:
            self.add_element(leaves([entry])[0], name, number)
            return 0.0
        for i, item in enumerate(known.items):
            self.add_element(item, f"{name}.{i}", number)
        return [0.0] * len(known.items)

    def add_element(self, value: Value, name: str, number: int) -> None:
        """Add a result that holds elements of this data type, 0 for one that is not declared. Raises ParseError."""
        if number:
            self.reader.check_dtype(name, value.type.dtype, numpy_dtype(number))
        self.add_result(value, name)

    def add_result(self, value: Value, name: str) -> None:
        self.results.append(value)
        self.outputs.append(name)


def _element_type(tensor: onnx.TypeProto.Tensor, stem: str) -> Type:
    """Return the type of one element: a size that is no number may be another one in each."""
    dtype = numpy_dtype(tensor.elem_type)
    if not tensor.HasField("shape"):
        return Type(dtype, None)
    sizes = [
        int(d.dim_value) if d.HasField("dim_value") and d.dim_value >= 0 else fresh(f"{stem}_{axis}")
        for axis, d in enumerate(tensor.shape.dim)
    ]
    return Type(dtype, sizes)

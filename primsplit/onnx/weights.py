"""Decide which initializers of a model are weights, which training changes, and which are constants.

What a Constant node of the main graph holds may be a weight too.

A file does not say it. An exporter writes 1 / sqrt(d), an epsilon or the bounds of a Clip as initializers too, and
running statistics beside them. The operators, names that exporters number, and the metadata of a primsplit file decide
it here, once, for everyone who differentiates or trains.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import onnx

from primsplit.ir import Const, Role
from primsplit.ir.reasons import FOLDED
from primsplit.onnx.definitions.earlier import EARLIER
from primsplit.onnx.versions import domain_of, nodes_of

CONSTANTS = "primsplit.constants"
"""The key of the metadata that name the initializers of a primsplit file that are not weights."""

FLOAT = onnx.TensorProto.FLOAT
FLOATS = frozenset({
    FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16,
})  # fmt: skip
SETTINGS: Mapping[str, Sequence[int]] = {
    "Bernoulli": (0,), "BlackmanWindow": (0,), "Clip": (1, 2), "Dropout": (1, 2), "HammingWindow": (0,),
    "HannWindow": (0,), "MelWeightMatrix": (0, 1, 2, 3, 4), "NonMaxSuppression": (2, 3, 4), "OneHot": (1, 2),
    "Pad": (1, 2, 3), "Range": (0, 1, 2), "Resize": (1, 2, 3), "Upsample": (1,),
}  # fmt: skip
"""Inputs that set how an operator works: bounds, sizes, scales of an image. Types may follow from them.

No trait: a judgement on which floats of a file are worth a gradient.
"""
FILLS: Mapping[str, Sequence[int]] = {
    "CastLike": (0,), "Equal": (0, 1), "Greater": (0, 1), "GreaterOrEqual": (0, 1), "Less": (0, 1),
    "LessOrEqual": (0, 1), "Where": (1, 2),
}  # fmt: skip
"""Inputs that are a number to fill masked places with, or to compare with. No trait: such a judgement too."""
EXPONENTS: Mapping[str, Sequence[int]] = {"Pow": (1,)}
"""Inputs that are an exponent. One that a model learns, such as that of a pooling by powers, has an axis."""
STATISTICS: Mapping[str, Sequence[int]] = {"BatchNormalization": (3, 4)}
"""Inputs that hold statistics of a model's training data, by which it normalizes its inputs."""
LEARNED: Mapping[str, Sequence[int]] = {
    "BatchNormalization": (1, 2), "Conv": (1, 2), "ConvTranspose": (1, 2), "GRU": (1, 2, 3), "Gemm": (1, 2),
    "GroupNormalization": (1, 2), "InstanceNormalization": (1, 2), "LSTM": (1, 2, 3, 7), "LayerNormalization": (1, 2),
    "MatMul": (0, 1), "PRelu": (1,), "RMSNormalization": (1,), "RNN": (1, 2, 3),
}  # fmt: skip
"""Inputs that are weights under any name and of any size: `onnx::PRelu_5`, as torch names a slope.

No trait: a judgement on what models learn.
"""
NUMBERED = re.compile(
    "|".join(
        (
            r"\d+",
            r"(val|c|const|constant|scalar|literal|tmp|_?lifted_tensor|_?tensor_constant)_?\d+",
            r"onnx::\w+_\d+",
            r"ortshared_\w+",
            r"(.*[./_:])?(const|constant)(_fold_opt_)?(_\d+)*(_output)?(_\d+)*(:\d+)?(_value)?",
            r"(.*[./_:])?(scalar_tensor|lifted_tensor|tensor_constant|full|eps|epsilon)(_default)?(_?\d+)*(:\d+)?",
            r".*/(x|y)(_\d+)?:\d+",
        )
    ),
    re.IGNORECASE,
)
"""Exporters' names of numbers in the code: val_76, onnx::Mul_12, /attention/Constant_output_0, attention/mul/y:0."""


@dataclass(frozen=True, slots=True)
class Initializers:
    """The roles of a model's initializers, and of what Constant nodes of its main graph hold.

    `constants` has the reason for each that is not a weight.
    """

    constants: Mapping[str, str]

    def role(self, tensor: onnx.TensorProto) -> Role:
        """Return the role of a tensor's constant."""
        if tensor.name in self.constants:
            return "statistic" if self.constants[tensor.name] == MEASURED else ""
        return "weight" if tensor.data_type in FLOATS else ""


NO_FLOATS = "it holds no floats that have a derivative, but integers, flags, texts or numbers of few bits"
MEASURED = "it holds statistics of the data, by which BatchNormalization normalizes"


HELD = "it is what a Constant node holds, as exporters write the numbers of the code"


def held_tensors(graph: onnx.GraphProto) -> dict[str, onnx.TensorProto]:
    """Return the floats that Constant nodes of a graph hold, by name: some exporters write all weights so.

    An output of the graph is not among them. A tensor has a type and sizes here; its numbers stay in the node.
    """
    returned = {v.name for v in graph.output}
    found: dict[str, onnx.TensorProto] = {}
    for node in graph.node:
        if node.op_type != "Constant" or domain_of(node.domain) or len(node.output) != 1 or len(node.attribute) != 1:
            continue
        attribute, name = node.attribute[0], node.output[0]
        kinds = {"value": attribute.t.data_type, "value_float": FLOAT, "value_floats": FLOAT}
        sizes = {"value": attribute.t.dims, "value_floats": [len(attribute.floats)]}
        if name and name not in returned and kinds.get(attribute.name) in FLOATS:
            kind, dims = kinds[attribute.name], sizes.get(attribute.name, ())
            found[name] = onnx.TensorProto(name=name, data_type=kind, dims=dims)
    return found


def look_at(
    graph: onnx.GraphProto,
    tensors: Iterable[onnx.TensorProto],
    metadata: Mapping[str, str],
    held: Mapping[str, onnx.TensorProto],
) -> Initializers:
    """Decide on the roles of a model's initializers, and of what Constant nodes hold."""
    told = _told(metadata.get(CONSTANTS, ""))
    numbers, measured = frozenset(told.numbers), frozenset(told.statistics)
    tensors = [*tensors, *held.values()]
    floats = {t.name: t for t in tensors if t.data_type in FLOATS}
    settings, statistics = _read_as(graph, SETTINGS), _read_as(graph, STATISTICS)
    fills = _read_as(graph, FILLS)
    exponents, learned = _read_as(graph, EXPONENTS), _read_as(graph, LEARNED)
    found = {t.name: NO_FLOATS for t in tensors if t.data_type not in FLOATS}
    for name, tensor in floats.items():
        if name in numbers:
            found[name] = FOLDED
        elif name in settings:
            found[name] = f"{settings[name]} is told by it what to do"
        elif name in fills and math.prod(tensor.dims) == 1:
            found[name] = f"it is one number, by which {fills[name]} fills or compares"
        elif name in exponents and not tensor.dims:
            found[name] = "it is one number without axes, the exponent of a Pow"
        elif name in statistics or name in measured:
            found[name] = MEASURED
        elif name not in learned and _is_number_of_code(tensor) and CONSTANTS not in metadata:
            found[name] = "it is one number, under a name that exporters give to numbers of the code"
        elif name in held and name not in learned and (math.prod(tensor.dims) == 1 or NUMBERED.fullmatch(name)):
            found[name] = HELD
    return Initializers(found)


def _is_number_of_code(tensor: onnx.TensorProto) -> bool:
    """Whether it is one number, under a name that exporters give to numbers of the code."""
    return math.prod(tensor.dims) == 1 and NUMBERED.fullmatch(tensor.name) is not None


@dataclass(frozen=True, slots=True)
class FileConstants:
    """The float initializers of a primsplit file that are not weights, by name.

    The numbers of a computation may have been merged into others when the file was written; statistics have not.
    """

    numbers: list[str] = field(default_factory=list)
    statistics: list[str] = field(default_factory=list)

    def add(self, const: Const, name: str) -> None:
        """Note a float constant that is written under this name, if it is not a weight.

        An array that a traced function reads is a weight, too, and a long one of a model without a name for it.
        """
        is_array = const.number is None and not const.hint and (const.place is not None or not const.is_short)
        is_array = is_array and not const.is_pattern
        if const.role == "statistic":
            self.statistics.append(name)
        elif not const.is_weight and not is_array:
            self.numbers.append(name)

    def told(self) -> dict[str, str]:
        """Return the file's metadata about them."""
        return {CONSTANTS: json.dumps({"numbers": self.numbers, "statistics": self.statistics})}


def _told(text: str) -> FileConstants:
    """Return the names in a file's metadata; none if they are something else."""
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        found = {}
    told = [found.get(kind) if isinstance(found, dict) else None for kind in ("numbers", "statistics")]
    lists = [names if isinstance(names, list) else [] for names in told]
    return FileConstants(
        *([n for n in names if isinstance(n, str)] if isinstance(names, list) else [] for names in lists)
    )


def _read_as(graph: onnx.GraphProto, positions: Mapping[str, Sequence[int]]) -> dict[str, str]:
    """Return the names that some node reads at such positions, with its operator."""
    found: dict[str, str] = {}
    for node in nodes_of(graph):
        is_standard = domain_of(node.domain) == "" or node.domain.startswith(EARLIER)
        if node.op_type in positions and is_standard:
            asked = positions[node.op_type]
            found.update({node.input[i]: node.op_type for i in asked if i < len(node.input) and node.input[i]})
    return found

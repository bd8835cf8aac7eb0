"""The table of facts about operators: one row an operator, one column a fact.

A room that needs to know which operators have a property asks here and keeps no list of its own:

    if traits(op.kind).elementwise: ...
    RESHAPES = kinds_where(lambda t: t.view)

A fact holds for every choice of the operator's attributes and for all its dtypes, unless the column says otherwise.
`tests/ops/test_traits.py` runs each operator and finds each column true of exactly the operators that have it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Positions = tuple[int, ...]
"""Inputs of an operator by position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The facts about one operator. A column left at its default says that nothing is known."""

    elementwise: bool = False
    """Each element of a result is computed from the elements at its place in the inputs, which broadcast, and from
    inputs that are one number. Dropout is not: where it drops an element it reads a random number."""
    broadcasts: Literal["", "all", "to_first"] = ""
    """Inputs are repeated along axes that they lack or have with size 1: `all` to a common shape, `to_first` the later
    ones to the shape of the first. Only of elementwise operators: MatMul broadcasts the axes before the last two."""
    commutative: bool = False
    """There are two inputs, and exchanging them changes no bit. Max and Min are none: of 0.0 and -0.0 they give one."""
    reads_type: Positions = ()
    """Inputs of which only the shape or the dtype is read."""
    ranks: tuple[int | None, ...] = ()
    """The ranks that inputs must have, None for any; inputs behind the last may have any."""


_NOTHING = Traits()


def traits(kind: str) -> Traits:
    """Return the row of an operator; one without facts for a call and for other names."""
    return TRAITS.get(kind) or IN_FILES.get(kind, _NOTHING)


def kinds_where(holds: Callable[[Traits], object], *, in_files: bool = False) -> frozenset[str]:
    """Return the operators whose row passes the predicate; with `in_files` also those that only files hold."""
    rows = {**TRAITS, **IN_FILES} if in_files else TRAITS
    return frozenset(kind for kind, row in rows.items() if holds(row))


TRAITS: Mapping[str, Traits] = {
    "Abs": Traits(elementwise=True),
    "Acos": Traits(elementwise=True),
    "Acosh": Traits(elementwise=True),
    "Add": Traits(elementwise=True, broadcasts="all", commutative=True),
    "AffineGrid": Traits(),
    "And": Traits(elementwise=True, broadcasts="all", commutative=True),
    "ArgMax": Traits(),
    "ArgMin": Traits(),
    "Asin": Traits(elementwise=True),
    "Asinh": Traits(elementwise=True),
    "Atan": Traits(elementwise=True),
    "Atanh": Traits(elementwise=True),
    "AveragePool": Traits(),
    "BatchNormalization": Traits(),
    "Bernoulli": Traits(),
    "BitShift": Traits(elementwise=True, broadcasts="all"),
    "BitwiseAnd": Traits(elementwise=True, broadcasts="all", commutative=True),
    "BitwiseNot": Traits(elementwise=True),
    "BitwiseOr": Traits(elementwise=True, broadcasts="all", commutative=True),
    "BitwiseXor": Traits(elementwise=True, broadcasts="all", commutative=True),
    "BlackmanWindow": Traits(),
    "Cast": Traits(elementwise=True),
    "CastLike": Traits(elementwise=True, reads_type=(1,)),
    "Ceil": Traits(elementwise=True),
    "Celu": Traits(elementwise=True),
    "CenterCropPad": Traits(),
    "Clip": Traits(elementwise=True, ranks=(None, 0, 0)),
    "Col2Im": Traits(),
    "Compress": Traits(),
    "Concat": Traits(),
    "ConcatFromSequence": Traits(),
    "Constant": Traits(),
    "ConstantOfShape": Traits(),
    "Conv": Traits(),
    "ConvInteger": Traits(),
    "ConvTranspose": Traits(),
    "Cos": Traits(elementwise=True),
    "Cosh": Traits(elementwise=True),
    "CumSum": Traits(),
    "DFT": Traits(),
    "DeformConv": Traits(),
    "DepthToSpace": Traits(),
    "DequantizeLinear": Traits(),
    "Det": Traits(),
    "Div": Traits(elementwise=True, broadcasts="all"),
    "Dropout": Traits(),
    "DynamicQuantizeLinear": Traits(),
    "Einsum": Traits(),
    "Elu": Traits(elementwise=True),
    "Equal": Traits(elementwise=True, broadcasts="all", commutative=True),
    "Erf": Traits(elementwise=True),
    "Exp": Traits(elementwise=True),
    "Expand": Traits(),
    "EyeLike": Traits(reads_type=(0,)),
    "Flatten": Traits(),
    "Floor": Traits(elementwise=True),
    "GRU": Traits(),
    "Gather": Traits(),
    "GatherElements": Traits(),
    "GatherND": Traits(),
    "Gelu": Traits(elementwise=True),
    "Gemm": Traits(),
    "GlobalAveragePool": Traits(),
    "GlobalLpPool": Traits(),
    "GlobalMaxPool": Traits(),
    "Greater": Traits(elementwise=True, broadcasts="all"),
    "GreaterOrEqual": Traits(elementwise=True, broadcasts="all"),
    "GridSample": Traits(),
    "GroupNormalization": Traits(),
    "HammingWindow": Traits(),
    "HannWindow": Traits(),
    "HardSigmoid": Traits(elementwise=True),
    "HardSwish": Traits(elementwise=True),
    "Hardmax": Traits(),
    "Identity": Traits(elementwise=True),
    "If": Traits(),
    "ImageDecoder": Traits(),
    "InstanceNormalization": Traits(),
    "IsInf": Traits(elementwise=True),
    "IsNaN": Traits(elementwise=True),
    "LRN": Traits(),
    "LSTM": Traits(),
    "LayerNormalization": Traits(),
    "LeakyRelu": Traits(elementwise=True),
    "Less": Traits(elementwise=True, broadcasts="all"),
    "LessOrEqual": Traits(elementwise=True, broadcasts="all"),
    "Log": Traits(elementwise=True),
    "LogSoftmax": Traits(),
    "Loop": Traits(),
    "LpNormalization": Traits(),
    "LpPool": Traits(),
    "MatMul": Traits(),
    "MatMulInteger": Traits(),
    "Max": Traits(elementwise=True, broadcasts="all"),
    "MaxPool": Traits(),
    "MaxRoiPool": Traits(),
    "MaxUnpool": Traits(),
    "Mean": Traits(elementwise=True, broadcasts="all"),
    "MeanVarianceNormalization": Traits(),
    "MelWeightMatrix": Traits(),
    "Min": Traits(elementwise=True, broadcasts="all"),
    "Mish": Traits(elementwise=True),
    "Mod": Traits(elementwise=True, broadcasts="all"),
    "Mul": Traits(elementwise=True, broadcasts="all", commutative=True),
    "Multinomial": Traits(),
    "Neg": Traits(elementwise=True),
    "NegativeLogLikelihoodLoss": Traits(),
    "NonMaxSuppression": Traits(),
    "NonZero": Traits(),
    "Not": Traits(elementwise=True),
    "OneHot": Traits(),
    "Optional": Traits(),
    "OptionalGetElement": Traits(),
    "OptionalHasElement": Traits(),
    "Or": Traits(elementwise=True, broadcasts="all", commutative=True),
    "PRelu": Traits(elementwise=True, broadcasts="to_first"),
    "Pad": Traits(),
    "Pow": Traits(elementwise=True, broadcasts="all"),
    "QLinearConv": Traits(),
    "QLinearMatMul": Traits(),
    "QuantizeLinear": Traits(),
    "RNN": Traits(),
    "RandomNormal": Traits(),
    "RandomNormalLike": Traits(reads_type=(0,)),
    "RandomUniform": Traits(),
    "RandomUniformLike": Traits(reads_type=(0,)),
    "Range": Traits(),
    "Reciprocal": Traits(elementwise=True),
    "ReduceL1": Traits(),
    "ReduceL2": Traits(),
    "ReduceLogSum": Traits(),
    "ReduceLogSumExp": Traits(),
    "ReduceMax": Traits(),
    "ReduceMean": Traits(),
    "ReduceMin": Traits(),
    "ReduceProd": Traits(),
    "ReduceSum": Traits(),
    "ReduceSumSquare": Traits(),
    "RegexFullMatch": Traits(elementwise=True),
    "Relu": Traits(elementwise=True),
    "Reshape": Traits(),
    "Resize": Traits(),
    "ReverseSequence": Traits(),
    "RoiAlign": Traits(),
    "Round": Traits(elementwise=True),
    "STFT": Traits(),
    "Scan": Traits(),
    "ScatterElements": Traits(),
    "ScatterND": Traits(),
    "Selu": Traits(elementwise=True),
    "SequenceAt": Traits(),
    "SequenceConstruct": Traits(),
    "SequenceEmpty": Traits(),
    "SequenceErase": Traits(),
    "SequenceInsert": Traits(),
    "SequenceLength": Traits(),
    "SequenceMap": Traits(),
    "Shape": Traits(reads_type=(0,)),
    "Shrink": Traits(elementwise=True),
    "Sigmoid": Traits(elementwise=True),
    "Sign": Traits(elementwise=True),
    "Sin": Traits(elementwise=True),
    "Sinh": Traits(elementwise=True),
    "Size": Traits(reads_type=(0,)),
    "Slice": Traits(),
    "Softmax": Traits(),
    "SoftmaxCrossEntropyLoss": Traits(),
    "Softplus": Traits(elementwise=True),
    "Softsign": Traits(elementwise=True),
    "SpaceToDepth": Traits(),
    "Split": Traits(),
    "SplitToSequence": Traits(),
    "Sqrt": Traits(elementwise=True),
    "Squeeze": Traits(),
    "StringConcat": Traits(elementwise=True, broadcasts="all"),
    "StringNormalizer": Traits(),
    "StringSplit": Traits(),
    "Sub": Traits(elementwise=True, broadcasts="all"),
    "Sum": Traits(elementwise=True, broadcasts="all"),
    "Tan": Traits(elementwise=True),
    "Tanh": Traits(elementwise=True),
    "TfIdfVectorizer": Traits(),
    "ThresholdedRelu": Traits(elementwise=True),
    "Tile": Traits(),
    "TopK": Traits(),
    "Transpose": Traits(),
    "Trilu": Traits(),
    "Unique": Traits(),
    "Unsqueeze": Traits(),
    "Where": Traits(elementwise=True, broadcasts="all"),
    "Xor": Traits(elementwise=True, broadcasts="all", commutative=True),
}
"""The operators of the opset that primsplit writes."""

IN_FILES: Mapping[str, Traits] = {
    "BitCast": Traits(elementwise=True),
    "SwiGLU": Traits(elementwise=True),
    "Swish": Traits(elementwise=True),
    "com.microsoft::BiasGelu": Traits(elementwise=True, broadcasts="to_first"),
    "com.microsoft::FastGelu": Traits(elementwise=True),
    "com.microsoft::Gelu": Traits(elementwise=True),
    "com.microsoft::QuickGelu": Traits(elementwise=True),
}
"""Operators that files hold beside them: of later opsets and of other domains."""

"""The table of facts about operators: one row an operator, one column a fact.

A room that needs to know which operators have a property asks here and keeps no list of its own:

    if traits(op.kind).elementwise: ...
    RESHAPES = kinds_where(lambda t: t.keeps == "order")

A fact holds for every choice of the operator's attributes and for all its dtypes, unless the column says otherwise.
`tests/ops/test_traits.py` runs each operator: a column must be true of the operators that have it and, where running
tells, of no others.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from primsplit.ir import Op

Positions = tuple[int, ...]
"""Inputs of an operator by position."""
Terms = tuple[Positions, ...]
"""A sum of products: the factors of each term."""

Condition = tuple[str, tuple[Any, ...]]
"""An attribute and the values of it with which a fact holds; the default is the first of them."""


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
    keeps_rank: bool = False
    """The first result has as many axes as the first input."""
    per_axis: Positions = ()
    """Inputs with one number for each axis of the first input, or of those that other inputs or attributes name. Pad
    has two for each."""
    along: bool = False
    """The attribute `axis` names an axis that the first input must have, each input of Concat."""
    sizes: Positions | Literal["all"] = ()
    """Inputs whose values decide the sizes of the results; `all` where these depend on no other input's values."""
    ragged: bool = False
    """The sizes of the results depend on the values of inputs that are data, as in NonZero."""
    moves: Positions | Literal["all"] = ()
    """Inputs of which the results consist: their elements at other places, bit by bit, whatever they are. Other inputs
    and the attributes tell the places."""
    moves_if: Condition | None = None
    """The attribute values with which elements are only moved."""
    keeps: Literal["order", "each", "all", ""] = ""
    """Of the elements of the inputs that are moved, the first result has: `order`, each one once in the same order;
    `each`, each one once; `all`, each one at least once, if it has elements. Else some may be missing."""
    fills: bool = False
    """The results may hold zeros too, or one number, where no element is moved to."""
    terms: Terms | Literal["each", "all"] = ()
    """The results, those of the first one's type, are sums of these products, with coefficients that other inputs and
    the attributes tell: Gemm is a product of the inputs 0 and 1, and a term of input 2. `each` is a term for each
    input, `all` the product of all. True of floats, but for rounding. Dropout has none: it draws."""
    terms_if: Condition | None = None
    """The attribute values with which the results are such sums."""
    at_zero: float | None = None
    """The value at 0 of a function of one number, if it is finite and the same with all attributes."""
    steep: bool = False
    """An elementwise function of floats with a slope that is infinite somewhere, or as large as another operand."""
    partial: bool = False
    """A function of one number that is NaN for some finite ones: its slope may be infinite where its domain ends."""
    sign: Literal["", "nonnegative", "positive"] = ""
    """All results are at least 0, or NaN; those called positive are 0 only by rounding."""
    keeps_sign: bool = False
    """Results are at least 0, or NaN, if the inputs that are numbers, no axes or places, are."""
    contracts: bool = False
    """Products of elements of the inputs are added up, as in a product of matrices or a convolution."""
    windows: Literal["", "pool", "filter", "unpool"] = ""
    """The operator slides a window over axes of the first input, those behind the first two: `pool` makes one number
    of its elements, `filter` sums them with weights, `unpool` undoes a pooling."""
    reduces: bool = False
    """The axes in input 1, or all, become one element, or are gone without `keepdims`."""
    same_of_one: bool = False
    """Of a single input, or along axes of size 1, the result is the same elements."""
    compares: Literal["", "order", "equality"] = ""
    """The results are bools: two inputs compared by order, or for equality."""
    gates: int = 0
    """Of a recurrent layer: how many matrices, each with a row for each number of the state, a weight stacks."""
    activations: tuple[str, ...] = ()
    """Of a recurrent layer: the default of the attribute `activations`, of one direction."""
    random: bool = False
    """Two runs on the same inputs may give different results, where no seed is set."""
    bodies: bool = False
    """Attributes are graphs that the operator runs."""

    @property
    def permutes(self) -> bool:
        """The result has each element of the first input once, and no other."""
        return self.moves == (0,) and self.keeps in {"order", "each"}


_NOTHING = Traits()


def traits(kind: str) -> Traits:
    """Return the row of an operator; one without facts for a call and for other names."""
    return TRAITS.get(kind) or IN_FILES.get(kind, _NOTHING)


def kinds_where(holds: Callable[[Traits], object], *, in_files: bool = False) -> frozenset[str]:
    """Return the operators whose row passes the predicate; with `in_files` also those that only files hold."""
    rows = {**TRAITS, **IN_FILES} if in_files else TRAITS
    return frozenset(kind for kind, row in rows.items() if holds(row))


def moved_inputs(op: Op) -> Positions:
    """Return the inputs whose elements an op moves; none if its attributes make it compute with them."""
    row = traits(op.kind)
    return moved(op.kind, len(op.inputs)) if _holds(row.moves_if, op) else ()


def terms_of(op: Op) -> Terms:
    """Return the terms whose sum an op's results are; none if its attributes make them no such sum."""
    row = traits(op.kind)
    return terms(op.kind, len(op.inputs)) if _holds(row.terms_if, op) else ()


def _holds(condition: Condition | None, op: Op) -> bool:
    value = None if condition is None else op.attributes.get(condition[0], condition[1][0])
    return condition is None or (value.decode() if isinstance(value, bytes) else value) in condition[1]


def moved(kind: str, count: int) -> Positions:
    """Return the inputs, of so many, whose elements the operator moves."""
    found = traits(kind).moves
    return tuple(range(count)) if found == "all" else found


def sized_by(kind: str, count: int) -> Positions:
    """Return the inputs, of so many, whose values decide the sizes of the results."""
    found = traits(kind).sizes
    return tuple(range(count)) if found == "all" else found


def terms(kind: str, count: int) -> Terms:
    """Return the terms of an operator of so many inputs: the positions of the factors of each."""
    found = traits(kind).terms
    if found == "each":
        return tuple((i,) for i in range(count))
    return (tuple(range(count)),) if found == "all" else found


TRAITS: Mapping[str, Traits] = {
    "Abs": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, sign="nonnegative"),
    "Acos": Traits(
        elementwise=True, keeps_rank=True, at_zero=math.pi / 2, sign="nonnegative", steep=True, partial=True
    ),
    "Acosh": Traits(elementwise=True, keeps_rank=True, sign="nonnegative", steep=True, partial=True),
    "Add": Traits(elementwise=True, broadcasts="all", commutative=True, terms="each", keeps_sign=True),
    "AffineGrid": Traits(ranks=(3, 1), sizes=(1,), terms=((0,),)),
    "And": Traits(elementwise=True, broadcasts="all", commutative=True),
    "ArgMax": Traits(along=True),
    "ArgMin": Traits(along=True),
    "Asin": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True, steep=True, partial=True),
    "Asinh": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True),
    "Atan": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True),
    "Atanh": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True, steep=True, partial=True),
    "AveragePool": Traits(keeps_rank=True, terms=((0,),), keeps_sign=True, windows="pool"),
    "BatchNormalization": Traits(
        ranks=(None, 1, 1, 1, 1), keeps_rank=True, terms=((0, 1), (3, 1), (2,)), terms_if=("training_mode", (0,))
    ),
    "Bernoulli": Traits(keeps_rank=True, random=True),
    "BitShift": Traits(elementwise=True, broadcasts="all"),
    "BitwiseAnd": Traits(elementwise=True, broadcasts="all", commutative=True),
    "BitwiseNot": Traits(elementwise=True, keeps_rank=True),
    "BitwiseOr": Traits(elementwise=True, broadcasts="all", commutative=True),
    "BitwiseXor": Traits(elementwise=True, broadcasts="all", commutative=True),
    "BlackmanWindow": Traits(sizes="all"),
    "Cast": Traits(elementwise=True, keeps_rank=True, terms=((0,),), at_zero=0.0, keeps_sign=True),
    "CastLike": Traits(elementwise=True, reads_type=(1,), keeps_rank=True, terms=((0,),)),
    "Ceil": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True),
    "Celu": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True),
    "CenterCropPad": Traits(
        ranks=(None, 1), keeps_rank=True, sizes=(1,), moves=(0,), fills=True, terms=((0,),), keeps_sign=True
    ),
    "Clip": Traits(elementwise=True, ranks=(None, 0, 0), keeps_rank=True, keeps_sign=True),
    "Col2Im": Traits(ranks=(3, 1, 1), sizes=(1, 2), terms=((0,),), keeps_sign=True),
    "Compress": Traits(ranks=(None, 1), sizes=(1,), moves=(0,), terms=((0,),), keeps_sign=True),
    "Concat": Traits(
        keeps_rank=True, along=True, moves="all", keeps="each", terms="each", keeps_sign=True, same_of_one=True
    ),
    "ConcatFromSequence": Traits(),
    "Constant": Traits(),
    "ConstantOfShape": Traits(sizes="all"),
    "Conv": Traits(keeps_rank=True, terms=((0, 1), (2,)), keeps_sign=True, contracts=True, windows="filter"),
    "ConvInteger": Traits(keeps_rank=True, contracts=True, windows="filter"),
    "ConvTranspose": Traits(keeps_rank=True, terms=((0, 1), (2,)), keeps_sign=True, contracts=True, windows="filter"),
    "Cos": Traits(elementwise=True, keeps_rank=True, at_zero=1.0),
    "Cosh": Traits(elementwise=True, keeps_rank=True, at_zero=1.0, sign="positive", steep=True),
    "CumSum": Traits(ranks=(None, 0), keeps_rank=True, terms=((0,),), keeps_sign=True),
    "DFT": Traits(ranks=(None, 0, 0), keeps_rank=True, sizes=(1, 2), terms=((0,),)),
    "DeformConv": Traits(
        ranks=(4, 4, 4, 1, 4),
        keeps_rank=True,
        terms=((0, 1, 4), (3,)),
        keeps_sign=True,
        contracts=True,
        windows="filter",
    ),
    "DepthToSpace": Traits(ranks=(4,), keeps_rank=True, moves=(0,), keeps="each", terms=((0,),), keeps_sign=True),
    "DequantizeLinear": Traits(keeps_rank=True, terms=((0, 1), (2, 1))),
    "Det": Traits(),
    "Div": Traits(elementwise=True, broadcasts="all", terms=((0,),), keeps_sign=True, steep=True),
    "Dropout": Traits(ranks=(None, 0, 0), keeps_rank=True, random=True),
    "DynamicQuantizeLinear": Traits(keeps_rank=True),
    "Einsum": Traits(terms="all", keeps_sign=True, contracts=True),
    "Elu": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True),
    "Equal": Traits(elementwise=True, broadcasts="all", commutative=True, compares="equality"),
    "Erf": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True),
    "Exp": Traits(elementwise=True, keeps_rank=True, at_zero=1.0, sign="positive", steep=True),
    "Expand": Traits(ranks=(None, 1), sizes=(1,), moves=(0,), keeps="all", terms=((0,),), keeps_sign=True),
    "EyeLike": Traits(reads_type=(0,), keeps_rank=True),
    "Flatten": Traits(moves=(0,), keeps="order", terms=((0,),), keeps_sign=True),
    "Floor": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True),
    "GRU": Traits(ranks=(3, 3, 3, 2, 1, 3), gates=3, activations=("Sigmoid", "Tanh")),
    "Gather": Traits(along=True, moves=(0,), terms=((0,),), keeps_sign=True),
    "GatherElements": Traits(keeps_rank=True, along=True, moves=(0,), terms=((0,),), keeps_sign=True),
    "GatherND": Traits(moves=(0,), terms=((0,),), keeps_sign=True),
    "Gelu": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True),
    "Gemm": Traits(ranks=(2, 2), keeps_rank=True, terms=((0, 1), (2,)), contracts=True),
    "GlobalAveragePool": Traits(keeps_rank=True, terms=((0,),), keeps_sign=True),
    "GlobalLpPool": Traits(keeps_rank=True, sign="nonnegative"),
    "GlobalMaxPool": Traits(keeps_rank=True, keeps_sign=True),
    "Greater": Traits(elementwise=True, broadcasts="all", compares="order"),
    "GreaterOrEqual": Traits(elementwise=True, broadcasts="all", compares="order"),
    "GridSample": Traits(keeps_rank=True, terms=((0,),)),
    "GroupNormalization": Traits(ranks=(None, 1, 1), keeps_rank=True, terms=((1,), (2,))),
    "HammingWindow": Traits(sizes="all"),
    "HannWindow": Traits(sizes="all"),
    "HardSigmoid": Traits(elementwise=True, keeps_rank=True, sign="nonnegative"),
    "HardSwish": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True),
    "Hardmax": Traits(keeps_rank=True, along=True, sign="nonnegative"),
    "Identity": Traits(
        elementwise=True, keeps_rank=True, moves=(0,), keeps="order", terms=((0,),), at_zero=0.0, keeps_sign=True
    ),
    "If": Traits(bodies=True),
    "ImageDecoder": Traits(ragged=True),
    "InstanceNormalization": Traits(ranks=(None, 1, 1), keeps_rank=True, terms=((1,), (2,))),
    "IsInf": Traits(elementwise=True, keeps_rank=True),
    "IsNaN": Traits(elementwise=True, keeps_rank=True),
    "LRN": Traits(keeps_rank=True),
    "LSTM": Traits(ranks=(3, 3, 3, 2, 1, 3, 3, 2), gates=4, activations=("Sigmoid", "Tanh", "Tanh")),
    "LayerNormalization": Traits(keeps_rank=True, along=True, terms=((1,), (2,))),
    "LeakyRelu": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True),
    "Less": Traits(elementwise=True, broadcasts="all", compares="order"),
    "LessOrEqual": Traits(elementwise=True, broadcasts="all", compares="order"),
    "Log": Traits(elementwise=True, keeps_rank=True, steep=True, partial=True),
    "LogSoftmax": Traits(keeps_rank=True, along=True),
    "Loop": Traits(bodies=True),
    "LpNormalization": Traits(keeps_rank=True, along=True, keeps_sign=True),
    "LpPool": Traits(keeps_rank=True, sign="nonnegative", windows="pool"),
    "MatMul": Traits(terms=((0, 1),), keeps_sign=True, contracts=True),
    "MatMulInteger": Traits(contracts=True),
    "Max": Traits(elementwise=True, broadcasts="all", keeps_sign=True, same_of_one=True),
    "MaxPool": Traits(keeps_rank=True, keeps_sign=True, windows="pool"),
    "MaxRoiPool": Traits(ranks=(4, 2), keeps_rank=True, keeps_sign=True),
    "MaxUnpool": Traits(
        keeps_rank=True, sizes=(2,), moves=(0,), fills=True, terms=((0,),), keeps_sign=True, windows="unpool"
    ),
    "Mean": Traits(elementwise=True, broadcasts="all", terms="each", keeps_sign=True, same_of_one=True),
    "MeanVarianceNormalization": Traits(keeps_rank=True),
    "MelWeightMatrix": Traits(sizes=(0, 1, 2), sign="nonnegative"),
    "Min": Traits(elementwise=True, broadcasts="all", keeps_sign=True, same_of_one=True),
    "Mish": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True),
    "Mod": Traits(elementwise=True, broadcasts="all", keeps_sign=True, steep=True),
    "Mul": Traits(elementwise=True, broadcasts="all", commutative=True, terms=((0, 1),), keeps_sign=True, steep=True),
    "Multinomial": Traits(keeps_rank=True, random=True),
    "Neg": Traits(elementwise=True, keeps_rank=True, terms=((0,),), at_zero=0.0),
    "NegativeLogLikelihoodLoss": Traits(ranks=(None, None, 1), terms=((0,),)),
    "NonMaxSuppression": Traits(ragged=True),
    "NonZero": Traits(ragged=True),
    "Not": Traits(elementwise=True, keeps_rank=True),
    "OneHot": Traits(ranks=(None, None, 1), sizes=(1,), moves=(2,), terms=((2,),), keeps_sign=True),
    "Optional": Traits(),
    "OptionalGetElement": Traits(),
    "OptionalHasElement": Traits(),
    "Or": Traits(elementwise=True, broadcasts="all", commutative=True),
    "PRelu": Traits(elementwise=True, broadcasts="to_first", keeps_rank=True, keeps_sign=True, steep=True),
    "Pad": Traits(
        ranks=(None, 1, 0, 1),
        keeps_rank=True,
        per_axis=(1,),
        sizes=(1, 3),
        moves=(0, 2),
        fills=True,
        terms=((0,), (2,)),
        keeps_sign=True,
    ),
    "Pow": Traits(elementwise=True, broadcasts="all", keeps_sign=True, steep=True),
    "QLinearConv": Traits(keeps_rank=True, contracts=True, windows="filter"),
    "QLinearMatMul": Traits(contracts=True),
    "QuantizeLinear": Traits(keeps_rank=True),
    "RNN": Traits(ranks=(3, 3, 3, 2, 1, 3), gates=1, activations=("Tanh",)),
    "RandomNormal": Traits(random=True),
    "RandomNormalLike": Traits(reads_type=(0,), keeps_rank=True, random=True),
    "RandomUniform": Traits(random=True),
    "RandomUniformLike": Traits(reads_type=(0,), keeps_rank=True, random=True),
    "Range": Traits(sizes="all", keeps_sign=True),
    "Reciprocal": Traits(elementwise=True, keeps_rank=True, keeps_sign=True, steep=True),
    "ReduceL1": Traits(ranks=(None, 1), sizes=(1,), sign="nonnegative", reduces=True),
    "ReduceL2": Traits(ranks=(None, 1), sizes=(1,), sign="nonnegative", reduces=True),
    "ReduceLogSum": Traits(ranks=(None, 1), sizes=(1,), reduces=True),
    "ReduceLogSumExp": Traits(ranks=(None, 1), sizes=(1,), reduces=True),
    "ReduceMax": Traits(ranks=(None, 1), sizes=(1,), reduces=True, same_of_one=True),
    "ReduceMean": Traits(ranks=(None, 1), sizes=(1,), terms=((0,),), keeps_sign=True, reduces=True, same_of_one=True),
    "ReduceMin": Traits(ranks=(None, 1), sizes=(1,), keeps_sign=True, reduces=True, same_of_one=True),
    "ReduceProd": Traits(ranks=(None, 1), sizes=(1,), keeps_sign=True, reduces=True, same_of_one=True),
    "ReduceSum": Traits(ranks=(None, 1), sizes=(1,), terms=((0,),), keeps_sign=True, reduces=True, same_of_one=True),
    "ReduceSumSquare": Traits(ranks=(None, 1), sizes=(1,), sign="nonnegative", reduces=True),
    "RegexFullMatch": Traits(elementwise=True, keeps_rank=True),
    "Relu": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, sign="nonnegative"),
    "Reshape": Traits(ranks=(None, 1), sizes=(1,), moves=(0,), keeps="order", terms=((0,),), keeps_sign=True),
    "Resize": Traits(
        ranks=(None, 1, 1, 1),
        keeps_rank=True,
        per_axis=(2, 3),
        sizes=(2, 3),
        moves=(0,),
        moves_if=("mode", ("nearest",)),
        terms=((0,),),
        terms_if=("extrapolation_value", (0.0,)),
    ),
    "ReverseSequence": Traits(keeps_rank=True, moves=(0,), keeps="each", terms=((0,),), keeps_sign=True),
    "RoiAlign": Traits(ranks=(4, 2, 1), keeps_rank=True, terms=((0,),), terms_if=("mode", ("avg",)), keeps_sign=True),
    "Round": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True),
    "STFT": Traits(ranks=(None, 0, 1, 0), sizes=(1, 3), terms=((0, 2),)),
    "Scan": Traits(bodies=True),
    "ScatterElements": Traits(
        keeps_rank=True,
        along=True,
        moves=(0, 2),
        moves_if=("reduction", ("none",)),
        terms=((0,), (2,)),
        terms_if=("reduction", ("none", "add")),
        keeps_sign=True,
    ),
    "ScatterND": Traits(
        keeps_rank=True,
        moves=(0, 2),
        moves_if=("reduction", ("none",)),
        terms=((0,), (2,)),
        terms_if=("reduction", ("none", "add")),
        keeps_sign=True,
    ),
    "Selu": Traits(elementwise=True, keeps_rank=True, at_zero=0.0),
    "SequenceAt": Traits(),
    "SequenceConstruct": Traits(),
    "SequenceEmpty": Traits(),
    "SequenceErase": Traits(),
    "SequenceInsert": Traits(),
    "SequenceLength": Traits(),
    "SequenceMap": Traits(bodies=True),
    "Shape": Traits(reads_type=(0,)),
    "Shrink": Traits(elementwise=True, keeps_rank=True, at_zero=0.0),
    "Sigmoid": Traits(elementwise=True, keeps_rank=True, at_zero=0.5, sign="positive"),
    "Sign": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True),
    "Sin": Traits(elementwise=True, keeps_rank=True, at_zero=0.0),
    "Sinh": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True, steep=True),
    "Size": Traits(reads_type=(0,)),
    "Slice": Traits(
        ranks=(None, 1, 1, 1, 1), keeps_rank=True, sizes=(1, 2, 3, 4), moves=(0,), terms=((0,),), keeps_sign=True
    ),
    "Softmax": Traits(keeps_rank=True, along=True, sign="positive"),
    "SoftmaxCrossEntropyLoss": Traits(ranks=(None, None, 1), keeps_sign=True),
    "Softplus": Traits(elementwise=True, keeps_rank=True, at_zero=math.log(2), sign="positive"),
    "Softsign": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True),
    "SpaceToDepth": Traits(ranks=(4,), keeps_rank=True, moves=(0,), keeps="each", terms=((0,),), keeps_sign=True),
    "Split": Traits(
        ranks=(None, 1), keeps_rank=True, along=True, sizes=(1,), moves=(0,), terms=((0,),), keeps_sign=True
    ),
    "SplitToSequence": Traits(along=True),
    "Sqrt": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, sign="nonnegative", steep=True, partial=True),
    "Squeeze": Traits(ranks=(None, 1), sizes=(1,), moves=(0,), keeps="order", terms=((0,),), keeps_sign=True),
    "StringConcat": Traits(elementwise=True, broadcasts="all"),
    "StringNormalizer": Traits(keeps_rank=True, ragged=True),
    "StringSplit": Traits(ragged=True),
    "Sub": Traits(elementwise=True, broadcasts="all", terms="each"),
    "Sum": Traits(elementwise=True, broadcasts="all", terms="each", keeps_sign=True, same_of_one=True),
    "Tan": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, steep=True),
    "Tanh": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True),
    "TfIdfVectorizer": Traits(keeps_rank=True),
    "ThresholdedRelu": Traits(elementwise=True, keeps_rank=True, at_zero=0.0, keeps_sign=True),
    "Tile": Traits(
        ranks=(None, 1),
        keeps_rank=True,
        per_axis=(1,),
        sizes=(1,),
        moves=(0,),
        keeps="all",
        terms=((0,),),
        keeps_sign=True,
    ),
    "TopK": Traits(ranks=(None, 1), keeps_rank=True, along=True, sizes=(1,), keeps_sign=True),
    "Transpose": Traits(keeps_rank=True, moves=(0,), keeps="each", terms=((0,),), keeps_sign=True),
    "Trilu": Traits(keeps_rank=True, moves=(0,), fills=True, terms=((0,),), keeps_sign=True),
    "Unique": Traits(ragged=True, keeps_sign=True),
    "Unsqueeze": Traits(ranks=(None, 1), sizes=(1,), moves=(0,), keeps="order", terms=((0,),), keeps_sign=True),
    "Where": Traits(elementwise=True, broadcasts="all", moves=(1, 2), terms=((1,), (2,)), keeps_sign=True),
    "Xor": Traits(elementwise=True, broadcasts="all", commutative=True),
}
"""The operators of the opset that primsplit writes."""

IN_FILES: Mapping[str, Traits] = {
    "Attention": Traits(keeps_rank=True),
    "BitCast": Traits(elementwise=True, keeps_rank=True),
    "CausalConvWithState": Traits(ranks=(3, 3, 1, 3), keeps_rank=True),
    "CumProd": Traits(ranks=(None, 0), keeps_rank=True),
    "FlexAttention": Traits(ranks=(4, 4, 4)),
    "LinearAttention": Traits(ranks=(3, 3, 3, 4, 3, 3), keeps_rank=True),
    "RMSNormalization": Traits(keeps_rank=True),
    "RotaryEmbedding": Traits(keeps_rank=True),
    "SwiGLU": Traits(elementwise=True, keeps_rank=True),
    "Swish": Traits(elementwise=True, keeps_rank=True),
    "TensorScatter": Traits(ranks=(None, None, 1), keeps_rank=True),
    "Upsample": Traits(ranks=(None, 1), keeps_rank=True, per_axis=(1,)),
    "com.microsoft::BiasGelu": Traits(elementwise=True, broadcasts="to_first", keeps_rank=True),
    "com.microsoft::FastGelu": Traits(elementwise=True, keeps_rank=True),
    "com.microsoft::Gelu": Traits(elementwise=True, keeps_rank=True),
    "com.microsoft::QuickGelu": Traits(elementwise=True, keeps_rank=True),
}
"""Operators that files hold beside them: of later opsets and of other domains."""

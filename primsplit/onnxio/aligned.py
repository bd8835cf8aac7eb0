"""Nodes that read values of unknown rank, recorded on the same elements with leading axes of size 1.

Broadcasting lays arrays along their last axes, so an array with more leading ones is the same to every operator that
works element by element, along axes counted from the back, or on matrices. Such a value is kept beside the one that the
model has, with `MOST` axes and the number of those that are its own; its rank is then known to every rule. A node that
cannot be told so reads the model's own value, and its gradient is refused where that needs the rank.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit import dims
from primsplit.array import Array
from primsplit.errors import PrimsplitError
from primsplit.infer.elementwise import BINARY, COMPARISONS
from primsplit.infer.reduction import REDUCTIONS
from primsplit.ir import Const, Type, Value
from primsplit.ops import op
from primsplit.schema import schema

MOST = 8
"""The most axes that a value of unknown rank may have where a gradient is taken through it."""

POINTWISE = frozenset(
    {"Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cast", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf"}
    | {"Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Log", "Mish"}
    | {"Neg", "Not", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus"}
    | {"Softsign", "Sqrt", "Tan", "Tanh", "ThresholdedRelu", "Max", "Mean", "Min", "Sum", "Where"}
    | {*BINARY, *COMPARISONS}
)
"""Operators of which an element of the result reads one of each input, laid along the last axes."""
LIKE_FIRST = frozenset(
    {"CastLike", "Clip", "Dropout", "Hardmax", "LayerNormalization", "LogSoftmax", "LpNormalization", "PRelu"}
    | {"RMSNormalization", "Softmax", "Split", "TopK", "Trilu"}
)
"""Operators whose results have as many axes as the first input; an attribute `axis` counts from the back."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """A value's elements with leading axes of size 1, and how many of the axes are its own, an int64 vector of one."""

    wide: Array
    rank: Array

    def own_shape(self) -> Array:
        """The sizes of the value's own axes."""
        count = len(self.wide.shape)
        return op.Slice(op.Shape(self.wide), op.Sub(np.array([count]), self.rank), [count])

    def own(self) -> Value:
        """The value with its own axes."""
        found: Array = op.Reshape(self.wide, self.own_shape(), allowzero=1, types=[Type(self.wide.dtype, None)])
        return found.value


Known = dict[Value, Aligned]
Form = Callable[[str, "Inputs", Mapping[str, Any], int], Sequence[Aligned | Array] | None]


class Inputs:
    """The inputs of a node, aligned where their rank is unknown."""

    def __init__(self, values: Sequence[Value | None], known: Known) -> None:
        self.values = values
        self.known = known

    def is_open(self, position: int) -> bool:
        """True for an input of unknown rank."""
        value = self.values[position] if position < len(self.values) else None
        return value is not None and value.type.rank is None

    def aligned(self, position: int) -> Aligned:
        """What is aligned with an input of unknown rank."""
        value = self.values[position]
        if value is None:
            raise PrimsplitError("an input that is absent has no rank")
        if value not in self.known:
            shape = op.Shape(Array(value))
            rank = op.Shape(shape)
            ones = op.ConstantOfShape(op.Sub(np.array([MOST]), rank), value=np.ones(1, np.int64))
            sizes = op.Reshape(op.Concat(ones, shape, axis=0), [MOST])
            self.known[value] = Aligned(op.Reshape(Array(value), sizes, allowzero=1), rank)
        return self.known[value]

    def array(self, position: int) -> Array | None:
        """An input as a node reads it."""
        value = self.values[position]
        return self.aligned(position).wide if self.is_open(position) else None if value is None else Array(value)

    def arrays(self) -> list[Array | None]:
        """All inputs as a node reads them."""
        return [self.array(i) for i in range(len(self.values))]

    def rank(self, position: int) -> Array:
        """The rank of an input, which may be computed."""
        value = self.values[position]
        if self.is_open(position) or value is None:
            return self.aligned(position).rank
        return op.Identity(np.array([value.type.rank]))

    def integers(self, position: int) -> list[int] | None:
        """The numbers of an integer input that is a constant; none of an absent one."""
        value = self.values[position] if position < len(self.values) else None
        if value is None:
            return []
        return [int(i) for i in value.numpy().reshape(-1)] if isinstance(value, Const) and value.is_small else None


def record_aligned(
    kind: str, values: Sequence[Value | None], attributes: Mapping[str, Any], outputs: int, known: Known
) -> tuple[Value, ...] | None:
    """Record a node that reads values of unknown rank on what is aligned with them; None where that cannot be.

    `known` learns what is aligned with its results.
    """
    form = _FORMS.get(kind)
    made = None if form is None else form(kind, Inputs(values, known), attributes, outputs)
    if made is None:
        return None
    results = []
    for x in made:
        results.append(x.own() if isinstance(x, Aligned) else x.value)
        if isinstance(x, Aligned):
            known[results[-1]] = x
    return tuple(results)


def _recorded(kind: str, inputs: Sequence[Array | None], attributes: Mapping[str, Any], outputs: int) -> list[Array]:
    made = getattr(op, kind)(*inputs, outputs=outputs, **attributes)
    return list(made) if isinstance(made, tuple) else [made]


def _pointwise(kind: str, inputs: Inputs, attributes: Mapping[str, Any], outputs: int) -> list[Aligned]:
    """The most axes of any input."""
    ranks = [inputs.rank(i) for i in range(len(inputs.values))]
    most = ranks[0] if len(ranks) == 1 else op.Max(*ranks)
    return [Aligned(x, most) for x in _recorded(kind, inputs.arrays(), attributes, outputs)]


def _like_first(kind: str, inputs: Inputs, attributes: Mapping[str, Any], outputs: int) -> list[Aligned] | None:
    axis = attributes.get("axis", schema(kind).defaults.get("axis", -1))
    if axis >= 0 or any(inputs.is_open(i) for i in range(1, len(inputs.values))):
        return None
    return [Aligned(x, inputs.rank(0)) for x in _recorded(kind, inputs.arrays(), attributes, outputs)]


def _reduction(kind: str, inputs: Inputs, attributes: Mapping[str, Any], outputs: int) -> list[Aligned | Array] | None:
    """Along axes that are counted from the back, or all."""
    axes = inputs.integers(1)
    keep = attributes.get("keepdims", 1)
    if axes is None:
        return None
    if not axes and not attributes.get("noop_with_empty_axes", 0):
        (made,) = _recorded(kind, [inputs.array(0)], attributes, outputs)
        return [Aligned(made, inputs.rank(0)) if keep else made]
    source = inputs.aligned(0)
    before = op.Sub(np.array([len(source.wide.shape)]), source.rank)
    places = np.array(axes) if max(axes, default=-1) < 0 else op.Where(np.array(axes) < 0, axes, op.Add(axes, before))
    made = getattr(op, kind)(source.wide, places, **attributes)
    return [Aligned(made, source.rank if keep else op.Sub(source.rank, np.array([len(axes)])))]


def _product(kind: str, inputs: Inputs, attributes: Mapping[str, Any], outputs: int) -> list[Aligned] | None:
    """A stack of matrices times one, which leaves a vector a vector."""
    other = inputs.values[1]
    if other is None or other.type.rank != 2:
        return None
    return [Aligned(op.MatMul(*inputs.arrays()), inputs.rank(0))]


def _rows(kind: str, inputs: Inputs, attributes: Mapping[str, Any], outputs: int) -> list[Aligned] | None:
    """Rows of a table by indices of any shape; or entries along an axis that is counted from the back."""
    axis, (data, indices) = attributes.get("axis", 0), inputs.values
    if axis == 0 and data is not None and data.type.rank is not None:
        other = data.type.rank
    elif axis < 0 and indices is not None and indices.type.rank is not None:
        other = indices.type.rank
    else:
        return None
    rank = op.Add(inputs.rank(0 if axis < 0 else 1), np.array([other - 1]))
    return [Aligned(op.Gather(*inputs.arrays(), axis=axis), rank)]


def _joined(kind: str, inputs: Inputs, attributes: Mapping[str, Any], outputs: int) -> list[Aligned] | None:
    """Values that have equally many axes, along one counted from the back."""
    axis = attributes.get("axis", 0)
    if axis >= 0 or not all(map(inputs.is_open, range(len(inputs.values)))):
        return None
    wide = [inputs.aligned(i).wide for i in range(len(inputs.values))]
    most = max(len(x.shape) for x in wide)
    padded = [op.Unsqueeze(x, list(range(most - len(x.shape)))) if len(x.shape) < most else x for x in wide]
    return [Aligned(x, inputs.rank(0)) for x in _recorded(kind, padded, attributes, outputs)]


def _slice(kind: str, inputs: Inputs, attributes: Mapping[str, Any], outputs: int) -> list[Aligned] | None:
    axes = inputs.integers(3)
    if not axes or max(axes) >= 0:
        return None
    return [Aligned(op.Slice(*inputs.arrays()), inputs.rank(0))]


def _axes_of_one(kind: str, inputs: Inputs, attributes: Mapping[str, Any], outputs: int) -> list[Aligned] | None:
    """Axes of size 1 put in or taken out: in front, or counted from the back."""
    axes = inputs.integers(1)
    if not axes or not (axes == [0] or max(axes) < 0):
        return None
    source = inputs.aligned(0)
    change = np.array([len(axes) if kind == "Unsqueeze" else -len(axes)])
    wide = source.wide if axes == [0] and kind == "Squeeze" else getattr(op, kind)(source.wide, axes)
    return [Aligned(wide, op.Add(source.rank, change))]


def _expanded(kind: str, inputs: Inputs, attributes: Mapping[str, Any], outputs: int) -> list[Aligned] | None:
    shape = inputs.values[1]
    length = None if shape is None or shape.type.rank != 1 else (shape.type.shape or ())[0]
    if not isinstance(length, int) or not inputs.is_open(0):
        return None
    return [Aligned(op.Expand(*inputs.arrays()), op.Max(inputs.rank(0), np.array([length])))]


def _reshaped(kind: str, inputs: Inputs, attributes: Mapping[str, Any], outputs: int) -> list[Array] | None:
    """A shape that copies no size of the input's."""
    wanted = inputs.values[1]
    if wanted is None or wanted.sizes is None or wanted.type.rank != 1:
        return None
    if not attributes.get("allowzero", 0) and any(dims.same(d, 0) for d in wanted.sizes):
        return None
    return _recorded(kind, inputs.arrays(), attributes, outputs)


def _flattened(kind: str, inputs: Inputs, attributes: Mapping[str, Any], outputs: int) -> list[Array]:
    """A matrix; the axes before the given one are its rows."""
    source, axis = inputs.aligned(0), attributes.get("axis", 1)
    shape = source.own_shape()
    sides = (op.Slice(shape, [0], [axis]), op.Slice(shape, [axis], [MOST + MOST]))
    sizes = op.Concat(*(op.ReduceProd(side, [0], keepdims=1) for side in sides), axis=0)
    return [op.Reshape(source.wide, sizes, allowzero=1)]


def _turned(kind: str, inputs: Inputs, attributes: Mapping[str, Any], outputs: int) -> list[Aligned] | None:
    """All axes the other way round."""
    if "perm" in attributes:
        return None
    source = inputs.aligned(0)
    count = len(source.wide.shape)
    turned = op.Transpose(source.wide, perm=list(range(count))[::-1])
    shape = op.Shape(turned)
    own, ones = op.Slice(shape, [0], source.rank), op.Slice(shape, source.rank, [count])
    sizes = op.Reshape(op.Concat(ones, own, axis=0), [count])
    return [Aligned(op.Reshape(turned, sizes, allowzero=1), source.rank)]


_FORMS: dict[str, Form] = {
    **dict.fromkeys(POINTWISE, _pointwise),
    **dict.fromkeys(LIKE_FIRST, _like_first),
    **dict.fromkeys(REDUCTIONS, _reduction),
    **dict.fromkeys(("Squeeze", "Unsqueeze"), _axes_of_one),
    **dict.fromkeys(("Concat", "GatherElements"), _joined),
    "Expand": _expanded,
    "Flatten": _flattened,
    "Gather": _rows,
    "MatMul": _product,
    "Reshape": _reshaped,
    "Slice": _slice,
    "Transpose": _turned,
}

"""The activations of recurrent layers, and `Layer`: what a layer's attributes mean by the standard.

onnxruntime takes alpha and beta of Affine, ScaledTanh and ThresholdedRelu as 0 if they are absent, and refuses
layout=1; the standard has both. Clipping is applied to the sums that enter the gates, as in onnxruntime, and not to an
LSTM's cell state on its way out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

import numpy as np

from primsplit.ir.errors import ShapeError
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.ops.schema import text
from primsplit.ops.traits import traits
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import full

NAMES = ("Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh", "Sigmoid", "Softplus", "Softsign", "Tanh",
         "ThresholdedRelu")  # fmt: skip
"""No trait: values of an attribute, most of which are names of operators too."""
SPELLING = {name.lower(): name for name in NAMES}
ALPHAS = {"LeakyRelu": 0.01, "ThresholdedRelu": 1.0, "ScaledTanh": 1.0, "HardSigmoid": 0.2, "Elu": 1.0, "Affine": 1.0}
"""The default of each activation's alpha. No trait: it is that of the recurrent operators."""
BETAS = {"ScaledTanh": 1.0, "HardSigmoid": 0.5, "Affine": 0.0}
DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


@dataclass(frozen=True, slots=True)
class Activation:
    """A function of one number; its argument is clipped to -clip .. clip, unless that is 0."""

    name: str
    alpha: float = 0.0
    beta: float = 0.0
    clip: float = 0.0

    @property
    def is_told_by_its_value(self) -> bool:
        """Whether the slope is a function of the value."""
        return not self.clip and self.name in {"Relu", "Sigmoid", "Tanh"}

    def clipped(self, a: Array) -> Array:
        """Return the clipped argument."""
        return op.Clip(a, -self.clip, self.clip) if self.clip else a

    def value(self, a: Array) -> Array:
        """Return the function of `a`."""
        a = self.clipped(a)
        if self.name == "Affine":
            return op.Add(op.Mul(a, self.alpha), self.beta)
        if self.name == "ScaledTanh":
            return op.Mul(op.Tanh(op.Mul(a, self.beta)), self.alpha)
        parameters = {}
        if self.name in ALPHAS:
            parameters["alpha"] = self.alpha
        if self.name in BETAS:
            parameters["beta"] = self.beta
        return getattr(op, self.name)(a, **parameters)  # type: ignore[no-any-return]

    def slope(self, a: Array | None, y: Array) -> Array:
        """Return the derivative at `a`, where the value is `y`; at kinks, that of the operators of these names.

        `a` may be None if the slope is a function of the value.
        """
        if a is None or self.is_told_by_its_value:
            return self._slope_by_value(y)
        found = self._slope(self.clipped(a), y)
        if self.clip:
            inside = op.LessOrEqual(op.Abs(a), self.clip)
            found = op.Where(inside, found, 0.0)
        return found

    def _slope_by_value(self, y: Array) -> Array:
        if self.name == "Tanh":
            return op.Sub(1.0, op.Mul(y, y))
        return op.Mul(y, op.Sub(1.0, y)) if self.name == "Sigmoid" else op.Cast(op.Greater(y, 0.0), to=y.dtype)

    def _slope(self, a: Array, y: Array) -> Array:
        constant = full(a.shape, np.asarray(self.alpha, a.dtype))
        match self.name:
            case "Affine":
                return constant
            case "Elu":
                return op.Where(op.Greater(a, 0.0), 1.0, op.Add(y, self.alpha))
            case "HardSigmoid":
                return op.Where(op.And(op.Greater(y, 0.0), op.Less(y, 1.0)), constant, 0.0)
            case "LeakyRelu":
                return op.Where(op.GreaterOrEqual(a, 0.0), 1.0, constant)
            case "ScaledTanh":
                inner = op.Tanh(op.Mul(a, self.beta))
                return op.Mul(op.Sub(1.0, op.Mul(inner, inner)), self.alpha * self.beta)
            case "Softplus":
                return op.Sigmoid(a)
            case "Softsign":
                scale = op.Reciprocal(op.Add(op.Abs(a), 1.0))
                return op.Mul(scale, scale)
            case "ThresholdedRelu":
                return op.Cast(op.Greater(a, self.alpha), to=a.dtype)
        return self._slope_by_value(y)


@dataclass(frozen=True, slots=True)
class Layer:
    """The attributes of a recurrent layer. `activations` has a row per direction, `backwards` its order of time."""

    kind: str
    backwards: tuple[bool, ...]
    activations: tuple[tuple[Activation, ...], ...]
    clip: float
    is_batch_first: bool
    is_forget_coupled: bool
    is_linear_first: bool
    is_odd: bool

    @property
    def states(self) -> int:
        """The number of states that are passed from step to step."""
        return 2 if self.kind == "LSTM" else 1

    def attributes(self, hidden: int | None) -> dict[str, Any]:
        """Return the same layer's attributes, all explicit, with layout 0."""
        every = [activation for row in self.activations for activation in row]
        direction = next(name for name, back in DIRECTIONS.items() if back == self.backwards)
        said: dict[str, Any] = {"direction": direction, "activations": [a.name for a in every], "hidden_size": hidden}
        said["activation_alpha"] = [a.alpha for a in every if a.name in ALPHAS] or None
        said["activation_beta"] = [a.beta for a in every if a.name in BETAS] or None
        said["clip"] = self.clip or None
        if self.kind == "GRU":
            said["linear_before_reset"] = int(self.is_linear_first)
        if self.kind == "LSTM":
            said["input_forget"] = int(self.is_forget_coupled)
        return said


def read_layer(kind: str, attributes: Mapping[str, Any]) -> Layer:
    """Return the layer that the attributes describe. Raises ShapeError for unknown activations, or too few."""
    direction = text(attributes.get("direction") or "forward")
    if direction not in DIRECTIONS:
        raise ShapeError(f"{kind}: {shorten(direction, 40)!r} is no direction")
    backwards = DIRECTIONS[direction]
    size = len(traits(kind).activations)
    given = attributes.get("activations") or traits(kind).activations * len(backwards)
    names = [SPELLING.get(text(name).lower(), "") for name in given][: size * len(backwards)]
    if len(names) < size * len(backwards) or "" in names:
        raise ShapeError(f"{kind} in {len(backwards)} directions cannot have the activations {list(map(text, given))}")
    alphas, betas = attributes.get("activation_alpha") or (), attributes.get("activation_beta") or ()
    clip = float(attributes.get("clip") or 0.0)
    found = tuple(_activations(names, alphas, betas, clip))
    is_batch_first = bool(attributes.get("layout"))
    return Layer(
        kind, backwards, tuple(found[i : i + size] for i in range(0, len(found), size)), clip, is_batch_first,
        bool(attributes.get("input_forget")), bool(attributes.get("linear_before_reset")),
        is_batch_first or len(alphas) < sum(n in ALPHAS for n in names) or len(betas) < sum(n in BETAS for n in names),
    )  # fmt: skip


def _activations(
    names: Sequence[str], alphas: Sequence[float], betas: Sequence[float], clip: float
) -> Iterator[Activation]:
    """Return the activations; alphas and betas belong, in order, to those that take one."""
    next_alpha, next_beta = iter(alphas), iter(betas)
    for name in names:
        alpha = next(next_alpha, ALPHAS[name]) if name in ALPHAS else 0.0
        beta = next(next_beta, BETAS[name]) if name in BETAS else 0.0
        yield Activation(name, alpha, beta, clip)


def is_odd(kind: str, attributes: Mapping[str, Any]) -> bool:
    """Whether onnxruntime refuses a recurrent layer or reads it otherwise than the standard."""
    return bool(traits(kind).gates) and read_layer(kind, attributes).is_odd


def turned(x: Array) -> Array:
    """Return the array with its first two axes swapped."""
    rank = len(x.shape)
    return op.Transpose(x, perm=[1, 0, *range(2, rank)])


def parts(x: Array, count: int, axis: int = -1) -> tuple[Array, ...]:
    """Return equal parts along an axis of literal size: those of each gate."""
    size = x.shape[axis]
    each = size // count if isinstance(size, int) else 0
    found: tuple[Array, ...] = op.Split(x, [each] * count, axis=axis) if count > 1 else (x,)
    return found


@fault(
    "batch_first_recurrence",
    kind="refuses",
    operators=("RNN", "GRU", "LSTM"),
    says="A recurrent layer with layout=1, the batch first, is refused.",
)
@fault(
    "alpha_of_activations_not_given",
    kind="wrong",
    operators=("RNN", "GRU", "LSTM"),
    says="alpha and beta of activations in a recurrent layer are 0 where they are not given, and not the "
    "standard's defaults.",
)
def spelt(kind: str, *inputs: Array | None, **attributes: Any) -> tuple[Array, ...]:
    """Return the same layer with time first and every activation's parameters explicit."""
    layer = read_layer(kind, attributes)
    hidden = attributes.get("hidden_size")
    given = list(inputs)
    if layer.is_batch_first:
        moved = [0, *range(5, 5 + layer.states)]
        given = [turned(a) if i in moved and a is not None else a for i, a in enumerate(given)]
    found: tuple[Array, ...] = getattr(op, kind)(*given, outputs=1 + layer.states, **layer.attributes(hidden))
    if not layer.is_batch_first:
        return found
    return (op.Transpose(found[0], perm=[2, 0, 1, 3]), *map(turned, found[1:]))

"""Define one step of an optimizer: Adagrad, Adam and Momentum of `ai.onnx.preview.training`, for several tensors."""

from typing import Any

from primsplit.ir.errors import UnsupportedFunction
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array


def _groups(arrays: tuple[Array, ...], count: int, kind: str) -> list[tuple[Array, ...]]:
    """Return the inputs of each tensor: itself, its gradient, its accumulators.

    The list has those of all tensors in turn.
    """
    if not arrays or len(arrays) % count:
        raise UnsupportedFunction(f"{kind} takes {count} inputs for each tensor, not {len(arrays)} in all")
    tensors = len(arrays) // count
    return [arrays[i::tensors] for i in range(tensors)]


def _in_turn(made: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(array for kind in zip(*made, strict=True) for array in kind)


def _regularized(x: Array, gradient: Array, coefficient: float) -> Array:
    return gradient if coefficient == 0 else coefficient * x + gradient


def _like(scalar: Array, x: Array) -> Any:
    """Return a scalar, which may have an axis of one element, in the dtype of `x`."""
    number = op.Squeeze(scalar, [0]) if len(scalar.shape) == 1 else scalar
    return op.Cast(number, to=x.dtype)


@defines("ai.onnx.preview.training::Adagrad")
def adagrad(
    rate: Array,
    count: Array,
    *arrays: Array,
    outputs: int = 1,
    decay_factor: float = 0.0,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
) -> tuple[Any, ...]:
    """Return the new tensors, then the sums of their squared gradients."""

    def step(x: Array, gradient: Array, squares: Array) -> tuple[Any, ...]:
        g = _regularized(x, gradient, norm_coefficient)
        total = squares + g * g
        speed = _like(rate, x) / (1.0 + _like(count, x) * decay_factor)
        return x - speed * g / (op.Sqrt(total) + epsilon), total

    return _in_turn([step(*group) for group in _groups(arrays, 3, "Adagrad")])


@defines("ai.onnx.preview.training::Momentum")
def momentum(
    rate: Array, count: Array, *arrays: Array, outputs: int = 1, alpha: float, beta: float, mode: str,
    norm_coefficient: float,
) -> tuple[Any, ...]:  # fmt: skip
    """Return the new tensors, then their momenta; in the first step (`count` 0) the gradient's own coefficient is 1."""
    if mode not in {"standard", "nesterov"}:
        raise UnsupportedFunction(f"Momentum has no mode {mode}")

    def step(x: Array, gradient: Array, velocity: Array) -> tuple[Any, ...]:
        g = _regularized(x, gradient, norm_coefficient)
        share = op.Where(op.Greater(_like(count, x), 0.0), op.CastLike(beta, x), op.CastLike(1.0, x))
        new = alpha * velocity + share * g
        return x - _like(rate, x) * (new if mode == "standard" else g + alpha * new), new

    return _in_turn([step(*group) for group in _groups(arrays, 3, "Momentum")])


@defines("ai.onnx.preview.training::Adam")
def adam(
    rate: Array,
    count: Array,
    *arrays: Array,
    outputs: int = 1,
    alpha: float = 0.9,
    beta: float = 0.999,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
    norm_coefficient_post: float = 0.0,
) -> tuple[Any, ...]:
    """Return the new tensors, then the averages of their gradients, then those of the squared gradients."""

    def step(x: Array, gradient: Array, average: Array, squares: Array) -> tuple[Any, ...]:
        g = _regularized(x, gradient, norm_coefficient)
        first = alpha * average + (1.0 - alpha) * g
        second = beta * squares + (1.0 - beta) * (g * g)
        new = x - _corrected(x) * first / (op.Sqrt(second) + epsilon)
        return new if norm_coefficient_post == 0 else (1.0 - norm_coefficient_post) * new, first, second

    def _corrected(x: Array) -> Any:
        """Return the rate, corrected for the averages' start at 0; in step 0, where that is 0 / 0, as it is."""
        speed, steps = _like(rate, x), _like(count, x)
        begun = op.Greater(steps, 0.0)
        safe = op.Where(begun, steps, op.CastLike(1.0, x))
        correction = op.Sqrt(1.0 - op.Pow(op.CastLike(beta, x), safe)) / (1.0 - op.Pow(op.CastLike(alpha, x), safe))
        return op.Where(begun, speed * correction, speed)

    return _in_turn([step(*group) for group in _groups(arrays, 4, "Adam")])

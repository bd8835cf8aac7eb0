"""Random numbers that a program draws when it runs: `ps.random.normal(0.0, 1.0, (3, N))`.

The functions are named and called as those of NumPy's generators; outside of a trace they give NumPy arrays. What is
drawn has no gradient, while `loc + scale * draw` has one in `loc` and `scale`, which may be traced. Gamma, beta,
chi-squared, Student's and Dirichlet numbers have gradients in their shapes too, as quantiles move with them. A pullback
reads the numbers that the forward pass drew: it never draws again, in whatever form a split is saved.

`seed` is a whole number. With it a program gives the same numbers each time that it is loaded, though not NumPy's
numbers: the file holds a number made from the seed, and each run goes on where the last one stopped. Without it they
differ from process to process; onnxruntime starts the programs of one process alike, so that the same program loaded
twice there draws the same numbers. Two draws with the same seed are the same draw.

A file does not keep how far its draws went. A training step that is stopped and loaded again starts them anew: 3 steps
and 3 more draw other numbers than 6 steps. Files of such steps warn with a RestartedDrawsWarning. To resume exactly,
draw outside of the function, and pass the numbers as an argument.

`np.random`, in contrast, draws while the function is traced: its numbers are constants of the program, the same in
every run. `primsplit audit --frozen` lists them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir.dims import Dim, Shape, Size, broadcast_shapes, same_shape
from primsplit.ir.errors import DtypeError, PrimsplitError, ShapeError
from primsplit.numpy.axes import array_like, one_axis
from primsplit.numpy.exponential import log1p
from primsplit.numpy.layout import as_shape
from primsplit.numpy.ufuncs import cast_to
from primsplit.numpy.units import common_dtype, number
from primsplit.ops import op
from primsplit.special.gamma_draws import WIDE, log_gamma_draw, moved_beta, moved_gamma
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to

__all__ = [
    "bernoulli", "beta", "chisquare", "dirichlet", "exponential", "gamma", "normal", "permutation", "shuffle",
    "standard_t", "uniform",
]  # fmt: skip


def normal(
    loc: Any = 0.0,
    scale: Any = 1.0,
    size: Any = None,
    *,
    dtype: npt.DTypeLike | None = None,
    seed: int | None = None,
) -> Any:
    """Numbers of a normal distribution with mean `loc` and standard deviation `scale`.

    `size` is a size or a tuple of sizes, which may be symbolic; None is the broadcast shape of the parameters. The
    dtype is floating point: `dtype`, or that of traced parameters, else float64. Raises ShapeError for parameters that
    do not broadcast to `size`, DtypeError for another dtype, PrimsplitError for a seed that is no whole number from 0
    on.

    >>> ps.random.normal(0.0, 1.0, (2, 3), dtype="float32", seed=0).shape
    (2, 3)
    """
    if not tracing.is_recording():
        return _plain(lambda rng: rng.normal(loc, scale, size), dtype, seed)
    shape, wanted, (mean, deviation) = _settle(size, dtype, loc, scale)
    return _shifted(_scaled(cast_to(_drawn("Normal", shape, seed), wanted), deviation), mean)


def uniform(
    low: Any = 0.0,
    high: Any = 1.0,
    size: Any = None,
    *,
    dtype: npt.DTypeLike | None = None,
    seed: int | None = None,
) -> Any:
    """Numbers evenly distributed over [low, high); rounding may give `high`. Size, dtype and errors as in `normal`."""
    if not tracing.is_recording():
        return _plain(lambda rng: rng.uniform(low, high, size), dtype, seed)
    shape, wanted, (first, last) = _settle(size, dtype, low, high)
    width = last if number(first) == 0 else last - first
    return _shifted(_scaled(cast_to(_drawn("Uniform", shape, seed), wanted), width), first)


def exponential(
    scale: Any = 1.0, size: Any = None, *, dtype: npt.DTypeLike | None = None, seed: int | None = None
) -> Any:
    """Numbers of an exponential distribution with mean `scale`. Size, dtype and errors as in `normal`."""
    if not tracing.is_recording():
        return _plain(lambda rng: rng.exponential(scale, size), dtype, seed)
    shape, wanted, (mean,) = _settle(size, dtype, scale)
    return _scaled(cast_to(-log1p(-_drawn("Uniform", shape, seed)), wanted), mean)


def gamma(
    shape: Any, scale: Any = 1.0, size: Any = None, *, dtype: npt.DTypeLike | None = None, seed: int | None = None
) -> Any:
    """Numbers of a gamma distribution with mean `shape * scale`; for a `shape` not above 0 NaN. Else as in `normal`.

    Its gradient in the shape is that of its quantile: what makes the gradient of a mean right.
    """
    if not tracing.is_recording():
        return _plain(lambda rng: rng.gamma(shape, scale, size), dtype, seed)
    wide, wanted, (form, factor) = _settle(size, dtype, shape, scale)
    return _scaled(cast_to(_gamma(form, wide, seed), wanted), factor)


def chisquare(df: Any, size: Any = None, *, dtype: npt.DTypeLike | None = None, seed: int | None = None) -> Any:
    """Numbers of a chi-squared distribution with `df` degrees of freedom, above 0. Else as in `gamma`."""
    if not tracing.is_recording():
        return _plain(lambda rng: rng.chisquare(df, size), dtype, seed)
    shape, wanted, (freedom,) = _settle(size, dtype, df)
    return cast_to(_gamma(freedom, shape, seed, 0.5) * 2.0, wanted)


def beta(a: Any, b: Any, size: Any = None, *, dtype: npt.DTypeLike | None = None, seed: int | None = None) -> Any:
    """Numbers of a beta distribution with shapes `a` and `b`, above 0. Else as in `gamma`."""
    if not tracing.is_recording():
        return _plain(lambda rng: rng.beta(a, b, size), dtype, seed)
    shape, wanted, (first, second) = _settle(size, dtype, a, b)
    return cast_to(_beta(first, second, shape, seed), wanted)


def standard_t(df: Any, size: Any = None, *, dtype: npt.DTypeLike | None = None, seed: int | None = None) -> Any:
    """Numbers of Student's distribution with `df` degrees of freedom, above 0. Else as in `gamma`."""
    if not tracing.is_recording():
        return _plain(lambda rng: rng.standard_t(df, size), dtype, seed)
    shape, wanted, (freedom,) = _settle(size, dtype, df)
    half = expand_to(cast_to(freedom, WIDE), shape) * 0.5
    drawn = _drawn("Normal", shape, seed, place=3) * op.Sqrt(half / _gamma(freedom, shape, seed, 0.5))
    return cast_to(drawn, wanted)


def dirichlet(alpha: Any, size: Any = None, *, dtype: npt.DTypeLike | None = None, seed: int | None = None) -> Any:
    """Vectors of positive numbers whose sum is 1, [*size, k], for shapes `alpha` [k], above 0. Else as in `gamma`.

    Each number but the last is a part, of a beta distribution, of what those before it leave.
    """
    if not tracing.is_recording():
        return _plain(lambda rng: rng.dirichlet(alpha, size), dtype, seed)
    (count,), wanted, (given,) = _settle(None, dtype, alpha)
    lead, shapes = () if size is None else as_shape(size), cast_to(given, WIDE)
    last: Any = np.cumsum(shapes[::-1])[::-1]
    parts: Any = _beta(shapes[:-1], last[1:], (*lead, count - 1), seed)
    one: Any = op.Cast(expand_to(array_like(np.ones(())), (*lead, 1)), to=WIDE)
    left = np.concatenate([one, np.cumprod(1.0 - parts, axis=-1)], axis=-1)
    return cast_to(left * np.concatenate([parts, one], axis=-1), wanted)


def bernoulli(p: Any = 0.5, size: Any = None, *, dtype: npt.DTypeLike = bool, seed: int | None = None) -> Any:
    """Draw True with probability `p`, which gets no gradient; in another `dtype`, 1. Size and errors as in `normal`."""
    if not tracing.is_recording():
        shape = np.shape(p) if size is None else size
        return _plain(lambda rng: rng.random(shape) < p, dtype, seed)
    shape, _, (chance,) = _settle(size, None, p)
    return op.Bernoulli(expand_to(chance, shape), dtype=np.dtype(dtype), seed=_attribute(seed))


def permutation(x: Any, axis: int = 0, *, seed: int | None = None) -> Any:
    """`x`, of any dtype, with its parts along an axis in random order; for a size, the numbers below it, int64.

    Each part gets the gradient of the place that it was put at. Raises PrimsplitError for a seed that is no whole
    number from 0 on, ShapeError for an axis that is none.

    >>> sorted(ps.random.permutation(4).tolist())
    [0, 1, 2, 3]
    """
    if not tracing.is_recording():
        return np.random.default_rng(_whole(seed)).permutation(x, axis)
    if isinstance(x, int | np.integer | Size):
        return _order(x if isinstance(x, Size) else int(x), seed)
    array = array_like(x)
    place = one_axis(axis, array.ndim)
    return op.Gather(array, _order(array.shape[place], seed), axis=place, types=[array.type])


def shuffle(x: Any, axis: int = 0, *, seed: int | None = None) -> None:
    """Put the parts of `x` along an axis in random order, in place; see `permutation`.

    Raises DtypeError in a trace for an array that is not traced.
    """
    if not isinstance(x, Array):
        if tracing.is_recording():
            raise DtypeError(
                "ps.random.shuffle of an array that is not traced",
                place=tracing.user_place(),
                cure="Use ps.random.permutation, which gives a new array.",
            )
        np.random.default_rng(_whole(seed)).shuffle(x, axis)
        return
    x.assign(permutation(x, axis, seed=seed))


# How a program draws.


def _drawn(kind: str, shape: Shape, seed: int | None, *, place: int = 0) -> Array:
    """A standard draw in float64, with numbers of one run. `place` distinguishes the draws of a function."""
    if shape and all(isinstance(d, int) for d in shape):
        literal: Array = getattr(op, f"Random{kind}")(shape=list(shape), dtype=WIDE, seed=_attribute(seed, place))
        return literal
    like = expand_to(array_like(np.zeros((), np.float32)), shape)
    found: Array = getattr(op, f"Random{kind}Like")(like, dtype=WIDE, seed=_attribute(seed, place))
    return found


def _gamma(form: Array, shape: Shape, seed: int | None, part: float = 1.0) -> Array:
    """Gamma numbers in float64, of this part of the shapes given."""
    wide = expand_to(cast_to(form, WIDE), shape) * part
    return moved_gamma(wide, op.Exp(log_gamma_draw(wide, _attributes(seed))))


def _beta(a: Array, b: Array, shape: Shape, seed: int | None) -> Array:
    """Beta numbers in float64: the part that one gamma number is of two, by their logarithms, as both may vanish."""
    wide = [expand_to(cast_to(form, WIDE), shape) for form in (a, b)]
    both = op.Concat(*(op.Unsqueeze(form, [0]) for form in wide), axis=0)
    drawn = log_gamma_draw(both, _attributes(seed))
    first, second = op.Split(drawn, axis=0, num_outputs=2)
    return moved_beta(*wide, op.Squeeze(op.Sigmoid(first - second), [0]))


def _order(size: Dim, seed: int | None) -> Array:
    """The numbers below a size in random order: the places of random numbers when sorted."""
    count = [size] if isinstance(size, Size) else np.array([size])
    _, places = op.TopK(_drawn("Uniform", (size,), seed), count, axis=0, largest=0)
    return array_like(places)


def _scaled(x: Array, factor: Array) -> Array:
    return x if number(factor) == 1 else op.Mul(x, factor)


def _shifted(x: Array, offset: Array) -> Array:
    return x if number(offset) == 0 else op.Add(x, offset)


def _settle(size: Any, dtype: Any, *parameters: Any) -> tuple[Shape, np.dtype[Any], list[Array]]:
    """The shape and dtype of a draw, and its parameters in that dtype. Raises ShapeError and DtypeError."""
    arrays = [array_like(p) for p in parameters]
    floats = [a for a in arrays if not a.weak and a.type.is_float]
    wanted = np.dtype(dtype) if dtype is not None else common_dtype(*floats) if floats else WIDE
    if not (wanted.kind == "f" or wanted.name == "bfloat16"):
        raise DtypeError(f"random numbers of {wanted} cannot be drawn", place=tracing.user_place())
    try:
        least = broadcast_shapes(*(a.shape for a in arrays))
        shape = least if size is None else as_shape(size)
        if not same_shape(broadcast_shapes(least, shape), shape):
            raise ShapeError(f"parameters of shape {_told(least)} do not broadcast to the size {_told(shape)}")
    except ShapeError as error:
        error.place = tracing.user_place()
        raise
    return shape, wanted, [cast_to(a, wanted) for a in arrays]


def _told(shape: Shape) -> str:
    return f"[{','.join(map(str, shape))}]"


def _whole(seed: Any) -> int | None:
    """The seed as an int. Raises PrimsplitError for what is no whole number from 0 on."""
    if seed is None:
        return None
    try:
        whole = -1 if isinstance(seed, Array) else int(seed)
    except (TypeError, ValueError, OverflowError):
        whole = -1
    if whole < 0 or whole != seed:
        raise PrimsplitError(f"a seed is a whole number from 0 on, not {seed!r}", place=tracing.user_place())
    return whole


def _attribute(seed: int | None, place: int = 0) -> float | None:
    """The operator's attribute for a seed, the one at a place of many: a whole number that float32 holds.

    It is scrambled, because onnxruntime's generator gives small seeds numbers that are multiples of each other.
    """
    whole = _whole(seed)
    if whole is None:
        return None
    return float((int(np.random.SeedSequence(whole).generate_state(place + 1)[place]) >> 8) + 1)


def _attributes(seed: int | None) -> list[float | None]:
    return [_attribute(seed, place) for place in range(3)]


def _plain(draw: Callable[[Any], Any], dtype: npt.DTypeLike | None, seed: int | None) -> Any:
    """Draw from NumPy's generator, as an array of the dtype."""
    found = np.asarray(draw(np.random.default_rng(_whole(seed))))
    return found if dtype is None else found.astype(dtype)

"""Random small programs for property tests: chains of operators with the constants and shapes that passes look for."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st

from primsplit import tracing
from primsplit.ir import Block, Type, dims
from primsplit.ir.dims import symbol
from primsplit.onnx.save import serialize, to_model
from primsplit.ops import op
from primsplit.programs.runtime import Session
from primsplit.rewrites.inline import inline_calls
from primsplit.tracing.array import Array

N = symbol("N")
NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.0, 4.0, 0.5, 3.0, np.inf, np.nan)
PARAMS = (Type("float32", [N, 3]), Type("float32", [N, 3]), Type("float32", [3]), Type("float32", []))
INPUTS = (0.0, -0.0, 1.0, -1.5, 2.5, 1e-40, -1e38, 3e38, np.inf, -np.inf, np.nan)
UNARY = ("Neg", "Abs", "Relu", "Floor", "Identity", "Neg", "Sign")
BINARY = ("Add", "Sub", "Mul", "Div", "Add", "Mul")

Pool = list[Array]
Draw = st.DrawFn


def _pick(draw: Draw, pool: Sequence[Array]) -> Array:
    return pool[draw(st.integers(0, len(pool) - 1))]


def _unary(draw: Draw, pool: Pool) -> Any:
    return getattr(op, draw(st.sampled_from(UNARY)))(_pick(draw, pool))


def _binary(draw: Draw, pool: Pool) -> Any:
    x = _pick(draw, pool)
    y = _pick(draw, [a for a in pool if a.dtype == x.dtype and _meets(a, x)])
    return getattr(op, draw(st.sampled_from(BINARY)))(x, y)


def _meets(a: Array, b: Array) -> bool:
    """Whether the two broadcast whatever N is."""
    pairs = zip(a.shape[::-1], b.shape[::-1], strict=False)
    return all(dims.same(x, y) or dims.is_one(x) or dims.is_one(y) for x, y in pairs)


def _with_number(draw: Draw, pool: Pool) -> Any:
    x = _pick(draw, pool)
    number = np.asarray(draw(st.sampled_from(NUMBERS)), x.dtype)
    if x.shape and draw(st.booleans()):
        number = np.full(tuple(d if isinstance(d, int) else 1 for d in x.shape), number)
    operands = (x, number) if draw(st.booleans()) else (number, x)
    return getattr(op, draw(st.sampled_from(BINARY)))(*operands)


def _transpose(draw: Draw, pool: Pool) -> Any:
    x = _pick(draw, pool)
    return op.Transpose(x, perm=draw(st.permutations(range(len(x.shape)))))


def _flatten(draw: Draw, pool: Pool) -> Any:
    return op.Reshape(_pick(draw, pool), [-1])


def _restore(draw: Draw, pool: Pool) -> Any:
    x, like = _pick(draw, pool), _pick(draw, pool)
    return op.Reshape(x, op.Shape(like), allowzero=1, types=[Type(x.dtype, like.shape)]) if _same_size(x, like) else x


def _same_size(a: Array, b: Array) -> bool:
    return dims.same(dims.product(a.shape), dims.product(b.shape))


def _new_axis(draw: Draw, pool: Pool) -> Any:
    x = _pick(draw, pool)
    return op.Unsqueeze(x, [draw(st.integers(0, len(x.shape)))]) if len(x.shape) < 3 else x


def _drop_axis(draw: Draw, pool: Pool) -> Any:
    x = _pick(draw, pool)
    ones = [i for i, d in enumerate(x.shape) if dims.is_one(d)]
    return op.Squeeze(x, [draw(st.sampled_from(ones))]) if ones else x


def _expand(draw: Draw, pool: Pool) -> Any:
    wide = _pick(draw, pool)
    narrow = [a for a in pool if len(a.shape) <= len(wide.shape) and _meets(a, wide)]
    x = _pick(draw, narrow)
    return op.Expand(x, op.Shape(wide))


def _fill(draw: Draw, pool: Pool) -> Any:
    number = np.array([draw(st.sampled_from(NUMBERS))], np.float32)
    return op.ConstantOfShape(op.Shape(_pick(draw, pool)), value=number)


def _reduce(draw: Draw, pool: Pool) -> Any:
    x = _pick(draw, pool)
    if not x.shape:
        return x
    kind = draw(st.sampled_from(["ReduceSum", "ReduceSum", "ReduceProd"]))
    axis = draw(st.integers(0, len(x.shape) - 1))
    return getattr(op, kind)(x, [axis], keepdims=draw(st.integers(0, 1)))


def _cast(draw: Draw, pool: Pool) -> Any:
    """There and back with work between: onnxruntime loses a bare pair of casts whose result an If captures."""
    x = _pick(draw, pool)
    return op.Cast(op.Mul(op.Cast(x, to=np.float64), draw(st.sampled_from([1.0, 2.0, 3.0]))), to=x.dtype)


def _where(draw: Draw, pool: Pool) -> Any:
    """A choice between integers: of floats, onnxruntime's Where makes 0.0 of a -0.0 that it chooses."""
    x = _pick(draw, pool)
    y = _pick(draw, [a for a in pool if dims.same_shape(a.shape, x.shape)])
    condition: Any = np.array(draw(st.booleans()))
    if draw(st.booleans()):
        condition = op.Greater(x, y)
    if draw(st.booleans()):
        condition = op.Not(condition)
    signs = [op.Cast(op.Less(a, np.float32(0)), to=np.int32) for a in (x, y)]
    return op.Cast(op.Where(condition, *signs), to=x.dtype)


def _nothing(draw: Draw, pool: Pool) -> Any:
    x = _pick(draw, pool)
    if not x.shape:
        return op.Sum(x)
    choices: list[Callable[[], Any]] = [
        lambda: op.Concat(x, axis=0),
        lambda: op.Slice(x, [0], [2**62], [0]),
        lambda: op.Pad(x, [0] * (2 * len(x.shape))),
        lambda: op.Tile(x, [1] * len(x.shape)),
        lambda: op.Max(x),
        lambda: op.Clip(x),
    ]
    return draw(st.sampled_from(choices))()


def _size_arithmetic(draw: Draw, pool: Pool) -> Any:
    x = _pick(draw, pool)
    rows = op.Gather(op.Shape(x), [0]) if x.shape else np.array([2])
    return op.Expand(np.float32(draw(st.sampled_from(NUMBERS))), op.Concat(rows, np.array([1, 3]), axis=0))


def _constants(draw: Draw, pool: Pool) -> Any:
    a, b = (np.float32(draw(st.sampled_from(NUMBERS))) for _ in range(2))
    return getattr(op, draw(st.sampled_from(BINARY)))(op.Unsqueeze(a, [0]), op.Expand(b, [3]))


def _branch(draw: Draw, pool: Pool) -> Any:
    known = draw(st.sampled_from([None, True, False]))
    condition = op.Greater(pool[3], np.float32(0)) if known is None else np.array(known)
    x = _pick(draw, pool)
    bodies = []
    for name in ("then_branch", "else_branch"):
        with tracing.recording() as recorded:
            inner = [*pool]
            for _ in range(draw(st.integers(0, 3))):
                inner.append(draw(st.sampled_from([_unary, _with_number]))(draw, inner))
            fitting = [a for a in inner if a.type == x.type]
            result = fitting[-1].value
        bodies.append(tracing.close(name, [], recorded, [result]))
    (made,) = op.If(condition, then_branch=bodies[0], else_branch=bodies[1], types=[x.type])
    return made


STEPS = (
    _unary, _unary, _binary, _binary, _with_number, _with_number, _with_number, _transpose, _flatten, _restore,
    _new_axis, _drop_axis, _expand, _fill, _reduce, _cast, _where, _nothing, _size_arithmetic, _constants, _branch,
)  # fmt: skip


@st.composite
def blocks(draw: Draw, most: int = 14) -> Block:
    """A program of float32 inputs x, y [N,3], r [3] and s; its results are the last values it computes."""
    with tracing.recording() as recorded:
        params = [recorded.param(t, name) for t, name in zip(PARAMS, "xyrs", strict=True)]
        pool = [Array(p) for p in params]
        for _ in range(draw(st.integers(1, most))):
            pool.append(draw(st.sampled_from(STEPS))(draw, pool))
        results = [a.value for a in pool[-3:]]
    return tracing.close("program", params, recorded, results)


def arguments(seed: int, rows: int) -> list[np.ndarray]:
    """Inputs for a block of `blocks`, with zeros of both signs, denormal numbers, infinities and NaN among them."""
    random = np.random.default_rng(seed)
    shapes = ((rows, 3), (rows, 3), (3,), ())
    with np.errstate(over="ignore"):
        return [np.asarray(random.choice(INPUTS, shape), np.float32).reshape(shape) for shape in shapes]


def run(block: Block, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The block's results by onnxruntime, which is told to change nothing."""
    model = serialize(to_model(inline_calls(block)))
    onnx.checker.check_model(model)
    return Session(model, threads=1, optimize=False)(*inputs)


def bits(arrays: Sequence[np.ndarray]) -> list[Any]:
    """The arrays in a form that compares bit by bit, all NaNs alike."""
    return [(a.shape, a.dtype.name, np.where(np.isnan(a), np.full_like(a, np.nan), a).tobytes()) for a in arrays]

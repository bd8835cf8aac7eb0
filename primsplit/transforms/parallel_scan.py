"""Compute all steps of a Scan at once: `ps.scan(..., parallel=True)`.

The carries of all steps are the root of s[t] - f(s[t-1], x[t]). Each iteration of Newton's method evaluates f and its
Jacobian for all steps together and solves a linear recurrence by an associative scan. After k iterations the first k
steps are exact; a smooth recurrence takes 5 to 10 iterations. If a step then differs from f by more than the tolerance,
the run goes step by step. (Gonzalez et al. 2024, Towards scalable and stable parallelization of nonlinear RNNs; Lim et
al. 2024, Parallelizing non-linear sequential models over the sequence length, section 3.)

The derivative is that of the root, by the implicit function theorem: one linear recurrence from the last step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Type, Value, Var, free, walk
from primsplit.ir.dims import Dim
from primsplit.ir.errors import DtypeError, ShapeError, TraceError
from primsplit.numpy.axes import slab
from primsplit.numpy.dense.loop import until
from primsplit.ops import op
from primsplit.ops.schema import exists, schema
from primsplit.rewrites.rewriting import drop_dead_code
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, zeros
from primsplit.tracing.calls.primitive import Primitive, rrule
from primsplit.tracing.hooks import HOOKS
from primsplit.tracing.regions import ScanForm, Walk, emit_if, emit_scan, record
from primsplit.transforms.associative_scans import adjoint_recurrence, linear_recurrence, running_maximum
from primsplit.transforms.batching.transform import batch_block
from primsplit.transforms.forward import linear_part
from primsplit.transforms.gradient import vector_jacobian

MOST = 8
"""The most numbers that a carry has: the work of a step grows with their cube."""
ITERATIONS = 24
"""The most iterations; a recurrence that needs more is not faster than its Scan."""


def parallel_scan(block: Block, starts: Sequence[Array], sequences: Sequence[Array], tolerance: float) -> list[Value]:
    """The last carries and what is stacked of a Scan of this body, whose parameters are carries and elements.

    Each step differs from the body's by at most `tolerance` times the largest magnitude of its carry until then, 0 for
    rounding.
    Raises DtypeError or ShapeError for carries that are not a few floats of one dtype.
    """
    steps = Steps.of(block, starts, tolerance)
    states = steps.states([*starts, *sequences, *map(Array, steps.captures)])
    count, length = len(starts), sequences[0].shape[0]
    before = steps.unpacked(steps.before(starts, states))
    stacked = steps.at_once(steps.whole, before, [*sequences, *map(Array, steps.captures)], length)[count:]
    every = op.Concat(steps.packed_starts(starts), states, axis=1)
    last = slab(every, 1, length, length + 1)
    ends = [reshape_to(x, s.shape) for x, s in zip(steps.unpacked(last), starts, strict=True)]
    return [x.value for x in (*ends, *stacked)]


HOOKS.parallel_scan = parallel_scan


@dataclass(frozen=True, slots=True)
class Steps:
    """The body of a Scan as functions of all steps. `whole` has what it captures as further parameters.

    Carries of all steps are packed as [m, n]: m numbers at n steps.
    """

    whole: Block
    captures: tuple[Var, ...]
    types: tuple[Type, ...]
    tolerance: float

    @classmethod
    def of(cls, block: Block, starts: Sequence[Array], tolerance: float) -> "Steps":
        """Return the steps. Raises DtypeError, ShapeError or TraceError for what cannot be run at once."""
        dtypes = {a.dtype for a in starts}
        if len(dtypes) != 1 or not starts[0].type.is_float:
            raise DtypeError("a parallel scan carries floats of one dtype", place=tracing.user_place())
        sizes = [d for a in starts for d in a.shape]
        total = sum(_count(a.type) for a in starts) if all(isinstance(d, int) for d in sizes) else None
        if total is None or not 0 < total <= MOST:
            told = f"a parallel scan carries up to {MOST} numbers"
            raise ShapeError(told, place=tracing.user_place(), cure="Leave parallel= out.")
        if any(exists(each.kind) and not schema(each.kind).deterministic for each in walk(block)):
            raise TraceError(
                "a parallel scan draws no random numbers",
                place=tracing.user_place(),
                cure="Draw them for all steps before the scan, and pass them as xs.",
            )
        captures = tuple(free(block))
        whole = Block(block.name, (*block.params, *captures), block.ops, block.results)
        eps = float(np.finfo(starts[0].dtype).eps)
        return cls(whole, captures, tuple(a.type for a in starts), max(tolerance, 64 * eps))

    @property
    def count(self) -> int:
        """The number of carries."""
        return len(self.types)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the carries."""
        return self.types[0].dtype

    @property
    def step(self) -> Block:
        """The body without what it stacks."""
        found = Block(self.whole.name, self.whole.params, self.whole.ops, self.whole.results[: self.count])
        return drop_dead_code(found)

    def packed(self, carries: Sequence[Array]) -> Array:
        """Carries [n, ...] as [m, n]."""
        rows = [op.Transpose(reshape_to(c, (c.shape[0], _count(t))), perm=[1, 0]) for c, t in self.pairs(carries)]
        return op.Concat(*rows, axis=0) if len(rows) > 1 else rows[0]

    def unpacked(self, states: Array) -> list[Array]:
        """The carries [n, ...] of [m, n]."""
        found, first = [], 0
        for t in self.types:
            rows = op.Transpose(slab(states, 0, first, first + _count(t)), perm=[1, 0])
            found.append(reshape_to(rows, (states.shape[1], *(t.shape or ()))))
            first += _count(t)
        return found

    def pairs(self, carries: Sequence[Array]) -> list[tuple[Array, Type]]:
        """Carries with the type of one step's."""
        return list(zip(carries, self.types, strict=True))

    def packed_starts(self, starts: Sequence[Array]) -> Array:
        """The first carries as [m, 1]."""
        return self.packed([op.Unsqueeze(s, [0]) for s in starts])

    def before(self, starts: Sequence[Array], states: Array) -> Array:
        """The carries before each step, of those after it."""
        return slab(op.Concat(self.packed_starts(starts), states, axis=1), 1, 0, states.shape[1])

    def at_once(self, block: Block, carries: Sequence[Array], rest: Sequence[Array], length: Dim) -> list[Array]:
        """The results of a block at all steps; `rest` are sequences and captures."""
        shared = len(self.captures)
        flags = [*(True for _ in carries), *(i < len(rest) - shared for i in range(len(rest)))]
        batched, _ = batch_block(block, flags, length, wanted=[True] * len(block.results))
        return [Array(v) for v in tracing.inline(batched, [a.value for a in (*carries, *rest)])]

    def after(self, before: Array, rest: Sequence[Array]) -> Array:
        """The carries after each step, [m, n]."""
        found = self.at_once(self.step, self.unpacked(before), rest, before.shape[1])
        return op.Identity(self.packed(found), types=[before.type])

    def with_slopes(self, before: Array, rest: Sequence[Array]) -> tuple[Array, Array]:
        """The carries after each step, and their Jacobians by those before it, [m, m, n]."""
        size, length = before.shape
        *found, slopes = self.at_once(self.sloped(), self.unpacked(before), rest, length)
        moved = op.Transpose(slopes, perm=[2, 1, 0], types=[Type(self.dtype, (size, size, length))])
        return op.Identity(self.packed(found), types=[before.type]), moved

    def sloped(self) -> Block:
        """The step with the rows of its Jacobian's transpose [m, m], one for each number of the carry before it."""

        def body(*params: Array) -> list[Value]:
            def moved(*carries: Array) -> list[Array]:
                return [
                    Array(v) for v in tracing.inline(self.step, [a.value for a in (*carries, *params[self.count :])])
                ]

            found, linear = linear_part(moved, params[: self.count])
            rows = [op.Concat(*(op.Reshape(t, [-1]) for t in linear(*along)), axis=0) for along in self.basis()]
            return [*(a.value for a in found), op.Concat(*(op.Unsqueeze(r, [0]) for r in rows), axis=0).value]

        return record(self.whole.name, [p.type for p in self.whole.params], body)

    def basis(self) -> list[list[Any]]:
        """The unit tangents of the carries."""
        found = []
        for i, t in enumerate(self.types):
            for row in np.eye(_count(t), dtype=self.dtype):
                one = Array(tracing.constant(row.reshape([int(d) for d in t.shape or ()])))
                found.append([one if k == i else None for k in range(self.count)])
        return found

    def states(self, args: Sequence[Array]) -> Array:
        """The carries after each step, [m, n], as one op whose derivative is that of a root."""
        count, name = self.count, f"{self.whole.name}.parallel"

        def found(*args: Array) -> Array:
            return self.solved(args[:count], args[count:])

        made = Primitive(found, name)

        @rrule(made)
        def rule(*args: Array) -> tuple[Array, Callable[..., Any]]:
            states: Array = made(*args)
            return states, lambda cotangent: self.cotangents(args, states, cotangent)

        result: Array = made(*args)
        return result

    def solved(self, starts: Sequence[Array], rest: Sequence[Array]) -> Array:
        """The carries after each step by Newton's method, or step by step where it does not find them."""
        first = self.packed_starts(starts)
        guess = op.Add(first, zeros((first.shape[0], rest[0].shape[0]), self.dtype))

        def step(states: Array, _: Array) -> list[Array]:
            before = self.before(starts, states)
            after, slopes = self.with_slopes(before, rest)
            moved = linear_recurrence(slopes, op.Sub(after, states))
            states = op.Add(states, moved, types=[states.type])
            size = op.Max(op.Abs(states), op.Abs(before))
            return [states, _any(op.Greater(op.Abs(moved), self.part(size, float(np.sqrt(self.tolerance)))))]

        begin = [guess, Array(op.Identity(np.array(True)).value)]
        states, _ = until(lambda _, is_moving: op.Not(is_moving), step, begin, ITERATIONS)
        after = self.after(self.before(starts, states), rest)
        size = running_maximum(op.Max(op.Abs(after), op.Abs(first), types=[after.type]))
        is_off = _any(op.Not(op.LessOrEqual(op.Abs(op.Sub(after, states)), self.part(size, self.tolerance))))
        one_by_one = record("steps", [], lambda: [self.one_by_one(starts, rest, after.type).value])
        kept = record("together", [], lambda: [op.Identity(after, types=[after.type]).value])
        return Array(emit_if(is_off.value, one_by_one, kept, [after.type])[0])

    def part(self, size: Array, tolerance: float) -> Array:
        """So much of a magnitude, and not less than the smallest normal number."""
        least = np.asarray(np.finfo(self.dtype).tiny, self.dtype)
        return op.Add(op.Mul(size, np.asarray(tolerance, self.dtype)), least)

    def one_by_one(self, starts: Sequence[Array], rest: Sequence[Array], type: Type) -> Array:
        """The carries after each step by a Scan."""
        shared = len(self.captures)
        sequences = rest[: len(rest) - shared]
        step, count = self.step, self.count
        own = step.params[: count + len(sequences)]
        renamed = {p: a.value for p, a in zip(step.params[len(own) :], rest[len(sequences) :], strict=True)}

        def body(*params: Array) -> list[Value]:
            values = [*(p.value for p in params), *renamed.values()]
            found = tracing.inline(step, values)
            return [*found, *(op.Identity(Array(v)).value for v in found)]

        made = record(step.name, [p.type for p in own], body)
        walks = (Walk(),)
        form = ScanForm(made, count, walks * len(sequences), walks * count)
        found = emit_scan(form, [s.value for s in starts], [s.value for s in sequences])
        return op.Identity(self.packed([Array(v) for v in found[count:]]), types=[type])

    def cotangents(self, args: Sequence[Array], states: Array, cotangent: Array) -> list[Array | None]:
        """The cotangents of the first carries, the sequences and the captures, of those of the states."""
        starts, rest = args[: self.count], args[self.count :]
        _, slopes = self.with_slopes(self.before(starts, states), rest)
        back = adjoint_recurrence(slopes, cotangent)
        floats = [i for i, a in enumerate(args) if a.type.is_float]
        detached = states

        def after(*moving: Array) -> Array:
            given = list(args)
            for i, value in zip(floats, moving, strict=True):
                given[i] = value
            return self.after(self.before(given[: self.count], detached), given[self.count :])

        _, pullback = vector_jacobian(after, tuple(args[i] for i in floats), {}, list(range(len(floats))))
        moved = dict(zip(floats, pullback(back), strict=True))
        return [moved.get(i) for i in range(len(args))]


def _any(x: Array) -> Array:
    """Whether an element is True."""
    return op.Greater(op.ReduceSum(op.Cast(x, to=np.int64), keepdims=0), np.int64(0))


def _count(type: Type) -> int:
    return int(np.prod([int(d) for d in type.shape or ()], dtype=np.int64))

"""Replace a Scan that carries one vector of logarithms by products of scaled exponentials, before differentiation.

The forward algorithm of a hidden Markov model in log space is such a Scan. A step there takes an exponential for each
element of the matrix, and the gradient another one; `scaled_products` takes none. A run whose numbers have too large a
range for products, as where a step is impossible, and one of few steps take the Scan.

```
Scan(a, terms): a = Add(logsumexp(Add(Unsqueeze(a, [1]), matrix), axis=(0,)), term)   ->   scaled products
```
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Op, Value, Var, walk
from primsplit.ir.analysis.carries import lead_and_carries
from primsplit.ir.analysis.dependence import dependent
from primsplit.ir.dims import Dim
from primsplit.numpy.axes import size_as
from primsplit.numpy.extrema import NAMED
from primsplit.numpy.log_sums import log_sum_exp
from primsplit.ops import op as operators
from primsplit.ops.schema import exists, schema
from primsplit.rewrites.rewrites.matching import Capture, Node, Template, pattern
from primsplit.rewrites.rewriting import Rewriter, integers, literal_shape
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import transpose, zeros
from primsplit.tracing.regions import ScanForm, Walk, emit_if, emit_scan, record, walks_of
from primsplit.transforms.idioms.scaled_products import Scaled

LEAST = 32
"""The fewest steps for which products take less time."""


def recognize_log_recurrences(block: Block) -> Block:
    """Return the block with such Scans replaced; itself if there are none. Sub-blocks stay."""
    return _Replacing().run(block)


class _Replacing(Rewriter):
    """The walk."""

    kinds = frozenset({"Scan"})

    def inside(self, op: Op) -> Any:
        """Leave sub-blocks, as each is differentiated by itself."""
        return op.attributes

    def visit(self, op: Op) -> Op | None:
        """Return the op, or None for a Scan that has been replaced."""
        found = log_recurrence(op) if op.kind == "Scan" else None
        if found is None:
            return super().visit(op)
        self.replace_by(op, found.outputs)
        return None


@dataclass(frozen=True, slots=True)
class LogRecurrence:
    """A Scan whose step is logsumexp(a[:, None] + matrix, axis=0), and the sum of what is added and subtracted.

    With `is_turned` the matrix is transposed: it is logsumexp(a + matrix, axis=1).
    """

    scan: Op
    matrix: Value
    is_turned: bool
    added: tuple[Value, ...]
    subtracted: tuple[Value, ...]
    stacks: tuple["_Stack", ...]

    @property
    def inputs(self) -> list[Value]:
        """The first vector and the sequences."""
        return [v for v in self.scan.inputs if v is not None]

    @property
    def length(self) -> Dim:
        """The number of steps."""
        return (self.inputs[1].type.shape or (0,))[0]

    def outputs(self) -> list[Value]:
        """Record both ways and the choice; return the last vector and what is stacked."""
        start = Array(self.inputs[0])
        matrix = transpose(Array(self.matrix), (1, 0)) if self.is_turned else Array(self.matrix)
        scaled = Scaled.of(start, matrix, self.terms())
        is_right = scaled.is_within()
        if not isinstance(self.length, int):
            is_right = is_right & (Array(size_as(self.length, np.int64).value) >= LEAST)
        together = record("together", [], lambda: self.together(scaled))
        types = [v.type for v in self.scan.outputs]
        return emit_if(is_right.value, together, record("steps", [], self.one_by_one), types)

    def together(self, scaled: Scaled) -> list[Value]:
        """Return the results of the Scan, by products."""
        if not self.stacks:
            return [scaled.last().value]
        states = scaled.every()
        before = np.concatenate([scaled.start[None], states[:-1]])
        stacked = [before if stack.is_before else states for stack in self.stacks]
        turned = [x[::-1] if stack.walk.reverse else x for x, stack in zip(stacked, self.stacks, strict=True)]
        found = zip((states[-1], *turned), self.scan.outputs, strict=True)
        return [operators.Identity(x, types=[v.type]).value for x, v in found]

    def one_by_one(self) -> list[Value]:
        """The Scan."""
        types = [v.type for v in self.scan.outputs]
        attributes = dict(self.scan.attributes)
        return list(tracing.emit("Scan", self.scan.inputs, attributes, outputs=len(types), types=types))

    def terms(self) -> Array:
        """The sum of the terms of each step, [n, m], in the order of the walk: a Scan that is batched later."""
        body: Block = self.scan.attributes["body"]
        walks = walks_of(self.scan.attributes, "scan_input", len(self.inputs) - 1)
        if self.added == body.params[1:] and not self.subtracted and walks == (Walk(),):
            return Array(self.inputs[1])
        moving = dependent(body.ops, body.params[:1])
        fixed = [op for op in body.ops if moving.isdisjoint(op.outputs)]
        one = body.params[0].type

        def step(*elements: Array) -> list[Value]:
            values = dict.fromkeys((*self.added, *self.subtracted))
            block = Block("terms", body.params[1:], tuple(fixed), tuple(values))
            found = dict(zip(values, map(Array, tracing.inline(block, [e.value for e in elements])), strict=True))
            total: Any = zeros(one.shape or (), one.dtype)
            for value in self.added:
                total = total + found[value]
            for value in self.subtracted:
                total = total - found[value]
            return [total.value]

        made = record("terms", [v.type for v in body.params[1:]], step)
        return Array(emit_scan(ScanForm(made, 0, walks, (Walk(),)), [], self.inputs[1:])[0])


def log_recurrence(scan: Op) -> LogRecurrence | None:
    """Return the Scan if it is one of log-sum-exps that stacks nothing but its vectors, else None."""
    body: Block = scan.attributes["body"]
    _, count = lead_and_carries(scan)
    if count != 1 or len(scan.inputs) == 1:
        return None
    carry = body.params[0]
    shape = literal_shape(carry.type)
    length = _length(scan)
    if carry.type.dtype not in (np.float32, np.float64) or shape is None or len(shape) != 1 or shape[0] < 2:
        return None
    if length is None or (isinstance(length, int) and length < LEAST):
        return None
    if any(exists(each.kind) and not schema(each.kind).deterministic for each in walk(body)):
        return None
    return _Step(body, dependent(body.ops, [carry]), shape[0]).parted(scan)


def _length(scan: Op) -> Dim | None:
    """Return the number of steps; None if a sequence is not walked along its first axis."""
    walks = walks_of(scan.attributes, "scan_input", len(scan.inputs) - 1)
    sequence = scan.inputs[1]
    shape = None if sequence is None else sequence.type.shape
    return None if shape is None or any(walk.axis for walk in walks) else shape[0]


@dataclass(frozen=True, slots=True)
class _Step:
    """The body of a Scan that carries a vector of so many numbers, and the values that depend on it."""

    body: Block
    moving: set[Var]
    states: int

    def parted(self, scan: Op) -> LogRecurrence | None:
        """Return the parts of the step, if it has them."""
        made_by = {v: op for op in self.body.ops for v in op.outputs}
        stacks = _stacks(scan, made_by)
        if stacks is None:
            return None
        value, added, subtracted = self.without_terms(self.body.results[0], made_by)
        for summed, axis in _log_sums(value, made_by):
            inner, matrices, none = self.without_terms(summed, made_by)
            if none or len(matrices) != 1 or not self.is_fixed(matrices[0]) or summed.type.rank != 2:
                continue
            is_turned = axis % 2 == 1
            wanted = (1, self.states) if is_turned else (self.states, 1)
            seen = literal_shape(inner.type)
            is_carry = _source(inner, made_by) is self.body.params[0]
            if is_carry and (seen == wanted or (is_turned and seen == wanted[1:])):
                fits = all(v.type.rank in (0, 1) for v in (*added, *subtracted))
                parts = LogRecurrence(scan, matrices[0], is_turned, tuple(added), tuple(subtracted), stacks)
                return parts if fits else None
        return None

    def without_terms(self, value: Value, made_by: dict[Var, Op]) -> tuple[Value, list[Value], list[Value]]:
        """Return the value that depends on the carry, and what is added to it and subtracted that does not."""
        added: list[Value] = []
        subtracted: list[Value] = []
        while True:
            op = made_by.get(value) if isinstance(value, Var) else None
            if op is None or op.kind not in {"Add", "Sub"}:
                return value, added, subtracted
            a, b = op.inputs
            assert a is not None
            assert b is not None
            if op.kind == "Add" and a not in self.moving:
                a, b = b, a
            if b in self.moving or a not in self.moving:
                return value, added, subtracted
            (added if op.kind == "Add" else subtracted).append(b)
            value = a

    def is_fixed(self, matrix: Value) -> bool:
        """Whether it is a matrix of all states by all states, and the same in each step."""
        changing = dependent(self.body.ops, self.body.params)
        return literal_shape(matrix.type) == (self.states, self.states) and matrix not in changing


@dataclass(frozen=True, slots=True)
class _Stack:
    """A stack of the vectors before or after each step."""

    is_before: bool
    walk: Walk


def _stacks(scan: Op, made_by: dict[Var, Op]) -> tuple[_Stack, ...] | None:
    """Return what a Scan stacks along its first axis; None if it is not its vectors."""
    body: Block = scan.attributes["body"]
    after, *stacked = (_copied(r, made_by) for r in body.results)
    walks = walks_of(scan.attributes, "scan_output", len(stacked))
    ends = (body.params[0], after)
    if any(v is not ends[0] and v is not ends[1] for v in stacked) or any(walk.axis for walk in walks):
        return None
    return tuple(_Stack(v is ends[0], walk) for v, walk in zip(stacked, walks, strict=True))


def _copied(value: Value, made_by: dict[Var, Op]) -> Value:
    while isinstance(value, Var) and value in made_by and made_by[value].kind == "Identity":
        (source,) = made_by[value].inputs
        assert source is not None
        value = source
    return value


def _source(value: Value, made_by: dict[Var, Op]) -> Value:
    """Return the vector that a value is with other axes of size 1."""
    while isinstance(value, Var) and value in made_by and made_by[value].kind in {"Unsqueeze", "Reshape", "Squeeze"}:
        first = made_by[value].inputs[0]
        assert first is not None
        value = first
    return value


def _log_sums(value: Value, made_by: dict[Var, Op]) -> Iterator[tuple[Value, int]]:
    """Yield the matrix and the axis of each form in which a vector is the log-sum-exp of a matrix."""
    made = made_by.get(value) if isinstance(value, Var) else None
    if made is None:
        return
    for template in _FORMS:
        for match in template.matches(made, made_by):
            axes = match.captured["axis"]
            axes = integers(axes) if isinstance(axes, Value) else tuple(axes)
            if axes is not None and len(axes) == 1:
                yield match.captured["x"], axes[0]


def _forms() -> Iterator[Node]:
    x, axis, out, top = (Capture(name) for name in ("x", "axis", "out", "top"))
    named = pattern[log_sum_exp](x, axis=axis)
    for moved in (pattern.Squeeze, pattern.Reshape):
        yield moved(named, out)
    yield pattern.ReduceLogSumExp(x, axis, keepdims=0)
    greatest = (pattern[NAMED["max"]](x, axis=Capture("top"), keepdims=True), pattern.ReduceMax(x, top, keepdims=1))
    for most in greatest:
        powers = pattern.Exp(pattern.Sub(x, most))
        for moved in (pattern.Squeeze, pattern.Reshape):
            yield pattern.Add(pattern.Log(pattern.ReduceSum(powers, axis, keepdims=0)), moved(most, out))
            yield moved(pattern.Add(pattern.Log(pattern.ReduceSum(powers, axis, keepdims=1)), most), out)
    flat = (pattern[NAMED["max"]](x, axis=Capture("top"), keepdims=False), pattern.ReduceMax(x, top, keepdims=0))
    for most in flat:
        for moved in (pattern.Unsqueeze, pattern.Reshape):
            powers = pattern.Exp(pattern.Sub(x, moved(most, out)))
            yield pattern.Add(pattern.Log(pattern.ReduceSum(powers, axis, keepdims=0)), most)


_FORMS = [Template(form) for form in _forms()]

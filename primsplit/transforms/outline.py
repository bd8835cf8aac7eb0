"""Outline regions that repeat, such as the steps of an unrolled loop, into calls of one function that stays one.

Steps are equal if they have the same operators on the same lines, connected alike, with outputs of the same types, and
branches and loops of the same bodies. What they read from outside becomes the function's parameters.

```
a = Exp(x); b = Neg(a); c = Exp(b); d = Neg(c); ...   ->   b = call::step(x); d = call::step(b); ...
```
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from primsplit.ir import Block, Const, Op, Renaming, Value, Var, has_blocks, is_call, operands, reads, rename, walk
from primsplit.ops.traits import kinds_where
from primsplit.rewrites.cse import attribute_key, constant_key, is_deterministic
from primsplit.transforms.boundaries import Bounded

Called = Callable[[Block], object]

LEAST_REPEATS = 4
LEAST_OPS = 16
VARYING = kinds_where(lambda t: t.broadcasts == "all") | {"Gather"}
"""Operators one of whose inputs may be a different constant in each step: none of their inputs decides a shape."""


def fold_repeats(block: Block) -> Block:
    """Return the block with each repeated region as calls of one function; itself if nothing repeats."""
    tokens = [_token(op) for op in block.ops]
    following = _next_alike(tokens)
    ops: list[Op] = []
    position = 0
    readers = _last_readers(block)
    while position < len(block.ops):
        found = _region(block, tokens, following, position)
        if found is None:
            ops.append(block.ops[position])
            position += 1
            continue
        ops.extend(_calls(found, readers))
        position = found.begin + found.period * len(found.steps)
    return block if len(ops) == len(block.ops) else replace(block, ops=tuple(ops))


def _token(op: Op) -> Any:
    """Return a key that is equal for ops that may be the same step of two repetitions."""
    inside = (inner for block in op.blocks() for inner in walk(block))
    if not all(has_blocks(o) or is_call(o) or is_deterministic(o.kind) for o in (op, *inside)):
        return id(op)
    return (*_kind(op, {}), op.place)


def _kind(op: Op, numbers: dict[Var, int], called: Called = id) -> tuple[Any, ...]:
    """Return a key that is equal for ops that do the same with their inputs.

    `numbers` identifies values in its bodies.
    """
    types = tuple(v.type.key for v in op.outputs)
    if is_call(op):
        return (op.kind, called(op.attributes["body"]), types)
    plain = {name: held for name, held in op.attributes.items() if not isinstance(held, Block)}
    bodies = tuple((n, block_key(b, numbers, called)) for n, b in op.attributes.items() if isinstance(b, Block))
    return (op.kind, attribute_key(plain), bodies, types)


def block_key(block: Block, numbers: dict[Var, int], called: Called = id) -> Any:
    """Return a key that is equal for bodies that do the same.

    Vars, also outer ones, are numbered by first occurrence; `called` gives the key of a called body.
    """

    def told(values: Iterable[Value | None]) -> tuple[Any, ...]:
        return tuple(
            numbers.setdefault(v, len(numbers)) if isinstance(v, Var) else None if v is None else constant_key(v)
            for v in values
        )

    ops = tuple((_kind(op, numbers, called), op.place, told(op.inputs), told(op.outputs)) for op in block.ops)
    return (told(block.params), tuple(p.type.key for p in block.params), ops, told(block.results))


def _next_alike(tokens: Sequence[Any]) -> list[int]:
    """Return for each position the next one with the same token, or the end."""
    seen: dict[Any, int] = {}
    following = [len(tokens)] * len(tokens)
    for position in range(len(tokens) - 1, -1, -1):
        following[position] = seen.get(tokens[position], len(tokens))
        seen[tokens[position]] = position
    return following


@dataclass(frozen=True, slots=True)
class _Region:
    """Steps of `period` ops each, from op `begin` on."""

    begin: int
    period: int
    steps: Sequence[Sequence[Op]]


def _region(block: Block, tokens: Sequence[Any], following: Sequence[int], begin: int) -> _Region | None:
    period = following[begin] - begin
    last = begin
    while last + period < len(tokens) and tokens[last] == tokens[last + period]:
        last += 1
    count = (last - begin) // period + 1
    steps = [block.ops[begin + i * period : begin + (i + 1) * period] for i in range(count)]
    form = _form(steps[0])
    same = next((i for i, step in enumerate(steps) if _form(step) != form), count)
    if same < LEAST_REPEATS or same * period < LEAST_OPS:
        return None
    return _Region(begin, period, steps[:same])


def _form(step: Sequence[Op]) -> Any:
    """Return how the ops of a step are connected: each input is an output of the step, a constant, or from outside."""
    places = {v: (i, j) for i, op in enumerate(step) for j, v in enumerate(op.outputs)}
    return tuple(tuple(_source(op, v, places) for v in operands(op)) for op in step)


def _source(op: Op, value: Value | None, places: dict[Var, tuple[int, int]]) -> Any:
    if isinstance(value, Var) and value in places:
        return places[value]
    if isinstance(value, Const) and not (op.kind in VARYING and value.is_small):
        return value.key
    return None if value is None else ("outside", value.type.key)


def _last_readers(block: Block) -> dict[Var, int]:
    """Return the position of the last op that reads each Var; the number of ops for a result."""
    last = {v: i for i, op in enumerate(block.ops) for v in reads(op)}
    last.update({r: len(block.ops) for r in block.results if isinstance(r, Var)})
    return last


def _calls(region: _Region, readers: dict[Var, int]) -> list[Op]:
    """Return one call for each step, of the function that the first step becomes."""
    ends = [region.begin + (i + 1) * region.period for i in range(len(region.steps))]
    wanted = sorted(
        {
            (i, j)
            for step, end in zip(region.steps, ends, strict=True)
            for i, op in enumerate(step)
            for j, v in enumerate(op.outputs)
            if readers.get(v, -1) >= end
        }
    )
    body = _body(region.steps[0], wanted)
    attributes = {"body": body, "inline": False, "rule": Bounded(body.name, body)}
    calls = []
    for step in region.steps:
        outputs = tuple(step[i].outputs[j] for i, j in wanted)
        calls.append(Op(f"call::{body.name}", tuple(_outside(step)), outputs, attributes, step[0].place))
    return calls


def _outside(step: Sequence[Op]) -> list[Value]:
    """Return the values that a step reads from outside, in order, once for each read."""
    places = {v: (0, 0) for op in step for v in op.outputs}
    return [v for op in step for v in operands(op) if v is not None and _source(op, v, places)[0] == "outside"]


def _body(step: Sequence[Op], wanted: Sequence[tuple[int, int]]) -> Block:
    """Return the function: each read from outside is a parameter of its own."""
    places = {v: (0, 0) for op in step for v in op.outputs}
    params: list[Var] = []
    renaming: Renaming = {}
    ops = []
    for op in step:
        inputs: list[Value | None] = []
        for value in operands(op):
            if value is not None and _source(op, value, places)[0] == "outside":
                params.append(Var(value.type))
                inputs.append(params[-1])
            else:
                inputs.append(value)
        count = len(op.inputs)
        captured = zip(operands(op)[count:], inputs[count:], strict=True)
        renaming.update((v, p) for v, p in captured if isinstance(v, Var) and p is not None and p is not v)
        ops.append(rename(replace(op, inputs=tuple(inputs[:count])), renaming))
    results = tuple(ops[i].outputs[j] for i, j in wanted)
    return Block("step", tuple(params), tuple(ops), results)

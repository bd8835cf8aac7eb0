"""Record ops with sub-blocks (If, Scan, Loop), with output types that are valid outside of the blocks.

```
If(c): then x[:n] (float32[n]), else x (float32[N])   ->   float32[part_1]: neither size holds for both sides
```
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from primsplit import tracing
from primsplit.ir import Block, Const, Type, Value, Var, dims, free
from primsplit.ir.dims import Dim, Kinded, Shape, SymbolKind
from primsplit.ir.errors import DtypeError
from primsplit.ops.inference import fresh
from primsplit.tracing.array import Array

VARYING = Kinded("varying", SymbolKind.VARYING)
"""The stem of the sizes of a carry that changes its shape from step to step."""


def record(name: str, types: Sequence[Type], body: Callable[..., Iterable[Value]], hints: Sequence[str] = ()) -> Block:
    """Return the block of what `body` records when it is called on fresh parameters of these types."""
    with tracing.recording(place=tracing.current().place, remark=tracing.current().remark) as inner:
        params = [inner.param(t, hints[i] if i < len(hints) else "") for i, t in enumerate(types)]
        results = list(body(*map(Array, params)))
    return tracing.close(name, params, inner, results)


def visible(values: Iterable[Value]) -> frozenset[str]:
    """Return the symbols of these values' sizes."""
    return frozenset(s for v in values for d in v.type.shape or () for s in dims.symbols(d))


def outside(type: Type, known: frozenset[str], stem: str = "part") -> Type:
    """Return the type with a fresh size in place of each one whose symbols are not known outside of a block."""
    if type.shape is None:
        return type
    return Type(type.dtype, [d if dims.symbols(d) <= known else fresh(stem) for d in type.shape])


def joined(a: Type, b: Type, known: frozenset[str]) -> Type:
    """Return the type of a value that is one or the other: sizes that may differ are fresh; axes that may, unknown.

    Raises DtypeError for another dtype.
    """
    if a.dtype != b.dtype:
        place = tracing.current().place or tracing.user_place()
        raise DtypeError(f"the two sides of a branch differ: {a} and {b}", place=place)
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return Type(a.dtype, None)
    sides = zip(a.shape, b.shape, strict=True)
    return outside(Type(a.dtype, [d if dims.same(d, e) else fresh("part") for d, e in sides]), known)


def widened(start: Type, before: Type, after: Type, stem: str = "changing") -> Type:
    """Return the type of a loop's carry before and after a step, from `start`'s type or this function's last answer.

    It has unknown sizes, named after the stem, where a step may change them; it is `before` itself if there is nothing
    to widen. All have the same dtype. If they differ in their axes, the axes are unknown.
    """
    if start.shape is None or before.shape is None or after.shape is None or len(before.shape) != len(after.shape):
        return Type(before.dtype, None)
    sizes = zip(start.shape, before.shape, after.shape, strict=True)
    kept = [dims.same(b, a) or not dims.same(s, b) for s, b, a in sizes]
    if all(kept):
        return before
    return Type(before.dtype, [b if k else fresh(stem) for b, k in zip(before.shape, kept, strict=True)])


def emit_if(condition: Value, then: Block, otherwise: Block, types: Sequence[Type] | None = None) -> list[Value]:
    """Record an If of two blocks without parameters; return its outputs."""
    if types is None:
        known = visible([*free(then), *free(otherwise)])
        pairs = zip(then.results, otherwise.results, strict=True)
        types = [joined(a.type, b.type, known) for a, b in pairs]
    attributes = {"then_branch": then, "else_branch": otherwise}
    return list(tracing.emit("If", [condition], attributes, outputs=len(types), types=types))


@dataclass(frozen=True, slots=True)
class Walk:
    """The axis along which a Scan reads or writes one of its sequences, and whether it goes from the end."""

    axis: int = 0
    reverse: bool = False

    def reversed(self) -> "Walk":
        """Return the walk from the other end."""
        return Walk(self.axis, not self.reverse)


@dataclass(frozen=True, slots=True)
class ScanForm:
    """A Scan's body and how it walks: results are the carries, then what is stacked."""

    body: Block
    carries: int
    reads: tuple[Walk, ...]
    writes: tuple[Walk, ...] = field(default=())


def emit_scan(
    form: ScanForm, carries: Sequence[Value], sequences: Sequence[Value], stacked: Sequence[Type] | None = None
) -> list[Value]:
    """Record a Scan; return the last carries, which have the types of the first, then what was stacked.

    `stacked` declares the types of the latter, if the caller knows more.
    """
    body = form.body
    length = _size_along(sequences[0].type, form.reads[0])
    known = visible([*carries, *sequences, *free(body)])
    if stacked is None:
        pairs = zip(body.results[form.carries :], form.writes, strict=True)
        stacked = [_stacked(outside(r.type, known), walk, length) for r, walk in pairs]
    attributes = {
        "body": body,
        "num_scan_inputs": len(sequences),
        **told_of("scan_input", form.reads),
        **told_of("scan_output", form.writes),
    }
    types = [*(c.type for c in carries), *stacked]
    return list(tracing.emit("Scan", [*carries, *sequences], attributes, outputs=len(types), types=types))


def walks_of(attributes: Mapping[str, Any], stem: str, count: int) -> tuple[Walk, ...]:
    """Return how a Scan reads its sequences (stem "scan_input") or writes them ("scan_output"), from its attributes."""
    axes = attributes.get(f"{stem}_axes", [0] * count)
    directions = attributes.get(f"{stem}_directions", [0] * count)
    return tuple(Walk(a, bool(d)) for a, d in zip(axes, directions, strict=True))


def told_of(stem: str, walks: Sequence[Walk]) -> dict[str, list[int]]:
    """Return the attributes for axes and directions that differ from the default."""
    attributes: dict[str, list[int]] = {}
    if any(w.axis for w in walks):
        attributes[f"{stem}_axes"] = [w.axis for w in walks]
    if any(w.reverse for w in walks):
        attributes[f"{stem}_directions"] = [int(w.reverse) for w in walks]
    return attributes


def _size_along(type: Type, walk: Walk) -> Dim:
    return fresh("length") if type.shape is None else type.shape[walk.axis]


def _stacked(type: Type, walk: Walk, length: Dim) -> Type:
    if type.shape is None:
        return type
    place = walk.axis if walk.axis >= 0 else len(type.shape) + 1 + walk.axis
    return Type(type.dtype, (*type.shape[:place], length, *type.shape[place:]))


def element(type: Type, walk: Walk) -> Type:
    """Return the type of one step's part of a sequence."""
    if type.shape is None:
        return type
    place = walk.axis % len(type.shape)
    return Type(type.dtype, (*type.shape[:place], *type.shape[place + 1 :]))


def emit_loop(
    trips: Value | None,
    condition: Value | None,
    body: Block,
    carries: Sequence[Value],
    types: Sequence[Type] | None = None,
) -> list[Value]:
    """Record a Loop; return the last carries and what was stacked.

    The body's parameters are the iteration, a condition and the carries, its results the condition of the next step,
    the carries, and what is stacked. `types` declares carries whose shapes change from step to step.
    """
    count = len(carries)
    known = visible([*carries, *free(body)])
    literal = None if trips is None else trips.sizes
    steps: Dim = literal[0] if literal and counts_alone(condition, body) else fresh("steps")
    if isinstance(steps, int):
        steps = max(steps, 0)
    stacked = [_stacked(outside(r.type, known), Walk(), steps) for r in body.results[1 + count :]]
    declared = [*((c.type for c in carries) if types is None else types), *stacked]
    return list(
        tracing.emit("Loop", [trips, condition, *carries], {"body": body}, outputs=len(declared), types=declared)
    )


def counts_alone(condition: Value | None, body: Block) -> bool:
    """Whether only the count ends a Loop: its condition is true at first, and every step passes it on.

    A step may end a Loop whose first condition is absent too: runtimes do so, where the standard ignores the result.
    """
    sources = {step.outputs[0]: step.inputs[0] for step in body.ops if step.kind in {"Identity", "Reshape"}}
    after: Value | None = body.results[0]
    while after in sources:
        after = sources[after]
    return _is_true(condition) and (after is body.params[1] or _is_true(after))


def _is_true(condition: Value | None) -> bool:
    return condition is None or (isinstance(condition, Const) and bool(condition.numpy().all()))


def same_everywhere(shape: Shape | None, other: Shape | None) -> bool:
    """Whether both shapes are known and provably equal."""
    return shape is not None and other is not None and dims.same_shape(shape, other)


def as_declared(value: Value, type: Type) -> Value:
    """Return the value, declared to be of this type if less is known of its own."""
    if not isinstance(value, Var) or value.type == type:
        return value
    return tracing.emit("Identity", [value], types=[type])[0]

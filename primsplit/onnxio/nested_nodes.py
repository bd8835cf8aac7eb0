"""Loop and Scan of a file: their graphs recorded as blocks, with types that hold for every step.

What a file declares for the values inside is often less than what is known around it. So a body is recorded for carries
of the first step's types, and again with unknown sizes where a step changes them, until it keeps them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.helper

from primsplit import dims, tracing
from primsplit.errors import ParseError
from primsplit.infer import fresh
from primsplit.ir import Block, Type, Value, Var
from primsplit.nested import ScanForm, Walk, element, emit_loop, emit_scan, outside, visible
from primsplit.passes.hoist import hoist

KINDS = frozenset({"Loop", "Scan"})
Subgraph = Callable[[onnx.GraphProto, Sequence[Type] | None], Block]


def record_nested(node: onnx.NodeProto, inputs: Sequence[Value | None], subgraph: Subgraph) -> list[Value]:
    """Record a node with graphs in it. `subgraph` records a graph, its inputs of the types given."""
    attributes = {a.name: a.g if a.type == onnx.AttributeProto.GRAPH else _plain(a) for a in node.attribute}
    record = {"Loop": _record_loop, "Scan": _record_scan}[node.op_type]
    return record(inputs, attributes, subgraph)


def _plain(attribute: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    return list(value) if not isinstance(value, int | float | str | bytes) else value


def _given(value: Value | None) -> Value:
    if value is None:
        raise ParseError("an input is missing")
    return value


def _record_loop(inputs: Sequence[Value | None], attributes: Mapping[str, Any], subgraph: Subgraph) -> list[Value]:
    trips, condition, *rest = [*inputs, None, None][: max(len(inputs), 2)]
    inits = [_given(v) for v in rest]
    counters = [Type(np.int64, ()), Type(np.bool_, ())]

    def record(carries: Sequence[Type]) -> Block:
        return subgraph(attributes["body"], [*counters, *carries])

    body, types = steady(record, [v.type for v in inits], 2, 1)
    # A size that steps change is another one after the last of them: it has no name that it has inside.
    known = visible(inits)
    after = [outside(t, known, "changed") for t in types]
    return emit_loop(trips, condition, without_invariants(body), inits, after)


def _record_scan(inputs: Sequence[Value | None], attributes: Mapping[str, Any], subgraph: Subgraph) -> list[Value]:
    values = [_given(v) for v in inputs]
    count = len(values) - int(attributes["num_scan_inputs"])
    reads = _walks(attributes, "scan_input", len(values) - count)
    elements = [element(v.type, w) for v, w in zip(values[count:], reads, strict=True)]

    def record(carries: Sequence[Type]) -> Block:
        return subgraph(attributes["body"], [*carries, *elements])

    body, _ = steady(record, [v.type for v in values[:count]], 0, 0)
    writes = _walks(attributes, "scan_output", len(body.results) - count)
    form = ScanForm(without_invariants(body), count, reads, writes)
    return emit_scan(form, values[:count], values[count:])


def _walks(attributes: Mapping[str, Any], stem: str, count: int) -> tuple[Walk, ...]:
    axes = attributes.get(f"{stem}_axes", [0] * count)
    directions = attributes.get(f"{stem}_directions", [0] * count)
    return tuple(Walk(a, bool(d)) for a, d in zip(axes, directions, strict=True))


def steady(
    record: Callable[[Sequence[Type]], Block], starts: Sequence[Type], first: int, lead: int
) -> tuple[Block, list[Type]]:
    """The body for carries of types that every step keeps, and those types; the first ones where they are kept.

    The carries begin at parameter `first` and at result `lead`.
    """
    types = list(starts)
    while True:
        body = record(types)
        after = [r.type for r in body.results[lead : lead + len(types)]]
        known = visible([*body.params[first : first + len(types)]]) | visible([Var(t) for t in starts])
        wider = [_wider(a, outside(b, known)) for a, b in zip(types, after, strict=True)]
        if wider == types:
            return body, types
        types = wider


def _wider(before: Type, after: Type) -> Type:
    """A type that holds before and after a step: the same one where both are, with unknown sizes where they differ."""
    if before.dtype != after.dtype:
        raise ParseError(f"a carry of a loop is {before.dtype} before a step and {after.dtype} after it")
    if before.shape is None or after.shape is None or len(before.shape) != len(after.shape):
        return Type(before.dtype, None)
    pairs = list(zip(before.shape, after.shape, strict=True))
    if all(dims.same(a, b) or _is_unknown(a) for a, b in pairs):
        return before
    return Type(before.dtype, [a if dims.same(a, b) or _is_unknown(a) else fresh("changing") for a, b in pairs])


def _is_unknown(dim: dims.Dim) -> bool:
    """True for a size that stands for another one in each step."""
    return isinstance(dim, dims.Size) and dim.symbol is not None and dim.symbol.startswith("changing_")


def without_invariants(body: Block) -> Block:
    """The body without what does not vary from step to step, which is recorded in front."""
    before, inside = hoist(body.ops, body.params)
    for op in before:
        tracing.append(op)
    return Block(body.name, body.params, tuple(inside), body.results)

"""Record Loop and Scan of a file: their graphs as blocks, with types that hold for every step.

A body is recorded once: sizes that a step changes are widened to unknown ones, until the types stay.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx.helper

from primsplit.ir import Block, Type, Value
from primsplit.ir.dims import same_shape
from primsplit.ir.errors import ParseError
from primsplit.onnx.aligned import Known
from primsplit.onnx.aligned.bodies import Inner, is_open, record_open_loop, record_open_scan
from primsplit.onnx.batch_scan import BATCH_SCAN, record_batch_scan
from primsplit.onnx.nested_bodies import Subgraph, after_steps, again, given, steady
from primsplit.ops import op
from primsplit.rewrites.loops.hoist import without_invariants
from primsplit.tracing import regions as nested
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to
from primsplit.tracing.regions import ScanForm, Walk, element, emit_loop, emit_scan, walks_of

KINDS = frozenset({"Loop", "Scan", BATCH_SCAN})


@dataclass(frozen=True, slots=True)
class Reading:
    """The way to record graphs in a node: as a block with inputs of given types, or in place on given values.

    `known` are the aligned values of unknown rank around the node.
    """

    subgraph: Subgraph
    inner: Inner
    known: Known


def record_nested(node: onnx.NodeProto, inputs: Sequence[Value | None], reading: Reading) -> list[Value]:
    """Record a node with graphs in it."""
    attributes = {a.name: a.g if a.type == onnx.AttributeProto.GRAPH else _plain(a) for a in node.attribute}
    if node.op_type == "Loop":
        return _record_loop(inputs, attributes, reading)
    scans = attributes["num_scan_inputs"]
    if not 0 < scans <= len(inputs):
        raise ParseError(f"Scan has {len(inputs)} inputs, and cannot walk along {scans}")
    _check_directions(attributes)
    if node.domain:
        is_whole = not inputs or inputs[0] is None
        if is_whole and is_open(*(v.type for v in inputs if v is not None)):
            return _record_open_batch(inputs[1:], attributes, reading)
        return record_batch_scan(inputs, attributes, reading.subgraph)
    return _record_scan(inputs, attributes, reading)


def _check_directions(attributes: Mapping[str, Any]) -> None:
    """Raise ParseError for a direction that is neither forward (0) nor reverse (1)."""
    for name in ("directions", "scan_input_directions", "scan_output_directions"):
        if wrong := [d for d in attributes.get(name, ()) if d not in {0, 1}]:
            raise ParseError(f"{name} of a Scan are 0 or 1, and not {wrong[0]}")


def _check_axes(types: Sequence[Type], reads: Sequence[Walk]) -> None:
    """Raise ParseError for an axis that a sequence does not have."""
    for found, walk in zip(types, reads, strict=True):
        if found.shape is not None and not -len(found.shape) <= walk.axis < len(found.shape):
            raise ParseError(f"Scan cannot walk along axis {walk.axis} of a {found}")


def _plain(attribute: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    return list(value) if not isinstance(value, int | float | str | bytes) else value


def _record_loop(inputs: Sequence[Value | None], attributes: Mapping[str, Any], reading: Reading) -> list[Value]:
    trips, condition, *rest = [*inputs, None, None][: max(len(inputs), 2)]
    condition = None if condition is None else _scalar(condition)
    inits = [given(v) for v in rest]
    counters = [Type(np.int64, ()), Type(np.bool_, ())]
    graph = attributes["body"]
    names = [v.name for v in graph.input]

    def step(*params: Array) -> list[Value]:
        again, *made = reading.inner(graph, [p.value for p in params], {})
        return [_scalar(again), *made]

    def record(carries: Sequence[Type]) -> Block:
        return nested.record(graph.name or "body", [*counters, *carries], step, names)

    types = [v.type for v in inits]
    if is_open(*types):
        return record_open_loop(trips, condition, inits, types, graph, reading.inner, reading.known)
    body, types = steady(record, types, 2, 1)
    if is_open(*types, *(r.type for r in body.results)):
        with again():
            return record_open_loop(trips, condition, inits, types, graph, reading.inner, reading.known)
    return emit_loop(trips, condition, without_invariants(body), inits, after_steps(types, inits))


def _scalar(condition: Value) -> Value:
    """Return a condition of a Loop as a scalar; a file may have it as an array of one element."""
    return op.Reshape(Array(condition), np.zeros(0, np.int64)).value if condition.type.rank else condition


def _record_scan(inputs: Sequence[Value | None], attributes: Mapping[str, Any], reading: Reading) -> list[Value]:
    values = [given(v) for v in inputs]
    count = len(values) - int(attributes["num_scan_inputs"])
    reads = walks_of(attributes, "scan_input", len(values) - count)
    _check_axes([v.type for v in values[count:]], reads)
    elements = [element(v.type, w) for v, w in zip(values[count:], reads, strict=True)]

    graph = attributes["body"]

    def step(*params: Array) -> list[Value]:
        made = reading.inner(graph, [p.value for p in params], {})
        return [*map(_as_before, made[:count], params), *made[count:]]

    def record(carries: Sequence[Type]) -> Block:
        return nested.record(graph.name or "body", [*carries, *elements], step, [v.name for v in graph.input])

    body, types = steady(record, [v.type for v in values[:count]], 0, 0)
    if is_open(*types, *(v.type for v in (*values, *body.results))):
        write = functools.partial(walks_of, attributes, "scan_output")
        with again():
            return record_open_scan(values, types, attributes["body"], reads, write, reading.inner, reading.known)
    form = ScanForm(
        without_invariants(body), count, reads, walks_of(attributes, "scan_output", len(body.results) - count)
    )
    return emit_scan(form, values[:count], values[count:])


def _as_before(made: Value, before: Array) -> Value:
    """Return a state after a step in the sizes that it had before: a Scan keeps them, whatever a graph calls them."""
    old, new = before.type.shape, made.type.shape
    if old is None or new is None or len(old) != len(new) or same_shape(old, new):
        return made
    return reshape_to(Array(made), old).value


def _record_open_batch(inputs: Sequence[Value | None], attributes: Mapping[str, Any], reading: Reading) -> list[Value]:
    """Record a Scan of opset 8 over values of unknown rank, every step of each example."""
    values = [given(v) for v in inputs]
    count = len(values) - int(attributes["num_scan_inputs"])
    reads = [Walk(0, bool(d)) for d in attributes.get("directions", [0] * (len(values) - count))]

    def example(graph: onnx.GraphProto, rows: Sequence[Value], known: Known) -> list[Value]:
        elements = [element(v.type, w) for v, w in zip(rows[count:], reads, strict=True)]
        _, types = steady(lambda t: reading.subgraph(graph, [*t, *elements]), [v.type for v in rows[:count]], 0, 0)
        return record_open_scan(rows, types, graph, reads, _from_first, reading.inner, known)

    walks = _from_first(len(values))
    return record_open_scan(values, [], attributes["body"], walks, _from_first, example, reading.known)


def _from_first(count: int) -> tuple[Walk, ...]:
    return (Walk(),) * count

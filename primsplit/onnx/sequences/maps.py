"""Record a SequenceMap: its graph for each element, a Scan over stacks, or a Loop if elements differ in shape."""

from collections.abc import Sequence

from primsplit import tracing
from primsplit.ir import Value
from primsplit.ir.errors import ParseError
from primsplit.onnx.sequences.branches import Graph, Inner, is_steady
from primsplit.onnx.sequences.forms import (
    Absent,
    Entry,
    Listed,
    Sequenced,
    Stacked,
    listed,
    require_sequence,
    require_tensor,
)
from primsplit.onnx.sequences.loops import Carried
from primsplit.onnx.sequences.nodes import record_sequence
from primsplit.onnx.sequences.stacks import of_length, unless
from primsplit.ops import op
from primsplit.rewrites.loops.hoist import without_invariants
from primsplit.tracing import regions as nested
from primsplit.tracing.array import Array
from primsplit.tracing.regions import ScanForm, Walk, element, emit_scan


def record_map(inputs: Sequence[Entry | None], body: Graph, inner: Inner) -> list[Entry]:
    """Record a SequenceMap.

    Raises ParseError for sequences of several lengths; if only the run knows them, it may fail.
    """
    require_sequence(inputs[0] if inputs else None, "SequenceMap")
    given: list[Entry] = [Absent() if x is None else x for x in inputs]
    told_apart = [listed(x) if isinstance(x, Sequenced) else None for x in given]
    if all(x is not None for x, entry in zip(told_apart, given, strict=True) if isinstance(entry, Sequenced)):
        return _one_by_one(given, told_apart, body, inner)
    if not all(isinstance(x, Stacked) for x in given if isinstance(x, Sequenced)):
        return _looped(given, body, inner)
    with tracing.recording(place=tracing.current().place, remark=tracing.current().remark) as tried:
        found = _scanned(given, body, inner)
    if found is None:
        return _looped(given, body, inner)
    for each in tried.ops:
        tracing.append(each)
    return found


def _one_by_one(given: Sequence[Entry], told_apart: Sequence[Listed | None], body: Graph, inner: Inner) -> list[Entry]:
    lists = [x for x in told_apart if x is not None]
    count = len(lists[0].items)
    if any(len(x.items) != count for x in lists):
        lengths = ", ".join(str(len(x.items)) for x in lists)
        raise ParseError(f"SequenceMap takes sequences of one length, not {lengths}", place=tracing.current().place)
    rows = [
        inner(body, [e if x is None else x.items[i] for x, e in zip(told_apart, given, strict=True)])
        for i in range(count)
    ]
    columns = zip(*rows, strict=True) if rows else [() for _ in body.output]
    return [Listed(tuple(require_tensor(v, "SequenceMap") for v in column)) for column in columns]


def _scanned(given: Sequence[Entry], body: Graph, inner: Inner) -> list[Entry] | None:
    """Record a SequenceMap of stacks; None if its results may have another shape in each step."""
    stacks = [x.tensor for x in given if isinstance(x, Stacked)]
    length = (stacks[0].type.shape or (0,))[0]
    stacks = [of_length(x, length) for x in stacks]

    def record(*parts: Array) -> list[Value]:
        left = iter(parts)
        taken = [next(left).value if isinstance(x, Stacked) else x for x in given]
        return [require_tensor(v, "SequenceMap") for v in inner(body, taken)]

    block = nested.record("map", [element(x.type, Walk()) for x in stacks], record)
    block = without_invariants(block)
    if not all(is_steady(v, block, stacks) for v in block.results):
        return None
    form = ScanForm(block, 0, tuple(Walk() for _ in stacks), tuple(Walk() for _ in block.results))
    return [Stacked(v) for v in emit_scan(form, [], stacks)]


def _looped(given: Sequence[Entry], body: Graph, inner: Inner) -> list[Entry]:
    """Record a Loop that reads the elements at each position, and appends its results."""

    def step(entries: Sequence[Entry]) -> list[Entry]:
        position, going, *grown = entries
        taken = [record_sequence("SequenceAt", [x, position], {}) if isinstance(x, Sequenced) else x for x in given]
        made = zip(grown, inner(body, taken), strict=True)
        return [going, *(record_sequence("SequenceInsert", [held, item], {}) for held, item in made)]

    return Carried([Listed(()) for _ in body.output], body.output, step).record(_length(given), None)


def _length(given: Sequence[Entry]) -> Value:
    """Return the length of the sequences; the run fails if they differ."""
    first, *others = (Array(record_length(x)) for x in given if isinstance(x, Sequenced))
    for other in others:
        first = unless(op.Not(op.Equal(first, other)), op.Unsqueeze(first, [0]))
    return first.value


def record_length(held: Entry) -> Value:
    """Return the number of elements."""
    return require_tensor(record_sequence("SequenceLength", [held], {}), "SequenceMap")

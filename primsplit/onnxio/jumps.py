"""What a file says, as metadata, of models whose values jump: a derivative through them is refused in the file, too.

In a file a decision tree is comparisons and sums, whose derivative is 0 and tells nothing. The metadata are a JSON list
of rows: the `name` of the operator, `because`, the `inputs` that it depends on and the `outputs` that depend on it.
"""

import json
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from primsplit.activity import active_vars
from primsplit.array import Array
from primsplit.definitions.calling import BoundRule
from primsplit.definitions.jumps import JUMP, jumping, leaning
from primsplit.errors import ParseError
from primsplit.ir import Op, Value, Var, reads, walk
from primsplit.names import NamedBlock
from primsplit.onnxio.constants import Constants
from primsplit.onnxio.sequences import Entry

TOLD = "primsplit.jumps"
"""The key of the metadata."""


def told_jumps(named: NamedBlock) -> dict[str, str]:
    """The metadata of a file with such models; nothing where there are none."""
    block = named.block
    rows: list[dict[str, Any]] = []
    for place, op in enumerate(block.ops):
        if not (jumps := sorted(_jumps_of(op))):
            continue
        before, after = block.ops[:place], block.ops[place + 1 :]
        params = zip(named.inputs, block.params, strict=True)
        inputs = [n for n, p in params if not active_vars(before, [p]).isdisjoint(reads(op))]
        moved = active_vars(after, op.outputs)
        results = zip(named.outputs, block.results, strict=True)
        outputs = [n for n, r in results if isinstance(r, Var) and r in moved]
        if inputs and outputs:
            rows += [{"name": n, "because": why, "inputs": inputs, "outputs": outputs} for n, why in jumps]
    return {TOLD: json.dumps(rows)} if rows else {}


def _jumps_of(op: Op) -> set[tuple[str, str]]:
    """The names of the operators that jump in an op, and why they have no derivative."""
    inside = (inner for block in op.blocks() for inner in walk(block))
    told = (_told(each) for each in (op, *inside) if each.kind == f"call::{JUMP}")
    return {(attributes["name"], attributes["because"]) for attributes in told}


def _told(jump: Op) -> Mapping[str, Any]:
    """The attributes of a jump, which the rule of a batch has from the op of one example."""
    rule = jump.attributes["rule"]
    found: Mapping[str, Any] = rule.attributes if isinstance(rule, BoundRule) else _told(rule.op)
    return found


def with_jumps(
    metadata: Mapping[str, str],
    outputs: Iterable[str],
    entries: Sequence[Entry],
    values: MutableMapping[str, Entry],
    constants: Constants,
) -> list[Entry]:
    """The outputs of a model, of which derivatives are refused as its metadata tell. Raises ParseError."""
    found = dict(zip(outputs, entries, strict=True))
    try:
        for row in json.loads(metadata.get(TOLD, "[]")):
            if constants.holds_one_of(row["name"]):
                continue
            for name in row["outputs"]:
                for number in (values[n] for n in row["inputs"]):
                    found[name] = _refusing(found[name], number, row["name"], row["because"])
    except (ValueError, KeyError, TypeError) as error:
        raise ParseError(f"the metadata {TOLD} of the file cannot be read: {error!r}") from None
    return [*found.values()]


def _refusing(result: Entry, number: Entry, name: str, because: str) -> Entry:
    if not isinstance(result, Value) or not isinstance(number, Value):
        raise TypeError(f"{name} gives no tensor")
    return leaning(Array(result), jumping(Array(number), Array(number), name, because)).value

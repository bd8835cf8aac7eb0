"""Store in a file's metadata which models in it jump, so that a derivative through them is refused in the file, too.

In a file a decision tree is comparisons and sums, whose derivative is 0 and says nothing. The metadata are a JSON list
of rows: the `name` of the operator, `because`, the `numbers` that it reads, the `inputs` that those depend on, and the
`outputs` that depend on it. The numbers depend on weights too, and on their counterparts in the file; if another tool
rewrote the file and they are gone, the inputs replace them.
"""

import json
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from primsplit.ir import Block, Const, Op, Value, Var, reads, walk
from primsplit.ir.errors import ParseError
from primsplit.ir.names import NamedBlock
from primsplit.onnx.constants import Constants
from primsplit.onnx.definitions.calling import BoundRule
from primsplit.onnx.definitions.jumps import JUMP, jumping, leaning
from primsplit.onnx.sequences.forms import Entry
from primsplit.rules.activity import active_vars, constants_behind
from primsplit.tracing.array import Array

TOLD = "primsplit.jumps"
"""The key of the metadata."""


@dataclass(frozen=True, slots=True)
class Jumping:
    """An operator that jumps, the values that it reads, the constants behind them, the inputs and outputs around it."""

    name: str
    because: str
    numbers: tuple[Value, ...]
    weights: Sequence[Const]
    inputs: list[str]
    outputs: list[str]

    def row(self, name_of: Callable[[Value], str | None]) -> dict[str, Any]:
        """Return the row of the metadata. `name_of` returns the file's name of a value, None if it does not have it."""
        numbers = [name for value in self.numbers if (name := name_of(value)) is not None]
        told = {"name": self.name, "because": self.because, "numbers": numbers}
        return {**told, "inputs": self.inputs, "outputs": self.outputs}


def find_jumps(named: NamedBlock) -> list[Jumping]:
    """Return the operators of a block that jump and that a result depends on."""
    block = named.block
    found: list[Jumping] = []
    for place, op in enumerate(block.ops):
        if not (jumps := _jumps_of(op)):
            continue
        before, after = block.ops[:place], block.ops[place + 1 :]
        params = zip(named.inputs, block.params, strict=True)
        inputs = [n for n, p in params if not active_vars(before, [p]).isdisjoint(reads(op))]
        moved = active_vars(after, op.outputs)
        results = zip(named.outputs, block.results, strict=True)
        outputs = [n for n, r in results if isinstance(r, Var) and r in moved]
        if outputs:
            numbers = _numbers(op)
            weights = constants_behind(before, numbers)
            found += [Jumping(*told, numbers, weights, inputs, outputs) for told in sorted(jumps)]
    return found


def of_functions(jumps: Iterable[Jumping], named: NamedBlock) -> list[Jumping]:
    """The jumps of blocks written as functions: the numbers are inside, the main graph has only what is behind them."""
    params = dict(zip(named.inputs, named.block.params, strict=True))
    return [replace(jump, numbers=(*(params[n] for n in jump.inputs), *jump.weights)) for jump in jumps]


def _numbers(op: Op) -> tuple[Value, ...]:
    """Return the numbers that a jump depends on; for an op with a jump inside, all that it reads."""
    read = op.inputs[1:] if op.kind == f"call::{JUMP}" else (*op.inputs, *reads(op))
    return tuple(dict.fromkeys(value for value in read if value is not None and value.type.is_float))


def with_numbers(block: Block, jumps: Iterable[Jumping]) -> Block:
    """Return the block with the numbers of the jumps as further results, so that no pass drops them."""
    numbers = tuple(value for jump in jumps for value in jump.numbers)
    return replace(block, results=(*block.results, *numbers)) if numbers else block


def without_numbers(block: Block, jumps: Iterable[Jumping]) -> tuple[Block, list[Jumping]]:
    """Return the block without those results, and the jumps with the final Vars of their numbers."""
    count = len(block.results) - sum(len(jump.numbers) for jump in jumps)
    became = iter(block.results[count:])
    found = [replace(jump, numbers=tuple(next(became) for _ in jump.numbers)) for jump in jumps]
    return replace(block, results=block.results[:count]), found


def told_jumps(jumps: Iterable[Jumping], name_of: Callable[[Value], str | None]) -> dict[str, str]:
    """Return the metadata of a file with such models; nothing if there are none. See `Jumping.row`."""
    rows = [row for jump in jumps if (row := jump.row(name_of))["inputs"] or row["numbers"]]
    return {TOLD: json.dumps(rows)} if rows else {}


def _jumps_of(op: Op) -> set[tuple[str, str]]:
    """Return the names of the operators that jump in an op, and the reasons why they have no derivative."""
    inside = (inner for block in op.blocks() for inner in walk(block))
    told = (_told(each) for each in (op, *inside) if each.kind == f"call::{JUMP}")
    return {(attributes["name"], attributes["because"]) for attributes in told}


def _told(jump: Op) -> Mapping[str, Any]:
    """Return the attributes of a jump; the rule of a batch has them from the op of one example."""
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
    """Return the outputs of a model, with derivatives refused as its metadata say. Raises ParseError."""
    found = dict(zip(outputs, entries, strict=True))
    try:
        for row in json.loads(metadata.get(TOLD, "[]")):
            if constants.holds_one_of(row["name"]):
                continue
            for name in row["outputs"]:
                for number in (values[n] for n in _sources(row, values)):
                    found[name] = _refusing(found[name], number, row["name"], row["because"])
    except (ValueError, KeyError, TypeError) as error:
        raise ParseError(f"the metadata {TOLD} of the file cannot be read: {error!r}") from None
    return [*found.values()]


def _sources(row: Mapping[str, Any], values: Mapping[str, Entry]) -> Sequence[str]:
    """Return the names of the numbers of a jump, or of the inputs, if the file lacks those or is an earlier one."""
    numbers = [name for name in row.get("numbers", []) if name in values]
    return numbers or row["inputs"]


def _refusing(result: Entry, number: Entry, name: str, because: str) -> Entry:
    if not isinstance(result, Value) or not isinstance(number, Value):
        raise TypeError(f"{name} gives no tensor")
    return leaning(Array(result), jumping(Array(number), Array(number), name, because)).value

"""Reports on a split before it is written: inputs and outputs, the listing, the work of each line, captures."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from primsplit.audit.frozen import value_text
from primsplit.ir import Block, Op, is_call
from primsplit.ir.dims import Dim
from primsplit.ir.notation.literals import bytes_text
from primsplit.programs.api import SplitProgram
from primsplit.programs.carried import Carried


def report(made: SplitProgram) -> dict[str, Any]:
    """The report as texts and numbers, for JSON.

    `inputs` and `outputs` are those of the joint file. `lines`: how many operators each of the user's lines has in the
    primal, forward, and in the pullback, backward. `states`: the state that calls hand on; None is the output of one
    that is only read. `captures`: the values that the pullback reads, with their kinds, and the bytes stored for them;
    `stored`: the sum. `recomputed`: the values that it computes again under a policy.
    """
    joint = made.joint()
    return {
        "function": made.program.block.name,
        "inputs": [_input(made, n, str(t)) for n, t in zip(joint.inputs, joint.types, strict=True)],
        "outputs": [{"name": n, "type": str(r.type)} for n, r in zip(joint.outputs, joint.block.results, strict=True)],
        "operators": {"forward": len([*operators(made.primal)]), "backward": len([*operators(made.pullback)])},
        "listing": made.listing(),
        "lines": _lines(made.primal, made.pullback),
        "states": [_state(carried) for carried in joint.states],
        "captures": made.capture_table(),
        "stored": _stored(made),
        "recomputed": made.recomputed_table(),
    }


def _input(made: SplitProgram, name: str, type: str) -> dict[str, Any]:
    if name in made.seed_names:
        return {"name": name, "type": type, "role": "cotangent"}
    if f"d_{name}" in made.gradient_names:
        return {"name": name, "type": type, "role": "differentiated"}
    return {"name": name, "type": type, "role": "state" if name in {c.input for c in made.program.states} else "data"}


def _state(carried: Carried) -> dict[str, Any]:
    initial = carried.state.initial
    where = {"input": carried.input, "output": carried.output}
    told = {"type": str(carried.state.type), "bytes": initial.nbytes, "initial": value_text(initial)}
    return {"name": carried.name, **told, **where}


def _lines(primal: Block, pullback: Block) -> list[dict[str, Any]]:
    """One row for each of the user's lines, in the order in which they first run."""
    forward = Counter(op.line for op in operators(primal))
    backward = Counter(op.line for op in operators(pullback))
    rows = []
    for place in dict.fromkeys((*forward, *backward)):
        where = "sums of cotangents" if place is None else str(place)
        source = "" if place is None else place.source
        rows.append({"place": where, "source": source, "forward": forward[place], "backward": backward[place]})
    return rows


def operators(block: Block) -> Iterator[Op]:
    """The ops of a block, with those of its branches and loops; a call counts as one op."""
    for op in block.ops:
        yield op
        for inner in () if is_call(op) else op.blocks():
            yield from operators(inner)


def _stored(made: SplitProgram) -> str:
    """The bytes that the forward pass keeps for the pullback, beyond inputs and outputs."""
    total: Dim = 0
    for capture in made.split.stored():
        count = capture.type.nbytes()
        if count is None:
            return "unknown"
        total = total + count
    return bytes_text(total)

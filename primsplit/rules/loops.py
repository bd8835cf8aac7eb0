"""Derivative rules of Scan and Loop: how each is run with more outputs, and where a step's inputs are found."""

from functools import partial

import numpy as np

from primsplit.ir import Block, Value, rename_block, walk
from primsplit.ops import op
from primsplit.ops.inference import renewed
from primsplit.rules.steps import Turns
from primsplit.rules.table import Pullback, Site, block_rule
from primsplit.rules.turns import run_turns
from primsplit.tracing.array import Array
from primsplit.tracing.regions import ScanForm, Walk, counts_alone, emit_loop, emit_scan, outside, visible, walks_of


@block_rule("Scan")
def scan(site: Site) -> tuple[list[Array], Pullback]:
    """A Scan from the other end."""
    body: Block = site.attributes["body"]
    inputs = [site.input(i).value for i in range(len(site.inputs))]
    count = len(inputs) - int(site.attributes["num_scan_inputs"])
    carries, sequences = inputs[:count], inputs[count:]
    reads = walks_of(site.attributes, "scan_input", len(sequences))

    def run(whole: Block, writes: tuple[Walk, ...]) -> list[Value]:
        return emit_scan(ScanForm(whole, count, reads, writes), carries, sequences)

    def steps() -> Array:
        axis = reads[0].axis
        return op.Shape(Array(sequences[0]), start=axis, end=None if axis == -1 else axis + 1)

    turns = Turns(
        body=body,
        inits=tuple(carries),
        writes=walks_of(site.attributes, "scan_output", len(body.results) - count),
        run=run,
        steps=steps,
        element=lambda position, _: (sequences[position], reads[position]),
        first=0,
        sequences=tuple((v, w) for v, w in zip(sequences, reads, strict=True)),
    )
    return run_turns(site, turns)


@block_rule("Loop")
def loop(site: Site) -> tuple[list[Array], Pullback]:
    """A Scan over what the steps kept, however many there were."""
    body: Block = site.attributes["body"]
    trips, condition = (None if a is None else a.value for a in site.inputs[:2])
    carries = tuple(site.input(i).value for i in range(2, len(site.inputs)))
    iteration, going, *params = body.params
    turned = Block(body.name, (*params, iteration, going), body.ops, body.results[1:])
    always = counts_alone(condition, body)

    def run(whole: Block, _: tuple[Walk, ...]) -> list[Value]:
        inner = Block(whole.name, body.params, whole.ops, (body.results[0], *whole.results))
        return emit_loop(trips, condition, inner, carries, [v.type for v in site.op.outputs[: len(carries)]])

    def again(count: Array) -> list[Value]:
        known = visible([*carries, *(a.value for a in site.outer)])
        types = [outside(p.type, known, "changing") for p in params]
        whole = Block(body.name, body.params, body.ops, (going, *turned.results[: len(carries)]))
        inside = visible([*whole.params, *(v for o in walk(whole) for v in o.outputs)]) - known
        inner = rename_block(whole, {}, renewed(inside))
        return emit_loop(count.value, None, inner, carries, types)

    turns = Turns(
        body=turned,
        inits=carries,
        writes=(Walk(),) * (len(turned.results) - len(carries)),
        run=run,
        steps=partial(_steps, trips) if trips is not None and always else None,
        element=_element,
        first=2,
        sequences=(),
        again=again,
    )
    return run_turns(site, turns)


def _steps(bound: Value) -> Array:
    """Return the number of steps of a Loop that only a number bounds."""
    return op.Max(op.Reshape(Array(bound), [1]), np.zeros(1, np.int64))


def _element(position: int, count: Array) -> tuple[Value, Walk]:
    """Return the sequence of a step's own parameters along the Loop: its number, and a True condition."""
    if position:
        return op.Expand(np.array(True), count).value, Walk()
    return op.Range(np.int64(0), op.Squeeze(count, [0]), np.int64(1)).value, Walk()

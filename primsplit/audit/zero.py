"""List what has no influence on the results or on a derivative of a file, and the node that cuts the path.

```
mask = Greater(x, t)     # line 4       t   derivative 0   a comparison, Greater at line 4
y = Mul(x, mask)                        x   cut path       a comparison, Greater at line 4
```

An input that acts smoothly too has a derivative other than 0 all the same: its other path is only cut.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from primsplit.audit.file_listing import is_literal
from primsplit.audit.linear import COTANGENT, TANGENT_OF
from primsplit.audit.whole import Whole, about, whole
from primsplit.audit.written import Written
from primsplit.ir import Block, Const, Op, Value, Var, live_ops, reads, walk
from primsplit.ir.analysis.dependence import SHAPES, needed
from primsplit.ops.traits import traits
from primsplit.tracing.calls.homogeneity import powers
from primsplit.tracing.hooks import HOOKS
from primsplit.transforms.smoothness import cuts, smoothly_needed

Row = dict[str, Any]


def zero_rows(files: Sequence[Written], recorded: Block | None = None, inputs: Sequence[str] = ()) -> list[Row]:
    """Return a row for each input, weight and node without influence, and for each cut path.

    `recorded` is the function that the files were made from, and `inputs` the names of its parameters: it knows the
    calls of `stop_gradient`, of which no node is left in a file. Each row has its kind, the names that it is about, why
    that is so, and the node with the user's line.
    """
    graphs = [*map(whole, files)]
    rows = [*_of_forward(graphs[0])] if recorded is None else [*_of_recorded(recorded, inputs)]
    for graph in graphs:
        rows += [*_zero_gradients(graph, rows), *_dead(graph), *_unread(graph)]
    return rows


def _of_recorded(block: Block, inputs: Sequence[str]) -> Iterator[Row]:
    named = HOOKS.with_straight_through(block)
    names: dict[Value, str] = dict(zip(named.params, inputs, strict=True))
    yield from _grouped(_paths(named.ops, named.results, names), {})


def _of_forward(graph: Whole) -> Iterator[Row]:
    """Yield the rows of the function in a file: of the outputs that are no derivatives."""
    pairs = zip(graph.file.outputs, graph.block.results, strict=True)
    values = [result for name, result in pairs if not _is_derivative(graph.file, name)]
    ops = live_ops(graph.block.ops, values)
    taken = _weights(graph, ops)
    copies = {replace(op, inputs=tuple(v if v is None else taken.get(v, v) for v in op.inputs)): op for op in ops}
    seeds = {n for n in graph.file.inputs if n[:2] in {COTANGENT, TANGENT_OF} and graph.file.is_ours}
    names: dict[Value, str] = {
        p: n for n, p in zip(graph.file.inputs, graph.block.params, strict=True) if n not in seeds
    }
    names.update({var: graph.names[const] for const, var in taken.items()})
    nodes = {copy: graph.nodes.get(op, "") for copy, op in copies.items()}
    yield from _grouped(_paths([*copies], [taken.get(v, v) for v in values], names), nodes)


def _weights(graph: Whole, ops: Sequence[Op]) -> dict[Value, Var]:
    """Return a variable for each array of the file that the ops read: what it acts on is found like that of inputs."""
    read = {id(v) for op in ops for v in op.inputs}
    held = [c for c in graph.file.held.values() if c.type.is_float and not is_literal(c) and id(c) in read]
    return {c: Var(c.type, c.hint) for c in held}


def _is_derivative(file: Written, name: str) -> bool:
    stem = name[2:]
    return file.is_ours and (
        (name[:2] == COTANGENT and stem in file.inputs) or (name[:2] == TANGENT_OF and name not in file.inputs)
    )


def _paths(
    ops: Sequence[Op], results: Sequence[Value], names: Mapping[Value, str]
) -> Iterator[tuple[str, str, str, Op | None]]:
    """Yield for each variable in `names` its kind of row, its name, why, and the op that cuts a path."""
    plain = [op for op in ops if op.kind not in SHAPES]
    acting, smooth = needed(plain, results), smoothly_needed(plain, results)
    read = {v for op in ops for v in reads(op)}
    for var, name in names.items():
        if not isinstance(var, Var):
            continue
        if var not in acting:
            yield "no influence", name, "only its shape is read" if var in read else "no output depends on it", None
        elif var.type.is_float:
            kind = "cut path" if var in smooth else "derivative 0"
            yield from ((kind, name, reason(op), op) for op in cuts(plain, [var], acting))


def reason(op: Op) -> str:
    """Return why no derivative goes through an op."""
    if op.attributes.get("stops", False):
        return "a call of stop_gradient"
    if traits(op.kind).compares:
        return "a comparison"
    if op.kind == "Cast":
        return f"a conversion to {op.outputs[0].type.dtype}"
    if not op.outputs[0].type.is_float:
        return f"a choice: its result is {op.outputs[0].type.dtype}"
    return "a step: its slope is 0 wherever there is one"


def _grouped(paths: Iterator[tuple[str, str, str, Op | None]], nodes: Mapping[Op, str]) -> Iterator[Row]:
    """Yield a row for each operator of a line that cuts paths, with the names of all variables whose paths it cuts."""
    found: dict[tuple[str, ...], tuple[dict[str, None], dict[Op | None, None]]] = {}
    for kind, name, why, op in paths:
        at = about(op)
        key = (kind, why, at["operator"], at["place"] or nodes.get(op, "") if op is not None else "")
        names, ops = found.setdefault(key, ({}, {}))
        names[name] = ops[op] = None
    for (kind, why, *_), (names, ops) in found.items():
        first = next(iter(ops))
        at = about(first, "" if first is None else nodes.get(first, ""))
        yield {"kind": kind, "names": [*names], "why": why, "nodes": len(ops) if first is not None else 0, **at}


def _zero_gradients(graph: Whole, known: Sequence[Row]) -> Iterator[Row]:
    """Yield the gradients that are 0 in the file, of inputs that no other row explains."""
    explained = {name for row in known if row["kind"] in {"derivative 0", "no influence"} for name in row["names"]}
    for name, result in zip(graph.file.outputs, graph.block.results, strict=True):
        if not _is_derivative(graph.file, name) or name[:2] != COTANGENT or name[2:] in explained:
            continue
        (power,) = powers(live_ops(graph.block.ops, [result]), [], [result], check=lambda *_: None)
        if power == math.inf:
            made = next((op for op in graph.block.ops if result in op.outputs), None)
            why = "the gradient in the file is 0, and an output varies smoothly with the input"
            yield {"kind": "dropped path", "names": [name[2:]], "why": why, "nodes": 1, **graph.about(made)}


def _dead(graph: Whole) -> Iterator[Row]:
    """Yield the nodes whose values reach no output."""
    live = {*live_ops(graph.block.ops, graph.block.results)}
    for op in graph.block.ops:
        if op not in live:
            names = [graph.names[v] for v in op.outputs]
            yield {
                "kind": "unused node",
                "names": names,
                "why": "no output depends on it",
                "nodes": 1,
                **graph.about(op),
            }


def _unread(graph: Whole) -> Iterator[Row]:
    """Yield the arrays of the file that no node reads."""
    read = {id(v) for op in walk(graph.block) for v in op.inputs if isinstance(v, Const)}
    for op in walk(graph.block):
        read |= {id(r) for inner in op.blocks() for r in inner.results}
    read |= {id(r) for r in graph.block.results}
    for name, const in graph.file.held.items():
        if id(const) not in read:
            yield {"kind": "unused constant", "names": [name], "why": "no node reads it", "nodes": 0, **about(None)}

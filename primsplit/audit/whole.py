"""Put the bodies of a file's functions in the place of their calls, and numbers in that of Constant nodes.

```
y = local::layer(x)          h = Mul(x, 2.0)
                      ->     y = Tanh(h)
```

An analysis then walks one graph.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.audit.written import OfCall, Written
from primsplit.ir import Attribute, Block, Const, Op, Renaming, Value, Var, rename, renamed


@dataclass(frozen=True, slots=True)
class Whole:
    """The graph of a file without calls of its functions.

    `nodes` has the name of each op's node, `names` that of each value, `sections` the part that an op belongs to.
    """

    file: Written
    block: Block
    nodes: Mapping[Op, str]
    names: Mapping[Value, str]

    def result(self, name: str) -> Value:
        """Return the value of an output."""
        return self.block.results[self.file.outputs.index(name)]

    def param(self, name: str) -> Var:
        """Return the value of an input."""
        return self.block.params[self.file.inputs.index(name)]

    def about(self, op: Op | None) -> dict[str, str]:
        """Return the node, the operator and the user's line of an op, for JSON."""
        return about(op, "" if op is None else self.nodes.get(op, ""))


def about(op: Op | None, node: str = "") -> dict[str, str]:
    """Return the operator and the user's line of an op, for JSON; empty texts for None."""
    place = None if op is None else op.place
    kind = "" if op is None else op.kind.removeprefix("call::")
    where = {"place": "", "source": ""} if place is None else {"place": place.short, "source": place.source}
    return {"node": node, "operator": kind, **where}


def whole(file: Written) -> Whole:
    """Return the graph of a file with its functions inlined and its Constant nodes as constants."""
    nodes, names = dict(file.nodes), dict(file.names)
    if not file.functions and "Constant" not in {op.kind for op in file.block.ops}:
        return Whole(file, file.block, nodes, names)
    ops: list[Op] = []
    renaming: Renaming = {}
    _Inlining(file, nodes, names).into(ops, file.block.ops, renaming)
    block = Block(
        file.block.name, file.block.params, tuple(ops), tuple(renamed(r, renaming) for r in file.block.results)
    )
    return Whole(file, block, nodes, names)


@dataclass(frozen=True, slots=True)
class _Inlining:
    """Copies ops; a call of a function becomes copies of its ops, with their nodes and names."""

    file: Written
    nodes: dict[Op, str]
    names: dict[Value, str]

    def into(
        self, ops: list[Op], added: Sequence[Op], renaming: Renaming, given: Mapping[str, Attribute] | None = None
    ) -> None:
        """Append copies of ops to a list; those of a function get the attributes that its call gives."""
        for op in added:
            body = self.file.functions.get(op.kind)
            bound = _bound(op, given)
            const = constant_of(bound)
            if const is not None:
                renaming[op.outputs[0]] = const
                self.names[const] = self.file.names[op.outputs[0]]
            elif body is None:
                copy = rename(bound, renaming)
                self.nodes[copy] = self.file.nodes.get(op, "")
                self.names.update((new, self.names[old]) for new, old in zip(copy.outputs, op.outputs, strict=True))
                ops.append(copy)
            else:
                own: dict[Any, Any] = dict.fromkeys(body.params)
                own.update(zip(body.params, (renamed(v, renaming) for v in op.inputs), strict=False))
                called = {**self.file.defaults[op.kind], **bound.attributes}
                self.into(ops, body.ops, own, called)
                made = [renamed(r, own) for r in body.results]
                renaming.update(zip(op.outputs, made, strict=False))
                self.names.update(zip(made, (self.file.names[v] for v in op.outputs), strict=False))


def _bound(op: Op, given: Mapping[str, Attribute] | None) -> Op:
    """Return an op of a function with the attributes that a call gives, without those that it leaves out."""
    if given is None or not any(isinstance(v, OfCall | Block) for v in op.attributes.values()):
        return op
    found: dict[str, Attribute] = {}
    for name, value in op.attributes.items():
        if isinstance(value, Block):
            ops = tuple(_bound(inner, given) for inner in value.ops)
            found[name] = Block(value.name, value.params, ops, value.results)
        elif not isinstance(value, OfCall):
            found[name] = value
        elif value.name in given:
            found[name] = given[value.name]
    return Op(op.kind, op.inputs, op.outputs, found, op.place, op.remark)


def constant_of(op: Op) -> Const | None:
    """Return the constant of a Constant node; None for another node, and for one of texts or a sparse array."""
    if op.kind != "Constant":
        return None
    value = next(iter(op.attributes.values()), None)
    if isinstance(value, np.ndarray):
        return Const(value, op.outputs[0].hint)
    numbers = np.asarray(value)
    dtypes = {"f": np.float32, "i": np.int64}
    return Const(numbers.astype(dtypes[numbers.dtype.kind])) if numbers.dtype.kind in dtypes else None

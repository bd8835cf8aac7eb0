"""Tell which constants and computations of two files are the same, whatever their names and places are.

```
matmul_3 = MatMul(x, w); h = Tanh(matmul_3)   # old.py:5      both have the digest of
dot = MatMul(x, w); hidden = Tanh(dot)        # new.py:9      Tanh(MatMul(x, w))
```
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from primsplit.audit.file_listing import is_literal
from primsplit.audit.frozen import array_digest
from primsplit.audit.written import Written
from primsplit.ir import AnyArray, Block, Const, Op, Value, Var, walk


@dataclass(frozen=True, slots=True)
class Contents:
    """The arrays of two files: each constant's identity, the same in both files for arrays that are the same.

    `changed` are the arrays that have one name in both files and other numbers; `added` and `removed` are in one file.
    """

    identity: Mapping[Const, str]
    changed: tuple[tuple[Const, Const], ...]
    added: tuple[Const, ...]
    removed: tuple[Const, ...]


def contents(before: Written, after: Written) -> Contents:
    """Compare the arrays of two files: by their numbers, else by their names."""
    old, new = ({c: _content(c) for c in _arrays(file)} for file in (before, after))
    everywhere = {*old.values()} & {*new.values()}
    left = [{f.names[c]: c for c in own if own[c] not in everywhere} for f, own in ((before, old), (after, new))]
    pairs = [(left[0][name], left[1][name]) for name in left[0] if name in left[1]]
    identity = {**old, **new}
    for a, b in pairs:
        identity[a] = identity[b] = f"{old[a]} or {new[b]}"
    paired = {c for pair in pairs for c in pair}
    removed, added = (tuple(c for c in names.values() if c not in paired) for names in left)
    return Contents(identity, tuple(pairs), added, removed)


def _arrays(file: Written) -> Iterator[Const]:
    """Yield the arrays that a listing shows by name, and the defaults of inputs, each once."""
    blocks = [file.block, *file.functions.values(), *(b for op in file.ops() for b in op.blocks())]
    read = (v for block in blocks for v in (*(v for op in block.ops for v in op.inputs), *block.results))
    found = dict.fromkeys(v for v in (*file.held.values(), *read) if isinstance(v, Const))
    defaults = {const for name, const in file.held.items() if name in file.inputs}
    yield from (const for const in found if const in defaults or not is_literal(const))


def _content(const: Const) -> str:
    return f"{const.type} {array_digest(const.numpy())}"


def literal_text(array: AnyArray) -> str:
    """Return the numbers of a short constant, the same for 0.1 in every dtype of floats."""
    return f"{list(array.shape)} {[str(number) for number in array.reshape(-1)]}"


def same_constant(a: Const, b: Const, identity: Mapping[Const, str]) -> bool:
    """Whether two constants are the same numbers, rounded to the coarser dtype of both."""
    if a in identity or b in identity:
        return identity.get(a) == identity.get(b)
    x, y = a.numpy(), b.numpy()
    if x.shape != y.shape or x.dtype.kind != y.dtype.kind:
        return False
    if x.dtype.itemsize < y.dtype.itemsize:
        y = y.astype(x.dtype)
    return x.astype(y.dtype).tobytes() == y.tobytes()


def attribute_text(value: Any) -> str:
    """Return an attribute as a text that is the same for equal attributes."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)} {array_digest(value)}"
    return repr(value)


def plain_attributes(op: Op) -> dict[str, str]:
    """Return the attributes of an op that are no graphs, as texts."""
    return {name: attribute_text(v) for name, v in sorted(op.attributes.items()) if not isinstance(v, Block)}


@dataclass
class Digests:
    """The digest of each value: of the tree of operators that computes it, down to inputs and constants."""

    identity: Mapping[Const, str]
    of: dict[Value, str] = field(default_factory=dict)
    ops: dict[Op, str] = field(default_factory=dict)

    def graph(self, block: Block, names: tuple[str, ...], depth: int = 0) -> None:
        """Add the values of a block, whose parameters have these names."""
        self.of.update((p, _digest("input", name, depth)) for p, name in zip(block.params, names, strict=True))
        for op in block.ops:
            self.op(op, depth)

    def op(self, op: Op, depth: int) -> None:
        """Add the results of an op, and the values inside of it."""
        inside = []
        for name, value in op.attributes.items():
            if isinstance(value, Block):
                self.graph(value, tuple(f"{name} {i}" for i in range(len(value.params))), depth + 1)
                inside.append((name, [self.value(r) for r in value.results], [self.ops[o] for o in walk(value)]))
        found = _digest(op.kind, [self.value(v) for v in op.inputs], plain_attributes(op), inside)
        self.ops[op] = found
        self.of.update((out, _digest(found, i)) for i, out in enumerate(op.outputs))

    def value(self, value: Value | None) -> str:
        """Return the digest of an input or a result."""
        if isinstance(value, Var):
            return self.of[value]
        if value is None:
            return ""
        return self.identity.get(value) or literal_text(value.numpy())


def _digest(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()

"""Passes by name, which are imported when they first run, and what a block must have for them.

A table of passes can so name each of them, and only those that fit a program cost anything.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from itertools import islice
from typing import Any

from primsplit.ir.blocks import Block, walk
from primsplit.ir.dims import above, is_one
from primsplit.ir.values import Const, Converted

Kinds = tuple[frozenset[str], ...]
"""Groups of operators, of each of which a block must have one."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A question whether a pass may find something in a block: its answer is False where it surely finds nothing.

    `says` tells what a block must have, in a few words.
    """

    says: str
    holds: Callable[[Block], bool]

    def __call__(self, block: Block) -> bool:
        """Return the answer for a block."""
        return self.holds(block)

    def __or__(self, other: "Condition") -> "Condition":
        """Return the condition that one of the two holds."""
        return Condition(f"{self.says} or {other.says}", lambda block: self(block) or other(block))


@cache
def pass_named(path: str) -> Callable[..., Any]:
    """Import a pass, or another function, of the package, such as "rewrites.inline.inline_calls"."""
    module, _, name = path.rpartition(".")
    found: Callable[..., Any] = getattr(import_module(f"primsplit.{module}"), name)
    return found


def imported(path: str, kinds: str = "", has: Condition | None = None) -> Callable[..., Block]:
    """Return a pass of the package that is imported when it first runs: on a block that has what it needs."""
    wanted = groups(kinds)

    def run(block: Block, *about: Any, **named: Any) -> Block:
        if not has_each(block, wanted) or not (has is None or has(block)):
            return block
        found: Block = pass_named(path)(block, *about, **named)
        return found

    return run


def groups(kinds: str) -> Kinds:
    """Read groups of operators: "Log ReduceSum|ReduceMean" is a Log, and one of two reductions.

    "Reduce*" is any operator whose name begins so.
    """
    return tuple(frozenset(group.split("|")) for group in kinds.split())


def has_each(block: Block, wanted: Kinds) -> bool:
    """Whether a block, or a block inside of it, has an operator of each group."""
    return all(_has_one(block.kinds, group) for group in wanted)


def _has_one(kinds: frozenset[str], group: Iterable[str]) -> bool:
    if not kinds.isdisjoint(group):
        return True
    starts = tuple(kind[:-1] for kind in group if kind.endswith("*"))
    return bool(starts) and any(kind.startswith(starts) for kind in kinds)


def array_of(nbytes: int) -> Condition:
    """Return the condition that a block has a value that may take so many bytes or more."""
    return Condition(
        f"array of {nbytes // 1024} KiB",
        lambda block: any((size := t.literal_nbytes()) is None or size >= nbytes for t in block.types),
    )


def dtype_among(*names: str) -> Condition:
    """Return the condition that a block has a value of one of these dtypes."""
    return Condition("|".join(names), lambda block: any(t.key[0] in names for t in block.types))


def _constants(block: Block) -> Iterator[Const]:
    """Yield the constants that ops read, each as often as it is read."""
    return (v for op in walk(block) for v in op.inputs if isinstance(v, Const))


def ops_from(count: int) -> Condition:
    """Return the condition that a block has so many ops or more, those of its sub-blocks not counted."""
    return Condition(f"{count} ops", lambda block: len(block.ops) >= count)


def ops_inside_from(count: int) -> Condition:
    """Return the condition that a block has so many ops or more, with those of its sub-blocks."""
    return Condition(f"{count} ops inside", lambda block: any(True for _ in islice(walk(block), count - 1, None)))


def one_of(kinds: str) -> Condition:
    """Return the condition that a block has an operator of one group, such as "Div|Mod": an alternative to others."""
    return Condition(kinds, partial(has_each, wanted=groups(kinds)))


def reads_vector(kind: str) -> Condition:
    """Return the condition that an operator of this kind reads a value of one axis."""
    return Condition(
        f"{kind} of a vector",
        lambda block: any(
            op.kind == kind and any(v is not None and v.type.rank == 1 for v in op.inputs) for op in walk(block)
        ),
    )


has_column = Condition(
    "column",
    lambda block: any(t.shape is not None and len(t.shape) > 1 and is_one(t.shape[-1]) for t in block.types),
)
"""The condition that a value of a block has two axes or more, the last of size 1."""
has_converted = Condition(
    "constant converted by tracing", lambda block: any(isinstance(c.data, Converted) for c in _constants(block))
)
"""The condition that an op reads a constant that tracing converted from another dtype."""
has_open_size = Condition(
    "size known to the run",
    lambda block: any(t.shape is None or not all(isinstance(d, int) for d in t.shape) for t in block.types),
)
"""The condition that a value of a block has a size, or a number of axes, that is not known before the run."""
may_be_empty = Condition(
    "axis that may be empty",
    lambda block: any(t.shape is None or not all(above(size, 0) for size in t.shape) for t in block.types),
)
"""The condition that a value of a block may have an axis of size 0."""

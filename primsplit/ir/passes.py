"""Passes by name, which are imported when they first run, and the operators that a block must have for them.

A table of passes can so name each of them, and only those that fit a program cost anything.
"""

from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import Any

from primsplit.ir.blocks import Block

Kinds = tuple[frozenset[str], ...]
"""Groups of operators, of each of which a block must have one."""


@cache
def pass_named(path: str) -> Callable[..., Block]:
    """Import a pass of the package, such as "rewrites.inline.inline_calls"."""
    module, _, name = path.rpartition(".")
    found: Callable[..., Block] = getattr(import_module(f"primsplit.{module}"), name)
    return found


def imported(path: str) -> Callable[..., Block]:
    """Return a pass of the package that is imported when it first runs."""

    def run(block: Block, *about: Any, **named: Any) -> Block:
        return pass_named(path)(block, *about, **named)

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

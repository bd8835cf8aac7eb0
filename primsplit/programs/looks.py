"""Compute the key by which a call finds its program: dtypes, shapes and structure of arguments, and static values."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit.ir.caching.fingerprint import fingerprint
from primsplit.tracing import trees
from primsplit.tracing.calls.recorded import StandIn
from primsplit.tracing.specs import leaf_type


def look_of(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Sequence[Any], Any]:
    """Return the leaves of a call, and a key that is the same for calls of the same program.

    The key is None if a leaf is neither an array nor a number nor static, but a spec, say.
    """
    kinds = None if named else {*map(type, args)}
    if kinds == PLAIN:
        return args, tuple([(a.dtype, a.shape) for a in args])
    if kinds and kinds <= LEAVES:
        return args, tuple([_leaf_look(a) for a in args])
    if kinds and kinds <= WITH_DICTS and (found := _in_dicts(args)) is not None:
        return found
    leaves, spec = trees.flatten((args, named))
    looks = [_leaf_look(leaf) for leaf in leaves]
    return leaves, None if None in looks else (spec, *looks)


PLAIN = {np.ndarray}
LEAVES = {np.ndarray, np.float32, np.float64, float}


WITH_DICTS = {np.ndarray, dict}


def _in_dicts(args: tuple[Any, ...]) -> tuple[list[Any], Any] | None:
    """Return leaves and look of arrays and dictionaries of arrays by texts, sooner than by flattening; else None."""
    leaves: list[Any] = []
    looks: list[Any] = []
    for arg in args:
        if type(arg) is np.ndarray:
            leaves.append(arg)
            looks.append((arg.dtype, arg.shape))
            continue
        if {*map(type, arg)} != {str} or {*map(type, arg.values())} != PLAIN:
            return None
        names = sorted(arg)
        held = [arg[name] for name in names]
        leaves += held
        looks.append((*names, *[(a.dtype, a.shape) for a in held]))
    return leaves, tuple(looks)


def _leaf_look(leaf: Any) -> Any:
    if type(leaf) is np.ndarray:
        return leaf.dtype, leaf.shape
    if isinstance(leaf, np.generic):
        return type(leaf), leaf.dtype
    if type(leaf) in {float, complex}:
        return type(leaf)
    return fingerprint(leaf) if leaf_type(leaf) is None else None


def leaf_key(leaf: Any) -> Any:
    """A leaf's part of a program's key: dtype, sizes and whether it is a number, or the value of a static one."""
    found = leaf_type(leaf)
    if found is None:
        return fingerprint(leaf)
    return found.key, StandIn.for_leaf(leaf, found).kind

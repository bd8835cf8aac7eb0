"""What tells the program that a call takes: dtypes, shapes and structure of its arguments, and what is static."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit.ir.caching.fingerprint import fingerprint
from primsplit.tracing import trees
from primsplit.tracing.calls.recorded import StandIn
from primsplit.tracing.specs import leaf_type


def look_of(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Sequence[Any], Any]:
    """The leaves of a call, and what tells at a glance that another call takes the same program.

    That is None where a leaf is neither an array nor a number nor static, but a spec, say.
    """
    if not named and {*map(type, args)} == PLAIN:
        return args, tuple([(a.dtype, a.shape) for a in args])
    leaves, spec = trees.flatten((args, named))
    looks = [_leaf_look(leaf) for leaf in leaves]
    return leaves, None if None in looks else (spec, *looks)


PLAIN = {np.ndarray}


def _leaf_look(leaf: Any) -> Any:
    if type(leaf) is np.ndarray:
        return leaf.dtype, leaf.shape
    if isinstance(leaf, np.generic):
        return type(leaf), leaf.dtype
    if type(leaf) in {float, complex}:
        return type(leaf)
    return fingerprint(leaf) if leaf_type(leaf) is None else None


def leaf_key(leaf: Any) -> Any:
    """What programs are kept under for a leaf: dtype, sizes and whether it is a number, or what a static one holds."""
    found = leaf_type(leaf)
    if found is None:
        return fingerprint(leaf)
    return found.key, StandIn.for_leaf(leaf, found).kind

"""Substitutes for scipy.spatial's trees of points."""

from types import ModuleType
from typing import Any

from primsplit.frontends.python.overrides.table import register, register_method, when_traced
from primsplit.frontends.scipy.neighbours import Neighbours

TREES = ("KDTree", "cKDTree")


def _query(tree: Any, *args: Any, **options: Any) -> tuple[Any, Any]:
    """A tree of known points, asked at traced ones."""
    return Neighbours(tree.data, boxsize=tree.boxsize).query(*args, **options)


def register_neighbours(spatial: ModuleType) -> None:
    """Let trees be made of traced points, and be asked at traced ones; those of compiled code are made alone."""
    for tree in (getattr(spatial, name) for name in TREES):
        register(tree, when_traced(tree, Neighbours))
    register_method(spatial.KDTree, "query", _query)

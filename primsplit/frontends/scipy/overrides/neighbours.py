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
    """Register trees of traced points, and queries at traced points; compiled classes only when built."""
    for tree in (getattr(spatial, name) for name in TREES):
        register(tree, when_traced(tree, Neighbours))
    register_method(spatial.KDTree, "query", _query)

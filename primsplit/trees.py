"""Nested arguments: lists, tuples, dicts, dataclasses, and the names that their leaves have in a file."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import optree

from primsplit import tracing
from primsplit.array import FUNCTIONS, Array
from primsplit.dims import Size
from primsplit.ir import Type, Var

NAMESPACE = "primsplit"
TreeSpec = optree.PyTreeSpec


def flatten(tree: Any) -> tuple[list[Any], TreeSpec]:
    """The leaves of nested containers, and their structure. None is a container without leaves."""
    leaves, spec = optree.tree_flatten(tree, namespace=NAMESPACE)
    unknown = {kind for kind in {*map(type, leaves)} if dataclasses.is_dataclass(kind)} - {Type, Var}
    if not unknown:
        return leaves, spec
    for kind in unknown:
        _register_dataclass(kind)
    return flatten(tree)


def in_parts(tree: Any) -> tuple[list[Any], TreeSpec]:
    """The leaves, each complex one as its two parts, and the structure, which makes complex arrays of these again."""
    return flatten(parted(tree))


def parted(tree: Any) -> Any:
    """The same with a container of its two parts in the place of each complex leaf."""
    leaves, spec = flatten(tree)
    if not any(map(_is_complex, leaves)):
        return tree
    return unflatten(spec, [FUNCTIONS["parts"](x) if _is_complex(x) else x for x in leaves])


def _is_complex(leaf: Any) -> bool:
    if isinstance(leaf, Array | np.ndarray):
        return bool(leaf.dtype.kind == "c")
    return isinstance(leaf, complex | np.complexfloating)


def leaves_or_none(tree: Any) -> list[Any]:
    """The leaves of nested containers, None among them."""
    flatten(tree)
    leaves: list[Any] = optree.tree_leaves(tree, none_is_leaf=True, namespace=NAMESPACE)
    return leaves


def unflatten(spec: TreeSpec, leaves: Sequence[Any]) -> Any:
    """The containers with these leaves."""
    return optree.tree_unflatten(spec, leaves)


def _register_dataclass(kind: type) -> None:
    names = tuple(f.name for f in dataclasses.fields(kind))

    def split(instance: Any) -> tuple[list[Any], type, tuple[str, ...]]:
        return [getattr(instance, n) for n in names], kind, names

    def join(_: Any, values: Iterable[Any]) -> Any:
        instance: Any = object.__new__(kind)
        for name, value in zip(names, values, strict=True):
            object.__setattr__(instance, name, value)
        return instance

    optree.register_pytree_node(kind, split, join, namespace=NAMESPACE)


def register_container(kind: type, names: tuple[str, ...], join: Callable[..., Any]) -> None:
    """Take objects of this class for containers of these attributes, of which `join` makes what stands for them."""

    def split(instance: Any) -> tuple[list[Any], None, tuple[str, ...]]:
        return [getattr(instance, n) for n in names], None, names

    optree.register_pytree_node(kind, split, lambda _, values: join(*values), namespace=NAMESPACE)


def paths(spec: TreeSpec) -> list[tuple[Any, ...]]:
    """The way to each leaf: positions and keys, and the fields of dataclasses and named tuples by name."""
    return [tuple(getattr(entry, "field", entry.entry) for entry in way) for way in spec.accessors()]


def labels(spec: TreeSpec) -> list[str]:
    """What a leaf is called in an error: `[0].w`, or `the value` for a lone one."""
    named = ["".join(f".{p}" if isinstance(p, str) else f"[{p}]" for p in path) for path in paths(spec)]
    return [name or "the value" for name in named]


def as_list(returned: Any) -> list[Any]:
    """What a function returned, one thing or a tuple or list of several, as a list of them."""
    return list(returned) if isinstance(returned, tuple | list) else [returned]


def is_array(leaf: Any) -> bool:
    """True for a leaf that is an array of the program; other leaves are static."""
    return isinstance(leaf, Array | np.ndarray | np.generic | float | Size) and not isinstance(leaf, bool)


def owned(tree: Any) -> Any:
    """The same with arrays of its own: what a function writes to its arguments stays inside of it.

    In a trace these are handles of traced arrays, outside of one copies.
    """
    leaves, spec = flatten(tree)
    return unflatten(spec, [_owned(x) for x in leaves])


def _owned(leaf: Any) -> Any:
    if isinstance(leaf, Array):
        return leaf.own()
    return leaf.copy() if type(leaf) is np.ndarray and not tracing.is_recording() else leaf


def brief(spec: TreeSpec) -> str:
    """A structure as an error tells it, cut where it is long."""
    text = str(spec).removeprefix("PyTreeSpec(").removesuffix(")").removesuffix(", namespace='primsplit'")
    text = text.replace("CustomTreeNode(Parts[None], [*, *])", "*")
    return text if len(text) < 100 else text[:97] + "..."

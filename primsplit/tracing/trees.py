"""Flatten nested arguments (lists, tuples, dicts, dataclasses) to leaves and a structure, and build them again.

`{"w": a, "b": [c]}` has the leaves `[c, a]` (keys are sorted), with the paths `("b", 0)` and `("w",)`.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import optree

from primsplit import tracing
from primsplit.ir import Type, Var
from primsplit.ir.dims import Size
from primsplit.ir.errors import DtypeError
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.hooks import HOOKS

NAMESPACE = "primsplit"
TreeSpec = optree.PyTreeSpec
PLAIN = frozenset({np.ndarray, float, int, Array})
"""Classes of leaves that are known to be no dataclasses."""


def flatten(tree: Any) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of nested containers, and their structure. None is a container without leaves."""
    leaves, spec = optree.tree_flatten(tree, namespace=NAMESPACE)
    kinds = {*map(type, leaves)}
    if kinds <= PLAIN:
        return leaves, spec
    unknown = {kind for kind in kinds if dataclasses.is_dataclass(kind)} - {Type, Var}
    if not unknown:
        return leaves, spec
    for kind in unknown:
        _register_dataclass(kind)
    return flatten(tree)


def in_parts(tree: Any) -> tuple[list[Any], TreeSpec]:
    """Return the leaves, each complex one as its two parts, and the structure, which joins the parts again."""
    leaves, spec = flatten(tree)
    return flatten(_with_parts(leaves, spec)) if any(map(is_complex, leaves)) else (leaves, spec)


def parted(tree: Any) -> Any:
    """Return the tree with a container of its two parts in the place of each complex leaf."""
    leaves, spec = flatten(tree)
    return _with_parts(leaves, spec) if any(map(is_complex, leaves)) else tree


def _with_parts(leaves: Sequence[Any], spec: TreeSpec) -> Any:
    return unflatten(spec, [parts_of(x) if is_complex(x) else x for x in leaves])


def is_complex(leaf: Any) -> bool:
    """Whether the leaf is a complex array or number, or the type of one."""
    if isinstance(leaf, Array | np.ndarray | Type):
        return bool(leaf.dtype.kind == "c")
    return isinstance(leaf, complex | np.complexfloating)


@dataclasses.dataclass(slots=True)
class Parts:
    """The container that stands for a complex leaf: `unflatten` joins the two in it to a complex array or number."""

    real: Any
    imag: Any


PART_OF: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.float64),
}
"""The dtype of the parts of each complex dtype."""
COMPLEX_OF = {part: whole for whole, part in PART_OF.items()}


def parts_of(leaf: Any) -> Parts:
    """Return the container of a complex leaf's parts, which for a NumPy array are views of it."""
    if isinstance(leaf, Array):
        parts: Parts = HOOKS.complex_parts(leaf)
        return parts
    if isinstance(leaf, Type):
        part = Type(PART_OF[leaf.dtype], leaf.shape)
        return Parts(part, part)
    if not isinstance(leaf, complex) and leaf.dtype not in PART_OF:
        raise DtypeError(
            f"arrays of dtype {leaf.dtype} cannot be part of a program",
            place=tracing.user_place(),
            cure="Convert them: z.astype(complex).",
        )
    return Parts(leaf.real, leaf.imag)


def whole(real: Any, imag: Any) -> Any:
    """Return the complex array, number or type of two parts; the container if they are neither."""
    if isinstance(real, Array) or isinstance(imag, Array):
        return HOOKS.complex_whole(real, imag) if all(map(is_array, (real, imag))) else Parts(real, imag)
    if isinstance(real, np.ndarray | np.generic | Type) and real.dtype in COMPLEX_OF and type(real) is type(imag):
        return _of_dtype(COMPLEX_OF[real.dtype], real, imag)
    return complex(real, imag) if type(real) is type(imag) is float else Parts(real, imag)


def _of_dtype(dtype: np.dtype[Any], real: Any, imag: Any) -> Any:
    if isinstance(real, Type):
        return Type(dtype, real.shape)
    array = np.empty(np.shape(real), dtype)
    array.real, array.imag = real, imag
    return array if isinstance(real, np.ndarray) else array[()]


def leaves_like(spec: TreeSpec, tree: Any) -> list[Any]:
    """Return what a tree has in the place of each leaf of a structure; both parts for a complex one.

    A real number or array may stand for a complex one there, and None for one without parts. Raises ValueError or
    TypeError for a tree that does not begin with this structure.
    """
    try:
        leaves: list[Any] = spec.flatten_up_to(tree)
    except (ValueError, TypeError):
        marks, outer = wholes(spec, range(spec.num_leaves))
        if not any(map(_is_parts, marks)):
            raise
        pairs = zip(marks, outer.flatten_up_to(tree), strict=True)
        return [leaf for mark, own in pairs for leaf in (_in_two(own) if _is_parts(mark) else (own,))]
    return leaves


def leaves_with_zeros(spec: TreeSpec, tree: Any) -> list[Any]:
    """Return leaves as `leaves_like` does, where None may stand for a leaf or for all of a container.

    Raises ValueError or TypeError for a tree that has another structure.
    """
    try:
        leaves = leaves_like(spec, tree)
    except (ValueError, TypeError):
        leaves = _around_none(spec, tree)
    if not all(leaf is None or flatten(leaf)[1].is_leaf() for leaf in leaves):
        raise ValueError("a container stands for a leaf")
    return leaves


def _around_none(spec: TreeSpec, tree: Any) -> list[Any]:
    """Return the leaves of a tree that has None in the place of some container."""
    if tree is None:
        return [None] * spec.num_leaves
    outer = spec.one_level()
    if outer is None or spec.type is Parts:
        return leaves_like(spec, tree)
    pairs = zip(spec.children(), outer.flatten_up_to(tree), strict=True)
    return [leaf for child, part in pairs for leaf in _around_none(child, part)]


def leaves_beside(spec: TreeSpec, tree: Any) -> list[Any]:
    """Return the leaves of a tree in the place of those of a structure, whose containers may be of other classes.

    Complex ones are as in `leaves_like`. Raises ValueError if there are fewer or more.
    """
    pairs = zip(whole_leaves(spec, range(spec.num_leaves)), flatten(tree)[0], strict=True)
    return [leaf for mark, own in pairs for leaf in (_in_two(own) if _is_parts(mark) else (own,))]


def whole_leaves(spec: TreeSpec, marks: Sequence[Any]) -> list[Any]:
    """Return the marks of a structure's leaves, with `Parts` of both marks for each complex one."""
    return wholes(spec, marks)[0]


def wholes(spec: TreeSpec, marks: Sequence[Any]) -> tuple[list[Any], TreeSpec]:
    """Return the marks of `whole_leaves`, and the structure that has one leaf for each complex one."""
    return optree.tree_flatten(unflatten(spec, marks), is_leaf=_is_parts, none_is_leaf=False, namespace=NAMESPACE)


def _is_parts(tree: Any) -> bool:
    return isinstance(tree, Parts)


def _in_two(leaf: Any) -> tuple[Any, Any]:
    """Return the parts of what stands for a complex leaf."""
    if leaf is None or isinstance(leaf, Parts):
        return (None, None) if leaf is None else (leaf.real, leaf.imag)
    if is_complex(leaf):
        parts = parts_of(leaf)
        return parts.real, parts.imag
    if isinstance(leaf, int | float) and not isinstance(leaf, bool | np.generic):
        return float(leaf), 0.0
    if isinstance(leaf, Array):
        return leaf, FUNCTIONS[np.zeros_like](leaf)
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf, np.zeros_like(leaf) if isinstance(leaf, np.ndarray) else leaf.dtype.type(0)
    raise ValueError(f"{type(leaf).__name__} stands for no complex array")


def leaves_or_none(tree: Any) -> list[Any]:
    """Return the leaves of nested containers, None among them."""
    flatten(tree)
    leaves: list[Any] = optree.tree_leaves(tree, none_is_leaf=True, namespace=NAMESPACE)
    return leaves


def unflatten(spec: TreeSpec, leaves: Sequence[Any]) -> Any:
    """Return the containers with these leaves."""
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
    """Register a class as a container of these attributes.

    `join` builds what takes its place when it is unflattened.
    """

    def split(instance: Any) -> tuple[list[Any], None, tuple[str, ...]]:
        return [getattr(instance, n) for n in names], None, names

    optree.register_pytree_node(kind, split, lambda _, values: join(*values), namespace=NAMESPACE)


register_container(Parts, ("real", "imag"), whole)


def paths(spec: TreeSpec) -> list[tuple[Any, ...]]:
    """Return the path to each leaf: positions and keys, and the fields of dataclasses and named tuples by name."""
    return [tuple(getattr(entry, "field", entry.entry) for entry in way) for way in spec.accessors()]


def labels(spec: TreeSpec) -> list[str]:
    """Return what an error calls each leaf: `[0].w`, or `the value` for a lone one."""
    named = ["".join(f".{p}" if isinstance(p, str) else f"[{p}]" for p in path) for path in paths(spec)]
    return [name or "the value" for name in named]


def as_list(returned: Any) -> list[Any]:
    """Return what a function returned, one thing or a tuple or list of several, as a list."""
    return list(returned) if isinstance(returned, tuple | list) else [returned]


def is_array(leaf: Any) -> bool:
    """Whether the leaf is an array of the program; other leaves are static."""
    return isinstance(leaf, Array | np.ndarray | np.generic | float | Size) and not isinstance(leaf, bool)


def owned(tree: Any) -> Any:
    """Return the tree with arrays of its own: what a function writes to its arguments stays inside of it.

    In a trace these are handles of traced arrays, outside of one copies.
    """
    leaves, spec = flatten(tree)
    return unflatten(spec, [_owned(x) for x in leaves])


def _owned(leaf: Any) -> Any:
    if isinstance(leaf, Array):
        return leaf.own()
    return leaf.copy() if type(leaf) is np.ndarray and not tracing.is_recording() else leaf


def brief(spec: TreeSpec) -> str:
    """Return the text of a structure for an error, cut if it is long."""
    text = str(spec).removeprefix("PyTreeSpec(").removesuffix(")").removesuffix(", namespace='primsplit'")
    text = text.replace("CustomTreeNode(Parts[None], [*, *])", "complex")
    return text if len(text) < 100 else text[:97] + "..."

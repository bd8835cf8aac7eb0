"""Batch a function being traced: read the mapped axes of arguments, and place those of the results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.dims import Dim, Size, same
from primsplit.ir.errors import ShapeError, SpecError
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.broadcasting import axis_back, axis_first
from primsplit.tracing.calls.recorded import StandIn, merged, record_call
from primsplit.transforms.batching.table import repeated
from primsplit.transforms.batching.transform import batch_block
from primsplit.transforms.idioms.opposite_branches import recognize_opposite_branches

Function = Callable[..., Any]
Axes = Any
"""An axis, None for what all examples share, or containers of those, nested like the arguments or results."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """An argument: the array, with the batch axis in front if it has one, and whether it has one."""

    array: Array
    is_batched: bool
    label: str

    @property
    def of_one(self) -> Type:
        """The type of one example."""
        shape = self.array.shape
        return Type(self.array.dtype, shape[1:] if self.is_batched else shape)


def batched_call(
    function: Function, args: Sequence[Any], named: Mapping[str, Any], in_axes: Axes, out_axes: Axes
) -> Any:
    """Record `function` for a batch of examples; see `primsplit.vmap`."""
    args, named = trees.parted((tuple(args), dict(named)))
    leaves, spec = trees.flatten((args, named))
    axes = [
        *_axes_of_arguments(in_axes, args),
        *(0 if trees.is_array(x) else None for x in trees.flatten(named)[0]),
    ]
    labels = map(_label, spec.paths())
    mapped = [_mapped(x, a, label) for x, a, label in zip(leaves, axes, labels, strict=True)]
    arrays = [m for m in mapped if m is not None]
    size = _size_of(arrays)

    def call(handles: list[Array]) -> Any:
        positional, keywords = trees.unflatten(spec, merged(leaves, mapped, handles))
        return function(*positional, **keywords)

    stand_ins = [StandIn(m.of_one, weak=m.array.weak, scalar=_is_number(m)) for m in arrays]
    block, result_spec = record_call(getattr(function, "__name__", "f"), stand_ins, call)
    block = recognize_opposite_branches(block)  # whose sides are far apart in a batch
    batched_block, flags = batch_block(block, [m.is_batched for m in arrays], size)
    values = tracing.inline(batched_block, [m.array.value for m in arrays])
    wanted = _prefix(out_axes, trees.parted(trees.unflatten(result_spec, [Array(v) for v in values])), "out_axes")
    placed = [_placed(Array(v), f, a, size) for v, f, a in zip(values, flags, wanted, strict=True)]
    return trees.unflatten(result_spec, placed)


def _axes_of_arguments(in_axes: Axes, args: Sequence[Any]) -> list[int | None]:
    """Return one axis for each leaf of the positional arguments."""
    if not isinstance(in_axes, list | tuple | dict):
        return _prefix(in_axes, tuple(args), "in_axes")
    if isinstance(in_axes, dict) or len(in_axes) != len(args):
        raise SpecError(
            f"in_axes={in_axes!r} does not fit {len(args)} positional arguments",
            place=tracing.user_place(),
            cure="Give an axis, or a tuple with one entry an argument.",
        )
    return [
        axis for prefix, argument in zip(in_axes, args, strict=True) for axis in _prefix(prefix, argument, "in_axes")
    ]


def _prefix(axes: Axes, tree: Any, what: str) -> list[int | None]:
    """Return one axis for each leaf of the tree: an axis stands for all leaves of its part."""
    leaves, _ = trees.flatten(tree)
    if axes is None or (isinstance(axes, int | np.integer) and not isinstance(axes, bool)):
        return [None if axes is None else int(axes)] * len(leaves)
    trees.flatten(axes)
    children, parts = _children(axes), _children(tree)
    if children is None:
        raise SpecError(
            f"{what} has {axes!r}, which is no axis",
            place=tracing.user_place(),
            cure="Give an integer, None for what all examples share, or containers of those.",
        )
    if parts is None or children[0] != parts[0] or len(children[1]) != len(parts[1]):
        raise SpecError(
            f"{what}={axes!r} does not fit the structure that it is for",
            place=tracing.user_place(),
            because=(f"that is {type(tree).__name__} with {len(leaves)} leaves",),
            cure="Give an axis or None for all of it, or containers like it.",
        )
    return [axis for prefix, part in zip(children[1], parts[1], strict=True) for axis in _prefix(prefix, part, what)]


def _children(tree: Any) -> tuple[Any, list[Any]] | None:
    """Return the kind of a container with the names of its parts, and the parts; None for a leaf."""
    if tree is None or optree.tree_is_leaf(tree, namespace=trees.NAMESPACE):
        return None
    parts, metadata, _, _ = optree.tree_flatten_one_level(tree, namespace=trees.NAMESPACE)
    return (type(tree), metadata), list(parts)


def _label(path: Sequence[Any]) -> str:
    """Return what errors call a leaf of an argument."""
    is_named, first, *inner = path
    return "".join([str(first) if is_named else f"argument {first}", *(f"[{part!r}]" for part in inner)])


def _mapped(leaf: Any, axis: int | None, label: str) -> Mapped | None:
    """Return the array of a leaf; None for a static argument."""
    if not trees.is_array(leaf):
        if axis is not None:
            raise SpecError(
                f"vmap cannot map over {label}, {leaf!r}: it is a static {type(leaf).__name__}",
                place=tracing.user_place(),
                cure="Say None for it in in_axes, or pass an array.",
            )
        return None
    array = as_array(leaf)
    if axis is None:
        return Mapped(array, is_batched=False, label=label)
    rank = len(array.shape)
    if not -rank <= axis < rank:
        raise ShapeError(
            f"vmap is to map over axis {axis} of {label}, which is {array.type}",
            place=tracing.user_place(),
            cure="Say None in in_axes for an argument that all examples share.",
        )
    return Mapped(axis_first(array, axis), is_batched=True, label=label)


def _is_number(mapped: Mapped) -> bool:
    """Whether NumPy would pass a number to the function: an element of an array, or a number already."""
    return mapped.of_one.shape == () if mapped.is_batched else mapped.array.scalar


def _size_of(mapped: Sequence[Mapped]) -> Dim:
    """Return the size of all mapped axes. Raises ShapeError if they may differ, SpecError if there is none."""
    sizes = [(m.array.shape[0], f"{m.label} is {m.array.type}") for m in mapped if m.is_batched]
    if not sizes:
        raise SpecError(
            "vmap has no axis to map over: in_axes is None for every argument",
            place=tracing.user_place(),
            cure="Give at least one argument an axis.",
        )
    literal = next((s for s in sizes if not isinstance(s[0], Size)), sizes[0])
    for size, given in sizes:
        if not same(size, literal[0]):
            is_told = isinstance(size, int) and isinstance(literal[0], int)
            verdict = "differ" if is_told else "are not known to be equal"
            raise ShapeError(
                f"vmap maps over axes of sizes {literal[0]} and {size}, which {verdict}",
                place=tracing.user_place(),
                because=(f"mapped axis first, {literal[1]} and {given}",),
                cure="Say None in in_axes for an argument that all examples share.",
            )
    return literal[0]


def _placed(y: Array, is_batched: bool, axis: int | None, size: Dim) -> Array:
    """Return a result with its batch axis in the requested place."""
    if axis is None:
        if is_batched:
            raise ShapeError(
                f"out_axes is None for a result that differs between examples, {y.type}",
                place=tracing.user_place(),
                cure="Give the axis that the examples are stacked along.",
            )
        return y
    whole = y if is_batched else repeated(y, size)
    rank = len(whole.shape)
    if not -rank <= axis < rank:
        raise ShapeError(
            f"out_axes is {axis} for a result that has {rank} axes with the batch's", place=tracing.user_place()
        )
    return axis_back(whole, axis)

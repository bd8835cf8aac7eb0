"""Operators that read and write elements at places: slices, gathers, scatters, choices."""

import ast

from primsplit.audit.expressions.nodes import LARGEST, Builder, Node, helper, same_size
from primsplit.audit.trees import call, literal, tree
from primsplit.ir import Var


def slice_of(node: Node) -> ast.expr:
    """Return a part of an array: `a[:, 1:3]`."""
    starts, ends = node.integers("starts", 1), node.integers("ends", 2)
    axes, steps = node.integers("axes", 3), node.integers("steps", 4)
    count = next((len(v) for v in (starts, ends, axes, steps) if isinstance(v, list)), None)
    if axes is None and count is not None:
        axes = [*range(count)]
    places = _places(axes, node.rank()) if isinstance(axes, list) else None
    if places is None or count is None or (steps is not None and not isinstance(steps, list)):
        return call("_slice_along", *(literal(None) if a is None else a for a in node.arguments))
    assert isinstance(axes, list)
    slices = {
        axis: _slice(_item(starts, i), _item(ends, i), 1 if steps is None else steps[i])
        for i, axis in enumerate(places)
    }
    return _indexed(node.argument(0), slices)


def _places(axes: list[int], rank: int | None) -> list[int] | None:
    """Return the axes counted from one end; None where that takes a rank that is not known, or one is named twice."""
    if rank is not None:
        axes = [axis % rank for axis in axes]
    is_even = all(axis >= 0 for axis in axes) or all(axis < 0 for axis in axes)
    return axes if is_even and len({*axes}) == len(axes) else None


def _item(numbers: list[int] | ast.expr | None, i: int) -> int | ast.expr:
    assert numbers is not None
    return numbers[i] if isinstance(numbers, list) else tree("a[i]", a=numbers, i=literal(i))


def _slice(start: int | ast.expr, end: int | ast.expr, step: int) -> ast.expr:
    """Return `start:end:step`, without what is the default."""
    if isinstance(start, int) and (start == 0 if step > 0 else start >= LARGEST):
        start = -1 if step < 0 else 0
    is_first = isinstance(start, int) and start == (0 if step > 0 else -1)
    is_last = isinstance(end, int) and (end >= LARGEST if step > 0 else end <= -LARGEST)
    lower = None if is_first else _tree(start)
    upper = None if is_last else _tree(end)
    return ast.Slice(lower, upper, None if step == 1 else literal(step))


def _tree(value: int | ast.expr) -> ast.expr:
    return literal(value) if isinstance(value, int) else value


def _indexed(array: ast.expr, slices: dict[int, ast.expr]) -> ast.expr:
    """Return `array[...]` with these slices, by axes that all count from the front or all from the end."""
    if min(slices) >= 0:
        items = [slices.get(axis, ast.Slice()) for axis in range(max(slices) + 1)]
    else:
        items = [ast.Constant(...), *(slices.get(axis, ast.Slice()) for axis in range(min(slices), 0))]
    index = items[0] if len(items) == 1 else ast.Tuple(items, ast.Load())
    return ast.Subscript(array, index, ast.Load())


def gather(node: Node) -> ast.expr:
    """Return the parts of an array at places along an axis."""
    axis, place = node.axis(0), node.argument(1)
    numbers = node.constant(1)
    if axis < 0 and node.rank() is not None:
        axis += node.rank() or 0
    if numbers is not None and numbers.ndim == 0:
        return _indexed(node.argument(0), {axis: literal(int(numbers))})
    if axis == 0 and isinstance(node.op.inputs[1], Var):
        return tree("a[i]", a=node.argument(0), i=place)
    return call("np.take", node.argument(0), place, axis=literal(axis))


def gather_elements(node: Node) -> ast.expr:
    """Return for each place the element there along an axis."""
    axis = node.axis(0)
    of, at = node.shape(0), node.shape(1)
    if of is not None and at is not None and len(of) == len(at):
        axis %= max(len(of), 1)
        if all(same_size(a, b) or i == axis for i, (a, b) in enumerate(zip(of, at, strict=True))):
            return call("np.take_along_axis", node.argument(0), node.argument(1), axis=literal(axis))
    return call("_gather_elements", node.argument(0), node.argument(1), axis=literal(axis))


def compress(node: Node) -> ast.expr:
    """Return the parts of an array along an axis for which a condition holds."""
    axis = node.attribute("axis")
    named = {} if axis is None else {"axis": literal(axis)}
    return call("np.compress", node.argument(1), node.argument(0), **named)


BUILDERS: dict[str, Builder] = {
    "Slice": slice_of,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": helper("_gather_nd", batch_dims=0),
    "ScatterND": helper("_scatter_nd", reduction="none"),
    "ScatterElements": helper("_scatter_elements", axis=0, reduction="none"),
    "Scatter": helper("_scatter_elements", axis=0),
    "Compress": compress,
    "NonZero": lambda node: tree("np.stack(np.nonzero(np.atleast_1d(a)))", a=node.argument(0)),
}

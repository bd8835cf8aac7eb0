"""Create, read, edit and join sequences of elements that differ in shape, as many as only the run knows.

The elements are one row of numbers and one of shapes, so that every operation is the standard's slices, joins and
gathers, each of which has a derivative. If there is no such position, or shapes do not fit, the run fails, as
onnxruntime's own operators do.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.ir import Type, Value
from primsplit.onnx.sequences.forms import Entry, Listed, Ragged, Stacked
from primsplit.onnx.sequences.stacks import count_of, part_of, place_in, place_of_new, unless
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.tracing.array import Array
from primsplit.tracing.regions import Walk, element


class Form(NamedTuple):
    """The dtype of elements, their most axes, and whether some may have fewer."""

    dtype: np.dtype[Any]
    rank: int
    mixed: bool = False


def form_of_type(type: Type) -> Form | None:
    """Return the form of elements of a type; None if the rank is not known."""
    return None if type.rank is None else Form(type.dtype, type.rank)


def form_of(*entries: Entry) -> Form | None:
    """Return the form that holds for all elements of these sequences; None if there is none."""
    forms: set[Form | None] = set()
    for entry in entries:
        if isinstance(entry, Ragged):
            forms.add(Form(entry.elements.type.dtype, entry.rank, entry.mixed))
        elif isinstance(entry, Stacked):
            forms.add(form_of_type(element(entry.tensor.type, Walk())))
        elif isinstance(entry, Listed):
            forms.update(form_of_type(v.type) for v in entry.items)
        else:
            return None
    known = [form for form in forms if form is not None]
    if len(known) < max(len(forms), 1) or len({form.dtype for form in known}) > 1:
        return None
    rank = max(form.rank for form in known)
    return Form(known[0].dtype, rank, any(form.mixed or form.rank < rank for form in known))


def ragged(entry: Entry, form: Form) -> Ragged | None:
    """Return the sequence in this form; None if it does not hold for its elements."""
    if isinstance(entry, Listed) and not entry.items:
        none = tracing.constant(np.zeros((0, form.rank), np.int64))
        return Ragged(tracing.constant(np.zeros(0, form.dtype)), none, form.mixed)
    own = form_of(entry)
    if own is None or own.dtype != form.dtype or (not form.mixed and own != form) or own.rank > form.rank:
        return None
    if isinstance(entry, Listed):
        rows, shapes = zip(*((_row(v), _shape_row(v, form.rank)) for v in entry.items), strict=True)
        return _made(_joined(rows), _joined(shapes), form.mixed)
    if isinstance(entry, Stacked):
        tensor = Array(entry.tensor)
        sizes = op.Concat(op.Shape(tensor, start=0, end=1), np.array([own.rank]), axis=0)
        every = op.Expand(op.Shape(tensor, start=1), sizes)
        return _made(op.Reshape(tensor, [-1]), _filled(every, own.rank, form.rank), form.mixed)
    if not isinstance(entry, Ragged):
        return None
    return _made(Array(entry.elements), _filled(Array(entry.shapes), own.rank, form.rank), form.mixed)


def at(held: Ragged, position: Array) -> Value:
    """Return the element at a position, which may count from the end."""
    shape = op.Gather(Array(held.shapes), position, axis=0)
    starts = _starts(held)
    place = op.Where(op.Less(position, 0), op.Add(position, count_of(held.shapes)), position)
    part = part_of(held.elements, op.Gather(starts, place, axis=0), op.Gather(starts, op.Add(place, 1), axis=0))
    if held.mixed:
        own = op.Compress(shape, op.GreaterOrEqual(shape, 0), axis=0)
        return op.Reshape(part, own, allowzero=1, types=[Type(part.dtype, None)]).value
    return _reshaped(part, shape, held.rank).value


def inserted(held: Ragged, item: Value, position: Array | None) -> Ragged:
    """Return the sequence with one more element in front of a position, by default its length."""
    row, shape = _row(item), _shape_row(item, held.rank)
    if position is None:
        return _made(_joined([Array(held.elements), row]), _joined([Array(held.shapes), shape]), held.mixed)
    count = count_of(held.shapes)
    place = place_of_new(count, position)
    start, end = op.Gather(_starts(held), place, axis=0), op.Size(Array(held.elements))
    return _made(
        _joined([part_of(held.elements, 0, start), row, part_of(held.elements, start, end)]),
        _joined([part_of(held.shapes, 0, place), shape, part_of(held.shapes, place, count)]),
        held.mixed,
    )


def erased(held: Ragged, position: Array) -> Ragged:
    """Return the sequence without the element at a position, which may count from the end."""
    count, starts = count_of(held.shapes), _starts(held)
    place = place_in(count, position)
    after = op.Add(place, 1)
    start, end = (op.Gather(starts, p, axis=0) for p in (place, after))
    elements, shapes = held.elements, held.shapes
    return _made(
        _joined([part_of(elements, 0, start), part_of(elements, end, op.Size(Array(elements)))]),
        _joined([part_of(shapes, 0, place), part_of(shapes, after, count)]),
        held.mixed,
    )


def stacked(held: Ragged) -> Value:
    """Return the elements, which must all be of one shape, along a new first axis."""
    sizes = _common(held, besides=None)
    count = op.Unsqueeze(count_of(held.shapes), [0])
    return _reshaped(Array(held.elements), op.Concat(count, sizes, axis=0), held.rank + 1).value


def joined_along(held: Ragged, axis: int) -> Value:
    """Return the elements joined along one of their axes; they must agree in the others."""
    sizes = op.Gather(Array(held.shapes), axis, axis=1)
    common = _common(held, besides=axis)
    width = op.ReduceSum(sizes, [0], keepdims=1)
    before, behind = _cut(common, 0, axis), _cut(common, axis + 1, held.rank)
    shape = op.Concat(*before, width, *behind, axis=0)
    if axis == 0:
        return _reshaped(Array(held.elements), shape, held.rank).value
    order = _order(sizes, op.ReduceProd(before[0], [0], keepdims=0))
    rows = op.Reshape(Array(held.elements), op.Concat(op.Shape(order), _product(behind), axis=0), allowzero=1)
    return _reshaped(op.Gather(rows, order, axis=0), shape, held.rank).value


def split_along(tensor: Value, sizes: Array, axis: int) -> Ragged:
    """Return the parts of a tensor, of these sizes along an axis; they must cover it."""
    whole, rank = Array(tensor), tensor.type.rank or 0
    shape = op.Shape(whole)
    width = op.Gather(shape, axis, axis=0)
    fits = op.Equal(op.ReduceSum(sizes, [0], keepdims=0), width)
    sizes = op.Mul(sizes, unless(op.Not(fits), np.ones(1, np.int64)))
    count = op.Shape(sizes)
    before, behind = _cut(shape, 0, axis), _cut(shape, axis + 1, rank)
    beside = [[op.Expand(p, op.Concat(count, op.Shape(p), axis=0)) for p in parts] for parts in (before, behind)]
    shapes = op.Concat(*beside[0], op.Unsqueeze(sizes, [1]), *beside[1], axis=1)
    if axis:
        order = _order(sizes, op.ReduceProd(before[0], [0], keepdims=0))
        rows = op.Reshape(whole, op.Concat(op.Shape(order), _product(behind), axis=0), allowzero=1)
        numbers = op.Range(0, op.Size(order), 1)
        places = op.ScatterElements(numbers, order, numbers, axis=0)
        whole = op.Gather(rows, places, axis=0)
    return _made(op.Reshape(whole, [-1]), shapes)


def _order(sizes: Array, before: Array) -> Array:
    """Return the index of each row of the whole, which parts of these sizes along an axis form, when part follows part.

    A row holds the axes behind. With as many rows `before` the axis, row j of line p is in part i(j), of size d, which
    begins with row s of the line: s * before numbers come before the part, p * d of its own, and then j - s.
    """
    owner = np.repeat(op.Range(0, op.Size(sizes), 1), sizes)
    starts = op.Gather(op.CumSum(sizes, np.int64(0), exclusive=1), owner, axis=0)
    widths = op.Gather(sizes, owner, axis=0)
    lines = op.Unsqueeze(op.Range(0, before, 1), [1])
    within = op.Add(op.Mul(starts, op.Sub(before, 1)), op.Range(0, op.Size(owner), 1))
    return op.Reshape(op.Add(op.Mul(lines, widths), within), [-1])


def _common(held: Ragged, *, besides: int | None) -> Array:
    """Return the sizes that all elements share, but for one axis.

    The run fails if they differ, or there is no element.
    """
    shapes = Array(held.shapes)
    first = op.Gather(shapes, 0, axis=0)
    asked = np.array([axis != besides for axis in range(held.rank)], np.int64)
    apart = op.Mul(op.Cast(op.Not(op.Equal(shapes, first)), to=np.int64), asked)
    is_apart = op.Greater(op.ReduceSum(op.Reshape(apart, [-1]), [0], keepdims=0), 0)
    return unless(is_apart, op.Unsqueeze(first, [0]))


def _cut(vector: Array, start: int, end: int) -> list[Array]:
    """Return a part of a vector, if there is any."""
    return [op.Slice(vector, [start], [end], [0])] if start < end else []


def _product(parts: Sequence[Array]) -> Array:
    """Return the product of the sizes in at most one vector, in a vector of one."""
    return op.ReduceProd(parts[0], [0], keepdims=1) if parts else Array(tracing.constant(np.ones(1, np.int64)))


def _starts(held: Ragged) -> Array:
    """Return where each element begins, and where the last one ends."""
    shapes = op.Abs(Array(held.shapes)) if held.mixed else Array(held.shapes)
    sizes = op.ReduceProd(shapes, [1], keepdims=0)
    return op.Concat(np.zeros(1, np.int64), op.CumSum(sizes, np.int64(0)), axis=0)


def _row(item: Value) -> Array:
    return op.Reshape(Array(item), [-1])


def _shape_row(item: Value, rank: int) -> Array:
    own = item.type.rank or 0
    return _filled(op.Reshape(op.Shape(Array(item)), [1, own], allowzero=1), own, rank)


def _filled(shapes: Array, own: int, rank: int) -> Array:
    """Return shapes of `own` axes, with -1 for as many more as they lack."""
    return shapes if own == rank else op.Pad(shapes, [0, 0, 0, rank - own], np.int64(-1))


def _joined(parts: Sequence[Array]) -> Array:
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)


def _made(elements: Array, shapes: Array, mixed: bool = False) -> Ragged:
    return Ragged(elements.value, shapes.value, mixed)


def _reshaped(x: Array, shape: Array, rank: int) -> Array:
    """Reshape to a shape of the run's, with sizes of their own."""
    return op.Reshape(x, shape, allowzero=1, types=[Type(x.dtype, [fresh("element") for _ in range(rank)])])

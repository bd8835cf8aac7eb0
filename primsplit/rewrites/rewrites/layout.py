"""Simplify ops that move elements: transposes, reshapes, expansions, slices.

```
Transpose(Transpose(x, [1,0,2]), [0,2,1])   ->   Transpose(x, [1,2,0])
Reshape(Unsqueeze(x, 0), [6,4])             ->   x                      # of shape [6,4]
Add(x: [2,3], Expand(y, [2,3]))             ->   Add(x, y)
Exp(Expand(x, [2,3]))                       ->   Expand(Exp(x), [2,3])
```
"""

from collections.abc import Sequence

import numpy as np

from primsplit.ir import Const, Op, Type, Value, Var, same_types
from primsplit.ir.carriers import FLOAT8
from primsplit.ir.dims import Shape, broadcast_shapes, is_one, same_shape
from primsplit.ir.errors import ShapeError
from primsplit.ops.traits import kinds_where
from primsplit.rewrites.rewrites.table import Rewritten, Site, attribute, number, rewrite, scalar
from primsplit.rewrites.rewriting import integers

RESHAPES = tuple(sorted(kinds_where(lambda t: t.keeps == "order") - {"Identity"}))
CHAIN = 8
"""The most reshapes in a row that are followed."""
STEPS_UP = 64
"""The most ops between a Shape and the value whose sizes it reads instead."""


def _permutation(op: Op) -> list[int]:
    given = op.attributes.get("perm")
    return list(range(op.outputs[0].type.rank or 0))[::-1] if given is None else list(given)


@rewrite("Transpose")
def transpose(site: Site) -> Rewritten:
    """A transpose that moves nothing is dropped, or becomes an Identity of another type; two become one."""
    order = _permutation(site.op)
    if site.type.rank is None:
        return None
    if order == list(range(len(order))):
        source = site.input(0)
        is_same = source is not None and same_types(source.type, site.type)
        return source if is_same else site.becomes("Identity", site.op.inputs)
    inner = site.maker(site.input(0), "Transpose")
    if inner is None:
        return None
    before = _permutation(inner)
    return site.becomes("Transpose", inner.inputs, {"perm": [before[axis] for axis in order]})


@rewrite(*RESHAPES)
def reshape(site: Site) -> Rewritten:
    """Replace a chain of reshapes by an earlier value of the same shape.

    Or by the last one, if its shape is given in full.

    Reshapes keep the elements in their order, so equal shapes are equal values. A Reshape that some runs refuse stays.
    """
    if _may_fail(site, site.op):
        return None
    values: list[Value] = []
    value = site.input(0)
    while value is not None and len(values) < CHAIN:
        values.append(value)
        made = site.maker(value, *RESHAPES)
        value = None if made is None or _may_fail(site, made) else made.inputs[0]
    for earlier in reversed(values):
        if same_types(earlier.type, site.type):
            return earlier
    if len(values) > 1 and site.op.kind == "Reshape" and _is_full(site):
        return site.becomes("Reshape", [values[-1], site.input(1)], site.op.attributes)
    return None


def _may_fail(site: Site, reshape: Op) -> bool:
    """Whether a Reshape exists to fail in some runs (`broadcasting.reshaped_unless`)."""
    return reshape.kind == "Reshape" and _is_checked(site, reshape.inputs[1], 4)


def _is_checked(site: Site, sizes: Value | None, depth: int) -> bool:
    """Whether a 0 that some runs fail to gather is added to the sizes, also with the size of a batch before them."""
    made = site.maker(sizes, "Add", "Concat", "Gather", "Where") if depth else None
    if made is None:
        return False
    if made.kind == "Gather":
        return isinstance(made.inputs[0], Const) and made.inputs[0].type.shape == (1,)
    return any(_is_checked(site, value, depth - 1) for value in made.inputs)


def _is_full(site: Site) -> bool:
    """Whether the shape that a Reshape asks for does not refer to the sizes of its input."""
    wanted = integers(site.input(1))
    return bool(site.attribute("allowzero")) or (wanted is not None and 0 not in wanted)


@rewrite("Shape")
def shape_of_operand(site: Site) -> Rewritten:
    """Read sizes from the first value that has them, so that no value is computed for its shape alone."""
    asked = site.input(0)
    if asked is None or asked.type.shape is None:
        return None
    start, end, _ = slice(site.attribute("start"), site.attribute("end")).indices(len(asked.type.shape))
    wanted = asked.type.shape[start:end]
    if all(isinstance(size, int) for size in wanted):
        return None
    value = asked
    for _ in range(STEPS_UP):
        earlier = _operand_with_sizes(site, value, wanted)
        if earlier is None:
            break
        value, start = earlier
    return None if value is asked else site.becomes("Shape", [value], {"start": start, "end": start + len(wanted)})


def _operand_with_sizes(site: Site, value: Value, wanted: Shape) -> tuple[Value, int] | None:
    """Return an operand of the op that defines the value, and the first of its axes that have these sizes."""
    made = site.made_by.get(value) if isinstance(value, Var) else None
    if made is None or _may_fail(site, made):
        return None
    for operand in (v for v in made.inputs if v is not None):
        sizes = operand.type.shape or ()
        for start in range(len(sizes) - len(wanted) + 1):
            if same_shape(sizes[start : start + len(wanted)], wanted):
                return operand, start
    return None


@rewrite("Expand")
def expand(site: Site) -> Rewritten:
    """Drop an Expand that changes nothing; merge two if the outer one gives the shape; replace one to no elements."""
    x, shape = site.op.inputs
    literal = [d for d in site.type.shape or (1,) if isinstance(d, int)]
    if 0 in literal and len(literal) == site.type.rank:
        return Const(np.zeros(literal, site.type.dtype))
    if x is None or same_types(x.type, site.type):
        return x
    inner = site.maker(x, "Expand")
    sizes = None if shape is None else shape.sizes
    if inner is None or sizes is None or not same_shape(sizes, site.type.shape or ()):
        return None
    return site.becomes("Expand", [inner.inputs[0], shape])


@rewrite("Tile")
def tile(site: Site) -> Rewritten:
    """Drop a Tile with counts of 1."""
    counts = integers(site.input(1))
    return site.input(0) if counts is not None and set(counts) <= {1} else None


@rewrite("Pad")
def pad(site: Site) -> Rewritten:
    """Drop a Pad by nothing."""
    pads = integers(site.input(1))
    return site.input(0) if pads is not None and set(pads) <= {0} else None


@rewrite("Slice")
def slice_of_all(site: Site) -> Rewritten:
    """Drop a Slice with steps of 1 and the size of its input: it is all of it."""
    steps = (1,) if site.input(4) is None else integers(site.input(4))
    x = site.input(0)
    same = x is not None and x.type.shape is not None and same_types(x.type, site.type)
    return x if same and steps is not None and set(steps) <= {1} else None


@rewrite("Split")
def split_in_one(site: Site) -> Rewritten:
    """Drop a Split into one part."""
    return site.input(0) if len(site.op.outputs) == 1 else None


REDUCTIONS = kinds_where(lambda t: t.reduces)


@rewrite(*kinds_where(lambda t: t.reduces and t.same_of_one))
def reduce_nothing(site: Site) -> Rewritten:
    """Drop a reduction of no axes, or of axes of size 1.

    The sum of a single -0.0 is 0.0 in some kernels, so sums of floats stay.
    """
    x, told = site.input(0), site.input(1)
    if x is None or x.type.shape is None:
        return None
    axes = () if told is None else integers(told)
    if axes is None:
        return None
    if not axes and site.attribute("noop_with_empty_axes"):
        return x
    if x.type.is_float and site.op.kind in {"ReduceSum", "ReduceMean"}:
        return None
    every = axes or tuple(range(len(x.type.shape)))
    if not all(is_one(x.type.shape[axis]) for axis in every):
        return None
    if site.attribute("keepdims") or not every:
        return x
    return site.becomes("Squeeze", [x, told if axes else Const(np.array(every))])


@rewrite("Squeeze")
def squeeze_of_reduction(site: Site) -> Rewritten:
    """Let a reduction drop its axes itself."""
    made = site.maker(site.input(0), *REDUCTIONS)
    if made is None or len(made.inputs) < 2 or not attribute(made, "keepdims"):
        return None
    rank = made.outputs[0].type.rank or 0
    dropped, reduced = integers(site.input(1)), integers(made.inputs[1])
    if not dropped or not reduced or {a % rank for a in dropped} != {a % rank for a in reduced}:
        return None
    return site.becomes(made.kind, made.inputs, {**made.attributes, "keepdims": 0})


@rewrite(*kinds_where(lambda t: t.broadcasts == "all"))
def broadcast_operand(site: Site) -> Rewritten:
    """Let an operator broadcast an operand that was expanded, or reshaped to have leading axes of size 1."""
    if site.type.shape is None or any(v is None or v.type.shape is None for v in site.op.inputs):
        return None
    inputs = [v for v in site.op.inputs if v is not None]
    for position, value in enumerate(inputs):
        narrow = _narrow(site, value)
        if narrow is None:
            continue
        shapes = [(narrow if i == position else v).type.shape or () for i, v in enumerate(inputs)]
        if _broadcasts_to(shapes, site.type):
            return site.becomes(
                site.op.kind, [narrow if i == position else v for i, v in enumerate(inputs)], site.op.attributes
            )
    return None


def _narrow(site: Site, value: Value) -> Value | None:
    """Return the value that was expanded to this one."""
    if isinstance(value, Const):
        found = number(value) if value.type.rank else None
        return None if found is None else scalar(found, value.type.dtype)
    made = site.maker(value, "Expand", "ConstantOfShape", *RESHAPES)
    if made is None:
        return None
    source = made.inputs[0]
    if made.kind == "Expand":
        return source if source is not None and source.type.shape is not None else None
    if made.kind == "ConstantOfShape":
        given = made.attributes.get("value")
        return scalar(np.float32(0) if given is None else given.reshape(-1)[0], value.type.dtype)
    narrow = None if source is None else _narrow(site, source)
    return narrow if narrow is not None and narrow.type.rank == 0 else _without_leading_ones(made)


def _without_leading_ones(made: Op) -> Value | None:
    """Return the input of a reshape that only adds leading axes of size 1."""
    source, shape = made.inputs[0], made.outputs[0].type.shape
    if source is None or source.type.shape is None or shape is None:
        return None
    lead = len(shape) - len(source.type.shape)
    same = lead > 0 and all(is_one(d) for d in shape[:lead]) and same_shape(shape[lead:], source.type.shape)
    return source if same else None


def _broadcasts_to(shapes: Sequence[Shape], type: Type) -> bool:
    try:
        return same_shape(broadcast_shapes(*shapes), type.shape or ())
    except ShapeError:
        return False


@rewrite(*kinds_where(lambda t: t.elementwise))
def before_expanding(site: Site) -> Rewritten:
    """f(Expand(x)) = Expand(f(x)), also with another scalar operand: compute on fewer elements.

    So for a reshaped Expand of a single element. The standard expands no floats of eight bits.
    """
    place, spread = next(((i, s) for i, v in enumerate(site.op.inputs) if (s := _spread(site, v))), (0, []))
    if not spread or site.type.dtype.name in FLOAT8:
        return None
    source = spread[0].inputs[0]
    others = [None if v is None else _as_scalar(v) for i, v in enumerate(site.op.inputs) if i != place]
    if source is None or source.type.shape is None or any(v is None for v in others):
        return None
    if site.type.shape is None or not same_shape(spread[-1].outputs[0].type.shape or (), site.type.shape):
        return None
    found = site.make(Type(site.type.dtype, source.type.shape), [*others[:place], source, *others[place:]])
    for op in spread[:-1]:
        wide = Var(Type(site.type.dtype, op.outputs[0].type.shape))
        site.add(op.beside(op.kind, (found, *op.inputs[1:]), (wide,), op.attributes))
        found = wide
    return site.becomes(spread[-1].kind, [found, *spread[-1].inputs[1:]], spread[-1].attributes)


def _spread(site: Site, value: Value | None) -> list[Op]:
    """Return the Expand that made a value; for an Expand of a single element, also the Reshape of it that did."""
    made = site.maker(value, "Expand", *RESHAPES)
    if made is None or made.kind == "Expand":
        return [] if made is None else [made]
    inner = site.maker(made.inputs[0], "Expand")
    source = None if inner is None else inner.inputs[0]
    return [] if inner is None or source is None or source.type.rank != 0 else [inner, made]


def _as_scalar(value: Value) -> Value | None:
    """Return the value if it is a scalar, or the number that a constant is filled with; None for others."""
    found = number(value)
    if found is None:
        return value if value.type.rank == 0 else None
    return scalar(found, value.type.dtype)

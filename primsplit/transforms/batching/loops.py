"""Batch loops: the loop runs until the last example is done, and examples that are done keep their values.

```
while x > 1: x = x / 2        ->   while any(x > 1): x = where(x > 1, x / 2, x)
```
"""

from collections.abc import Sequence

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Type, Value
from primsplit.ir.dims import same_shape
from primsplit.ir.errors import ShapeError
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import axis_first, reshape_to
from primsplit.transforms.batching.table import Outputs, Shared, Site, any_of, batched_type, batching, of_takers, spread


def _emit(site: Site, inputs: Sequence[Value | None], changed: dict[str, object], types: Sequence[Type]) -> list[Array]:
    attributes = {**site.op.attributes, **changed}
    return [Array(v) for v in tracing.emit(site.kind, inputs, attributes, outputs=len(types), types=types)]


def _settle(site: Site, body: Block, carried: list[bool], *, lead: int = 0, rest: Sequence[bool] = ()) -> list[bool]:
    """Return which of the values that a loop carries are batched after any number of steps.

    The body takes `lead` shared parameters before the carries, and `rest` after them; before the carries it returns a
    Loop's condition, if there is one.
    """
    skipped = 1 if lead else 0
    while True:
        flags = site.batch(body, [*[False] * lead, *carried, *rest])[1]
        grown = [a or b for a, b in zip(carried, flags[skipped:], strict=False)]
        if grown == carried:
            return carried
        carried = grown


def collects_steps_of_each(site: Site) -> bool:
    """Whether a Loop stacks a value of each step, and its number of steps differs between examples."""
    body: Block = site.op.attributes["body"]
    return len(body.results) >= len(body.params) and _steps_differ(site, body, _carries(site, body))


def _carries(site: Site, body: Block) -> list[bool]:
    """Return which of a Loop's carries are batched."""
    return _settle(site, body, [site.is_batched(2 + i) for i in range(len(body.params) - 2)], lead=2)


def _steps_differ(site: Site, body: Block, carried: Sequence[bool]) -> bool:
    return site.is_batched(0) or site.is_batched(1) or site.batch(body, [False, False, *carried])[1][0]


@batching("Loop")
def loop(site: Site) -> Outputs:
    """A carry is batched if a step makes it so.

    A number of steps, or a condition, that differs between examples becomes a mask: the loop runs until all examples
    are done, and those that are done keep their values.
    """
    body: Block = site.op.attributes["body"]
    carried = _carries(site, body)
    if _steps_differ(site, body, carried):
        return _masked(site, body)
    made, flags = site.batch(body, [False, False, *carried], [False, *carried])
    count = len(carried)
    given = [site.whole(2 + i) if c else site.input(2 + i) for i, c in enumerate(carried)]
    inputs = [None if x is None else x.value for x in (*site.inputs[:2], *given)]
    types = [_carried(v.type, site, c) for v, c in zip(site.op.outputs, carried, strict=False)]
    types += [_stacked(v.type, site, f) for v, f in zip(site.op.outputs[count:], flags[1 + count :], strict=True)]
    results = _emit(site, inputs, {"body": made}, types)
    results[count:] = [axis_first(y, 1) if f else y for y, f in zip(results[count:], flags[1 + count :], strict=True)]
    return [y if f else Shared(y) for y, f in zip(results, [*carried, *flags[1 + count :]], strict=True)]


def _carried(type: Type, site: Site, is_batched: bool) -> Type:
    return batched_type(type, site.size) if is_batched else type


def _stacked(type: Type, site: Site, is_batched: bool) -> Type:
    """Return the type of what the steps collect: the steps, then the batch."""
    if not is_batched:
        return type
    steps, *rest = type.shape or ()
    return Type(type.dtype, (steps, site.size, *rest))


def _masked(site: Site, body: Block) -> list[Array]:
    """Record a loop whose first carry is the mask of the examples that still run.

    Examples that are done take further steps with the values of one that runs, so that nothing spoils their gradient.
    """
    count = len(body.params) - 2
    if len(body.results) > 1 + count:
        raise ShapeError(
            "vmap: how many steps this loop takes differs between examples, and it collects a value at each step",
            place=site.op.place,
            cure="Take a number of steps that all examples share, and choose the values with np.where.",
        )
    captured = site.captured(body)
    own = Block(body.name, (*body.params, *(v for v, _ in captured)), body.ops, body.results)
    step, _ = site.batch(own, [False, False, *[True] * (count + len(captured))], [True] * (1 + count))
    limit = site.input(0) if site.has(0) else None
    limit = limit if limit is None or not site.is_batched(0) else reshape_to(limit, [site.size])
    active = _beginning(site, limit)
    given = [site.whole(2 + i) for i in range(count)]
    with tracing.recording(place=site.op.place, remark=site.op.remark) as inner:
        iteration, condition = inner.param(Type(np.int64, ())), inner.param(Type(np.bool_, ()))
        before = [inner.param(x.type) for x in (active, *given)]
        running, *olds = map(Array, before)
        yes = tracing.constant(np.True_)
        met = [of_takers(x, running).value for x in (*olds, *(x for _, x in captured))]
        goes_on, *news = map(Array, tracing.inline(step, [iteration, yes, *met]))
        after = [_kept(running, new, old) for new, old in zip(news, olds, strict=True)]
        running = op.And(running, reshape_to(goes_on, [site.size]))
        if limit is not None and site.is_batched(0):
            running = op.And(running, op.Less(op.Add(Array(iteration), 1), limit))
        results = [any_of(running).value, running.value, *(x.value for x in after)]
    masked_body = tracing.close(body.name, [iteration, condition, *before], inner, results)
    trips = None if limit is None or site.is_batched(0) else limit.value
    inputs = [trips, any_of(active).value, active.value, *(x.value for x in given)]
    return _emit(site, inputs, {"body": masked_body}, [active.type, *site.results()])[1:]


def _beginning(site: Site, limit: Array | None) -> Array:
    """Return which examples take a first step."""
    if site.has(1):
        active = reshape_to(site.whole(1), [site.size])
    else:
        sizes = Array(tracing.size_vector([site.size]))
        active = op.ConstantOfShape(sizes, value=np.ones(1, np.bool_), types=[Type(np.bool_, (site.size,))])
    if limit is None or not site.is_batched(0):
        return active
    return op.And(active, op.Less(0, limit))


def _kept(running: Array, new: Array, old: Array) -> Array:
    """Return the new value of examples that still run. Raises ShapeError if a step may change the shape."""
    if not same_shape(new.shape, old.shape):
        raise ShapeError(
            f"vmap: a step may make {new.type} of {old.type}, and how many steps are taken differs between examples",
            cure="Keep the shapes of what is carried, or loop over the examples outside of the program.",
        )
    return op.Where(spread(running, len(new.shape)), new, old)


@batching("Scan")
def scan(site: Site) -> Outputs:
    """The scanned axes follow the batch axis; each step sees the batch axis in front."""
    given = site.attributes
    body: Block = given["body"]
    scanned = int(given["num_scan_inputs"])
    states = len(body.params) - scanned
    sequences = [site.is_batched(states + i) for i in range(scanned)]
    carried = [site.is_batched(i) for i in range(states)]
    carried = _settle(site, body, carried, rest=sequences)
    made, flags = site.batch(body, [*carried, *sequences], carried)
    inputs = [site.whole(i) if c else site.input(i) for i, c in enumerate(carried)]
    inputs += [site.input(states + i) for i in range(scanned)]
    reads, writes = (list(given.get(f"scan_{name}put_axes") or []) for name in ("in", "out"))
    reads = reads or [0] * scanned
    writes = writes or [0] * (len(body.results) - states)
    changed = {
        "body": made,
        "scan_input_axes": [
            a % site.rank(states + i) + b for i, (a, b) in enumerate(zip(reads, sequences, strict=True))
        ],
        "scan_output_axes": [0 if b else a for a, b in zip(writes, flags[states:], strict=True)],
    }
    types = [_carried(v.type, site, c) for v, c in zip(site.op.outputs, carried, strict=False)]
    rows = zip(site.op.outputs[states:], writes, flags[states:], strict=True)
    types += [_stacked(_with_first(v.type, a), site, b) if b else v.type for v, a, b in rows]
    results = _emit(site, [x.value for x in inputs], changed, types)
    results[states:] = [
        _brought_back(y, a) if b else y for y, a, b in zip(results[states:], writes, flags[states:], strict=True)
    ]
    return [y if f else Shared(y) for y, f in zip(results, flags, strict=True)]


def _with_first(type: Type, axis: int) -> Type:
    """Return the type with this axis in front."""
    shape = list(type.shape or ())
    return Type(type.dtype, [shape.pop(axis), *shape])


def _brought_back(y: Array, axis: int) -> Array:
    """Move the batch to the front, and the steps to an example's axis, of what a Scan stacked: [steps, batch, ...].

    onnxruntime divides by zero when it stacks empty values along another axis than the first.
    """
    axis %= len(y.shape) - 1
    rest = list(range(2, len(y.shape)))
    return op.Transpose(y, perm=[1, *rest[:axis], 0, *rest[axis:]])

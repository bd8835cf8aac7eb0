"""`scan` and `mapped`: a body that runs for each element of its sequences.

```
ps.scan(lambda t, x: (t + x, t + x), 0.0, xs)   ->   last, sums = Scan(0.0, xs): c = Add(a, b); return c, c
```
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Type, Value, dims
from primsplit.ir.errors import PrimsplitError, ShapeError, TraceError
from primsplit.ops import op
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.broadcasting import count_up, reshape_strictly
from primsplit.tracing.calls.recorded import StandIn, merged
from primsplit.tracing.control.bodies import Body, as_loop, record_body
from primsplit.tracing.control.checkpointing import Schedule, checkpointed
from primsplit.tracing.control.states import Carried, with_states
from primsplit.tracing.control.structure import Function, arrays_of, plain_integer, traced_integer
from primsplit.tracing.frames import explored_keeping
from primsplit.tracing.functionlike import name_of
from primsplit.tracing.hooks import HOOKS
from primsplit.tracing.regions import ScanForm, Walk, element, emit_loop, emit_scan, record
from primsplit.tracing.undo_log import undo_log

LENGTH = "the length of a scan"


def scan(
    body: Function,
    init: Any,
    xs: Any = None,
    length: Any = None,
    *,
    reverse: bool = False,
    checkpoint: Schedule | None = None,
    parallel: bool | float = False,
) -> tuple[Any, Any]:
    """Run `carry, y = body(carry, x)` for each element x of `xs` along its first axis; return (last carry, ys stacked).

    `xs` may be nested arrays of one length, or None with `length`. The carry keeps its structure, dtypes and numbers of
    axes. With `reverse` the last element comes first; `ys` stay in the order of `xs`. In the file it is a Scan whose
    body is recorded once, for every length, zero included; a Loop if a step changes a size of the carry, which the
    standard forbids in a Scan: such a size is known only at run time. With `checkpoint="sqrt"`, or a number of
    snapshots for a length known when it is traced, the gradient keeps few carries and runs the steps between them
    again. With `parallel=True`, for a carry of up to 8 floats, all steps are computed at once by Newton's method, in 5
    to 10 iterations if the body is smooth; a run in which they do not settle goes step by step. A number is the largest
    error of a step, relative to its carry; True is that of rounding. Raises ShapeError, DtypeError or TraceError if a
    step returns another carry, or lengths differ, and DtypeError for a length that is no integer.

    >>> total, sums = ps.scan(lambda total, x: (total + x, total + x), 0.0, np.array([1.0, 2.0, 3.0]))
    >>> float(total), sums.tolist()
    (6.0, [1.0, 3.0, 6.0])
    """
    length = _length(length)
    if checkpoint is not None and parallel is not False:
        raise ShapeError(
            "a parallel scan has no checkpoints", place=tracing.user_place(), cure="Leave one of them out."
        )
    if not tracing.is_recording():
        return _plain(body, init, xs, length, reverse=reverse)

    def recorded(carried: Carried) -> tuple[Any, Any]:
        @functools.wraps(body)
        def step(carry: Any, x: Any) -> tuple[Any, Any]:
            return carried.step(carry, lambda own: _pair(body(own, x)))

        if parallel is not False:
            return _together(step, carried.start(init), xs, length, parallel, reverse=reverse)
        return _recorded(step, carried.start(init), xs, length, reverse=reverse, checkpoint=checkpoint)

    return with_states(recorded)


def _together(body: Function, init: Any, xs: Any, length: Any, parallel: float, *, reverse: bool) -> tuple[Any, Any]:
    """Record the scan whose steps are all computed at once; one from the end is reversed before and after."""
    starts, spec = arrays_of(init)
    sequences, xs_spec = arrays_of(xs)
    _check_lengths([a.shape for a in sequences], xs_spec, length)
    if not sequences:
        return _together(lambda carry, _: body(carry, xs), init, _numbers(length), None, parallel, reverse=reverse)
    if reverse:
        carry, ys = _together(body, init, _turned(xs), length, parallel, reverse=False)
        return carry, _turned(ys)
    sequences = _of_one_length(sequences, length)

    def step(carry: Any, extras: list[Array]) -> tuple[Any, Any]:
        return _pair(body(carry, trees.unflatten(xs_spec, extras)))

    made, block = record_body(name_of(body), starts, spec, [element(a.type, Walk()) for a in sequences], step)
    tolerance = 0.0 if parallel is True else float(parallel)
    return made.unflatten(HOOKS.parallel_scan(block, made.starts, sequences, tolerance))


def _length(given: Any) -> int | dims.Size | Array | None:
    """Return the requested number of steps. Raises DtypeError for what is no integer."""
    if given is None or isinstance(given, dims.Size):
        return given
    known = given.known() if isinstance(given, Array) else given
    return traced_integer(given, LENGTH) if known is None else plain_integer(known, LENGTH)


def _recorded(
    body: Function, init: Any, xs: Any, length: Any, *, reverse: bool, checkpoint: Schedule | None
) -> tuple[Any, Any]:
    """Record the scan of a body that writes to no states but those in its carry."""
    starts, spec = arrays_of(init)
    sequences, xs_spec = arrays_of(xs)
    _check_lengths([a.shape for a in sequences], xs_spec, length)
    sequences = _of_one_length(sequences, length)
    if checkpoint is not None and sequences:
        return _checkpointed(body, init, trees.unflatten(xs_spec, sequences), checkpoint, reverse=reverse)
    if checkpoint is not None:
        return _checkpointed(lambda carry, _: body(carry, xs), init, _numbers(length), checkpoint, reverse=reverse)
    walk = Walk(0, reverse)

    def step(carry: Any, extras: list[Array]) -> tuple[Any, Any]:
        return _pair(body(carry, trees.unflatten(xs_spec, extras)))

    types = [element(a.type, walk) for a in sequences]
    recorded_body, block = record_body(name_of(body), starts, spec, types, step)
    if not sequences:
        return recorded_body.unflatten(_counted(recorded_body, block, as_array(length, np.int64), reverse=reverse))
    if recorded_body.is_changing:
        steps = op.Squeeze(Array(tracing.size_vector(sequences[0].shape[:1])), [0])
        walked = _walking(recorded_body, block, sequences, steps, reverse=reverse)
        return recorded_body.unflatten(_counted(recorded_body, walked, steps, reverse=reverse))
    form = ScanForm(block, len(recorded_body.starts), (walk,) * len(sequences), (walk,) * len(recorded_body.stacked))
    outputs = emit_scan(form, [a.value for a in recorded_body.starts], [a.value for a in sequences])
    return recorded_body.unflatten(outputs)


def mapped(function: Function, xs: Any) -> Any:
    """`function` of each element of `xs` along its first axis, stacked; `ps.map`.

    `xs` are nested arrays of shape [N, ...], and N may be a symbol or 0; what `function` returns, nested arrays too,
    has an axis of N in front. Raises ShapeError for arrays of different N, and if there is none.

    >>> ps.map(lambda row: row @ row, np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [5.0, 25.0]
    """

    def body(carry: tuple[()], x: Any) -> tuple[tuple[()], Any]:
        return carry, function(x)

    return scan(body, (), xs)[1]


def _checkpointed(body: Function, init: Any, xs: Any, checkpoint: Schedule, *, reverse: bool) -> tuple[Any, Any]:
    """Record the scan in parts; one from the end is reversed before and after."""
    if not reverse:
        return checkpointed(scan, body, init, xs, checkpoint)
    carry, ys = checkpointed(scan, body, init, _turned(xs), checkpoint)
    return carry, _turned(ys)


def _numbers(length: Any) -> Any:
    """Return 0, 1, ... up to the length: the sequence of a scan without sequences."""
    if isinstance(length, int | dims.Size):
        return count_up(length)
    return op.Range(np.int64(0), as_array(length, np.int64), np.int64(1))


def _turned(tree: Any) -> Any:
    leaves, spec = arrays_of(tree)
    return trees.unflatten(spec, [op.Slice(a, [-1], [np.iinfo(np.int64).min], [0], [-1]) for a in leaves])


def _check_lengths(shapes: Sequence[tuple[dims.Dim, ...]], spec: trees.TreeSpec, length: Any) -> None:
    """Raise ShapeError if two sequences cannot have the same length; the run checks what only it knows."""
    if not shapes and length is None:
        raise ShapeError(
            "scan needs a length where it has no sequences", place=tracing.user_place(), cure="Pass length=n."
        )
    if shapes and isinstance(length, Array):
        raise ShapeError(
            "scan takes as many steps as its sequences are long",
            place=tracing.user_place(),
            cure="Leave length out; walk along fewer elements with xs[:n].",
        )
    for name, shape in zip(trees.labels(spec), shapes, strict=True):
        if not shape:
            raise ShapeError(
                f"scan takes arrays with an axis to walk along; {name} of xs has none", place=tracing.user_place()
            )
        first = _first_length(shapes[0], length)
        if not dims.could_be(shape[0], first):
            raise ShapeError(
                f"scan takes sequences of one length; {name} of xs has {shape[0]}, not {first}",
                place=tracing.user_place(),
            )


def _first_length(shape: dims.Shape, length: Any) -> dims.Dim:
    """Return the length that all sequences must have: the requested one, or that of the first."""
    return shape[0] if length is None else length


def _of_one_length(sequences: Sequence[Array], length: Any) -> list[Array]:
    """Return the sequences, all of one length.

    A run in which they are not fails, also where no Scan is left to check.
    """
    if not sequences:
        return []
    first = _first_length(sequences[0].shape, length)
    return [x if dims.same(x.shape[0], first) else reshape_strictly(x, (first, *x.shape[1:])) for x in sequences]


def _pair(result: Any) -> tuple[Any, Any]:
    if not (isinstance(result, tuple) and len(result) == 2):
        raise TraceError(
            "the body of a scan returns a pair: the new carry, and what is stacked",
            place=tracing.user_place(),
            cure="Return (carry, None) where nothing is stacked.",
        )
    return result


def _walking(made: Body, block: Block, sequences: Sequence[Array], steps: Array, *, reverse: bool) -> Block:
    """Return a body that takes the number of a step instead of the elements of that step."""

    def body(*params: Array) -> list[Value]:
        *carries, step = params
        place = op.Sub(op.Sub(steps, 1), step) if reverse else step
        elements = [op.Gather(x, place, axis=0).value for x in sequences]
        return tracing.inline(block, [*(c.value for c in carries), *elements])

    return record(block.name, [*made.types, Type(np.int64, ())], body)


def _counted(made: Body, block: Block, trips: Array, *, reverse: bool) -> list[Value]:
    """Record a Loop of so many steps; what it stacks is reversed for `reverse`."""
    count = len(made.starts)
    loop = as_loop(block, count, None)
    outputs = emit_loop(trips.value, None, loop, [a.value for a in made.starts], made.last_types())
    if not reverse:
        return outputs
    last = np.iinfo(np.int64)
    return [*outputs[:count], *(op.Slice(Array(v), [-1], [last.min], [0], [-1]).value for v in outputs[count:])]


def _plain(body: Function, init: Any, xs: Any, length: Any, *, reverse: bool) -> tuple[Any, Any]:
    """Run the Python loop that a scan stands for."""
    leaves, spec = trees.flatten(xs)
    _check_lengths([np.shape(x) for x in leaves], spec, length)
    count = len(leaves[0]) if leaves else length
    carry, collected = init, []
    for i in reversed(range(count)) if reverse else range(count):
        carry, y = _pair(body(trees.owned(carry), trees.owned(trees.unflatten(spec, [x[i] for x in leaves]))))
        collected.append(y)
    carry = trees.owned(carry)
    if not collected:
        return carry, _no_outputs(body, init, leaves, spec)
    rows = [trees.flatten(y) for y in (reversed(collected) if reverse else collected)]
    return carry, trees.unflatten(rows[0][1], [np.stack(parts) for parts in zip(*(r[0] for r in rows), strict=True)])


def _no_outputs(body: Function, init: Any, leaves: Sequence[Any], spec: trees.TreeSpec) -> Any:
    """Return what a scan over nothing stacks: arrays of the shapes of one step, without a first element.

    The step is recorded rather than run, which might fail, or write to a state. What it changes is undone, as a scan
    over nothing runs no step. What no recording can hold is run.
    """
    x = trees.unflatten(spec, [np.zeros(np.shape(v)[1:], np.asarray(v).dtype)[()] for v in leaves])
    try:
        types, found_spec = _types_of_step(body, init, x)
    except PrimsplitError:
        found, found_spec = trees.flatten(_pair(body(init, x))[1])
        types = [Type(np.asarray(y).dtype, np.shape(y)) for y in found]
    sizes = [[d if isinstance(d, int) else 0 for d in t.shape or ()] for t in types]
    return trees.unflatten(found_spec, [np.zeros((0, *own), t.dtype) for own, t in zip(sizes, types, strict=True)])


def _types_of_step(body: Function, init: Any, x: Any) -> tuple[list[Type], trees.TreeSpec]:
    """Return the types of what one step stacks, and its structure."""
    given, spec = trees.flatten((init, x))
    with tracing.recording() as inner:
        arrays = [as_array(v) if trees.is_array(v) else None for v in given]

        def step(handles: list[Array]) -> Any:
            return _pair(body(*trees.unflatten(spec, merged(given, arrays, handles))))[1]

        stand_ins = [StandIn(a.type, weak=a.weak, scalar=a.type.rank == 0) for a in arrays if a is not None]
        params = [(inner.param(s.type), s) for s in stand_ins]
        with undo_log() as log:
            try:
                found = explored_keeping(name_of(body), params, step, {})
            finally:
                log.undo()
    return [a.type for a in found.results], found.result

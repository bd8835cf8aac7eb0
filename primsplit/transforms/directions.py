"""Record Jacobians, Hessians and Laplacians: run the linear list of a function along all directions of a basis.

A linear list, tangent or pullback, is recorded once and then run for a whole basis, or for `chunk` directions of it at
a time.

```
jacobian of f: R^2 -> R^3, forward   ->   the tangent list of f batched over the two rows of the identity matrix
```
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, BodyRole, Type, Value
from primsplit.ir.dims import Dim, at_least, product
from primsplit.ir.errors import DtypeError, SpecError
from primsplit.ops import op
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, transpose, zeros, zeros_like
from primsplit.tracing.frames import store
from primsplit.tracing.regions import ScanForm, Walk, emit_scan, record
from primsplit.transforms.batching.transform import batch_block
from primsplit.transforms.cut import report_cut
from primsplit.transforms.failing import failing_alike
from primsplit.transforms.gradient import (
    Function,
    TracedCall,
    Wrt,
    check_differentiable,
    in_structure,
    record_primal,
    select_arguments,
    trace_call,
    value_and_gradient,
)
from primsplit.transforms.linear import Mode, linear_lists

MODES = get_args(Mode)


def jacobian_of(
    function: Function, args: Sequence[Any], named: Mapping[str, Any], wrt: Wrt, *, mode: Mode | None, chunk: int | None
) -> tuple[Any, Any]:
    """Record `function` and its Jacobian; return (value, Jacobian).

    The Jacobian has the structure of the result, in it that of the arguments in `wrt`, and in it arrays of shape
    (*result, *argument); None for a result that is not floating point. Forward mode computes its columns, reverse mode
    its rows: by default whichever are fewer. Raises DtypeError if no result is floating point, and if a result and an
    argument are complex.
    """
    traced = trace_call(function, args, named, wrt)
    check_differentiable([r.type for r in traced.results], "jacobian")
    places, outer = trees.wholes(traced.result, range(len(traced.results)))
    if any(isinstance(place, trees.Parts) for place in places) and holds_complex(traced.wrt):
        raise _no_complex_matrix("a Jacobian of a complex result with respect to a complex argument")
    report_cut(traced.block, range(len(traced.inputs)), traced.floats, traced.inputs)
    results, found = jacobian_blocks(traced.block, traced.inputs, traced.floats, mode=mode, chunk=chunk)
    values = [Array(v) for v in results[: len(traced.results)]]
    store(traced.states, [Array(v) for v in results[len(values) :]])
    alike = {i: failing_alike(made, [None] * len(made), (), traced.block, results) for i, made in found.items()}
    rows = [_row(traced, place, alike, wrt) for place in places]
    return trees.unflatten(traced.result, values), trees.unflatten(outer, rows)


def _row(traced: TracedCall, place: Any, rows: Mapping[int, Sequence[Array]], wrt: Wrt) -> Any:
    """Return the derivatives of one result, in the structure of the arguments; None if it is not floating point."""
    if isinstance(place, trees.Parts):
        both = zip(rows[place.real], rows[place.imag], strict=True)
        return in_structure(traced.wrt, [trees.whole(a, b) for a, b in both], wrt)
    return in_structure(traced.wrt, rows[place], wrt) if place in rows else None


def _no_complex_matrix(what: str) -> DtypeError:
    return DtypeError(
        f"{what} has four real parts, and is no complex array",
        place=tracing.user_place(),
        cure="Take it of real arrays: of lambda x, y: f(x + 1j * y), with wrt=(0, 1), and of .real and .imag.",
    )


def holds_complex(spec: trees.TreeSpec) -> bool:
    """Whether a structure has a complex leaf."""
    return any(isinstance(x, trees.Parts) for x in trees.whole_leaves(spec, range(spec.num_leaves)))


def hessian_of(
    function: Function, args: Sequence[Any], named: Mapping[str, Any], wrt: Wrt, *, chunk: int | None
) -> tuple[Any, Any, Any]:
    """Record a scalar function, its gradient and its Hessian, forward over reverse.

    The Hessian has the structure of the arguments in `wrt` twice: the block of a pair (a, b) is (*a, *b).
    """
    if any(map(trees.is_complex, trees.flatten(select_arguments(function, args, named, wrt))[0])):
        raise _no_complex_matrix("a Hessian with respect to a complex argument")

    @functools.wraps(function)
    def gradients(*positional: Any, **keywords: Any) -> Any:
        value, gradient = value_and_gradient(function, positional, keywords, wrt)
        return gradient, value

    (gradient, value), (hessian, _) = jacobian_of(gradients, args, named, wrt, mode="forward", chunk=chunk)
    return value, gradient, hessian


def laplacian_of(
    function: Function, args: Sequence[Any], named: Mapping[str, Any], wrt: Wrt, *, chunk: int | None
) -> Array:
    """Record the sum of the second derivatives of a scalar function: the trace of its Hessian, block by block."""
    keys = select_arguments(function, args, named, wrt)

    @functools.wraps(function)
    def gradients(*positional: Any, **keywords: Any) -> dict[int | str, Any]:
        """Return one gradient for each parameter, in their order, which is not that of `wrt`."""
        return dict(zip(keys, value_and_gradient(function, positional, keywords, tuple(keys))[1], strict=True))

    chunk = check_directions(None, chunk)
    traced = trace_call(gradients, args, named, wrt)
    dtypes = {a.dtype for a in traced.inputs}
    total = Array(tracing.constant(np.zeros((), np.result_type(*dtypes) if dtypes else np.float64)))
    own = {i: [i] for i in range(len(traced.inputs))}
    results, found = _stacked(traced.block, traced.inputs, "forward", own, chunk)
    for (position, _), rows in found.items():
        total = total + _trace(rows, traced.inputs[position])
    store(traced.states, [Array(v) for v in results[len(traced.results) :]])
    return failing_alike([total], [None], (), traced.block, results)[0]


def check_directions(mode: Mode | None, chunk: int | None) -> int | None:
    """Return the number of directions at a time. Raises SpecError for an invalid one, or an invalid mode."""
    if mode is not None and mode not in MODES:
        raise SpecError(f"mode={mode!r} is none of {', '.join(MODES)}", place=tracing.user_place())
    is_whole = isinstance(chunk, int | np.integer) and not isinstance(chunk, bool)
    if chunk is not None and (not is_whole or chunk < 1):
        raise SpecError(f"chunk={chunk!r} is no number of directions", place=tracing.user_place())
    return None if chunk is None else int(chunk)


def fewer(block: Block, of: Sequence[int]) -> Mode:
    """Return forward mode if there are provably no more elements of parameters than of results."""
    given = _total(p.type for p in block.params)
    made = _total(block.results[i].type for i in of)
    return "forward" if at_least(made - given, 0) else "reverse"


def _total(types: Iterable[Type]) -> Dim:
    return sum((product(each.shape or ()) for each in types), start=0)


def jacobian_blocks(
    block: Block, inputs: Sequence[Array], of: Sequence[int], *, mode: Mode | None = None, chunk: int | None = None
) -> tuple[list[Value], dict[int, list[Array]]]:
    """Record a block at these inputs.

    Return its results, and for each result in `of` one derivative for each parameter.

    The arrays are (*result, *parameter), by forward mode from columns, of the result's dtype, in reverse from rows, of
    the parameter's; by default whichever are fewer. Random numbers of the block are drawn once, for results and
    derivatives alike.
    """
    chunk = check_directions(mode, chunk)
    way, given = mode or fewer(block, of), range(len(inputs))
    wanted: dict[int, Sequence[int]] = dict.fromkeys(given, of) if way == "forward" else dict.fromkeys(of, given)
    results, stacked = _stacked(block, inputs, way, wanted, chunk)
    make = _from_columns if way == "forward" else _from_rows

    def made(result: int, parameter: int) -> Array:
        ends = Array(results[result]), inputs[parameter]
        rows = stacked.get((parameter, result) if way == "forward" else (result, parameter))
        if rows is not None:
            return make(rows, *ends)
        return zeros((*ends[0].shape, *ends[1].shape), ends[0 if way == "forward" else 1].dtype)

    return results, {i: [made(i, p) for p in given] for i in of}


def _from_columns(stacked: Array, result: Array, parameter: Array) -> Array:
    moved = transpose(stacked, [*range(1, len(result.shape) + 1), 0])
    return reshape_to(moved, (*result.shape, *parameter.shape))


def _from_rows(stacked: Array, result: Array, parameter: Array) -> Array:
    return reshape_to(stacked, (*result.shape, *parameter.shape))


def _stacked(
    block: Block, inputs: Sequence[Array], mode: Mode, wanted: Mapping[int, Sequence[int]], chunk: int | None
) -> tuple[list[Value], dict[tuple[int, int], Array]]:
    """Return the block's results, and for each dependent source and target the target's directions, stacked in front.

    Sources and targets are those of a `Linear`.
    """
    results: list[Value] | None = None
    directions: dict[tuple[int, int], Array] = {}
    for linear in linear_lists(block, mode, wanted):
        results, captured = record_primal(linear.primal, linear.captures, inputs)
        ends = inputs if mode == "forward" else [Array(r) for r in results]
        for source in linear.sources:
            alone = linear.of_one(source)
            others = [zeros_like(ends[i]).value for i in alone.sources[:-1]]
            rows = along_basis(alone.listed, [*captured, *others], ends[source].type, chunk)
            directions.update({(source, t): a for t, a in zip(alone.targets, rows, strict=True) if t in wanted[source]})
    return results or tracing.inline(block, [a.value for a in inputs]), directions


def along_basis(linear: Block, captured: Sequence[Value], like: Type, chunk: int | None) -> list[Array]:
    """Run a linear list of one seed of type `like` with each of its elements set to one; stack the results in front."""
    size = product(like.shape or ())
    if isinstance(size, int) and size == 1:
        ones = op.Expand(np.ones((), like.dtype), Array(tracing.size_vector(like.shape or ())), types=[like])
        found = tracing.inline(linear, [*captured, ones.value])
        return [op.Unsqueeze(Array(v), [0]) for v in found]
    if chunk is None or (isinstance(size, int) and size <= chunk):
        return _together(linear, captured, _basis(like, size, size), size)
    return _in_chunks(linear, captured, like, size, chunk)


def _basis(like: Type, count: Dim, size: Dim) -> Array:
    """Return rows of the identity matrix in the shape of `like`, [count, *shape]; zeros from `size` on."""
    rows, places = (
        op.Range(np.int64(0), op.Squeeze(Array(tracing.size_of(n)), [0]), np.int64(1), types=[Type(np.int64, (n,))])
        for n in (count, size)
    )
    same = op.Equal(op.Unsqueeze(rows, [1]), op.Unsqueeze(places, [0]), types=[Type(np.bool_, (count, size))])
    return reshape_to(op.Cast(same, to=like.dtype), (count, *(like.shape or ())))


def _together(linear: Block, captured: Sequence[Value], seeds: Array, size: Dim) -> list[Array]:
    """Run all directions as one batch."""
    flags = [*[False] * len(captured), True]
    made, _ = batch_block(linear, flags, size, wanted=[True] * len(linear.results))
    return [Array(v) for v in tracing.inline(made, [*captured, seeds.value])]


def _in_chunks(linear: Block, captured: Sequence[Value], like: Type, size: Dim, chunk: int) -> list[Array]:
    """Run `chunk` directions after `chunk` others.

    The last chunk is filled with zeros, which are cut off at the end.
    """
    steps = (size + chunk - 1) // chunk
    whole = steps * chunk
    basis = reshape_to(_basis(like, whole, size), (steps, chunk, *(like.shape or ())))

    def step(seeds: Array) -> list[Value]:
        return [a.value for a in _together(linear, captured, seeds, chunk)]

    body = record(BodyRole.DIRECTIONS, [Type(like.dtype, (chunk, *(like.shape or ())))], step)
    form = ScanForm(body, 0, (Walk(),), tuple(Walk() for _ in body.results))
    stacked = [Type(r.type.dtype, (steps, chunk, *(r.type.shape or ()))) for r in linear.results]
    found = [Array(v) for v in emit_scan(form, [], [basis.value], stacked)]
    rows = [reshape_to(x, (whole, *x.shape[2:])) for x in found]
    return [
        op.Slice(x, [0], Array(tracing.size_of(size)), [0], types=[Type(x.dtype, (size, *x.shape[1:]))]) for x in rows
    ]


def _trace(rows: Array, like: Array) -> Array:
    """Return the sum of the diagonal of the rows (size, *shape) of a square matrix."""
    size = product(like.shape)
    matrix = reshape_to(rows, (size, size))
    return op.ReduceSum(op.Mul(matrix, reshape_to(_basis(like.type, size, size), (size, size))), [0, 1], keepdims=0)

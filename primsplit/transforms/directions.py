"""Jacobians, Hessians and Laplacians: the linear list of a function along all directions of a basis.

A linear list, tangent or pullback, is recorded once and then run for a whole basis, or for `chunk` directions of it at
a time.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from primsplit import tracing, trees
from primsplit.array import Array
from primsplit.batching.transform import batch_block
from primsplit.broadcasting import reshape_to, transpose, zeros
from primsplit.dims import Dim, at_least, product
from primsplit.errors import SpecError
from primsplit.frames import store
from primsplit.ir import Block, Type, Value
from primsplit.nested import ScanForm, Walk, emit_scan, record
from primsplit.ops import op
from primsplit.split import split_block
from primsplit.tangents.pushforward import push_block
from primsplit.transforms.failing import failing_alike
from primsplit.transforms.gradient import (
    Function,
    Wrt,
    check_differentiable,
    in_structure,
    record_primal,
    trace_call,
    value_and_gradient,
)

Mode = Literal["forward", "reverse"]
MODES = ("forward", "reverse")


def jacobian_of(
    function: Function, args: Sequence[Any], named: Mapping[str, Any], wrt: Wrt, *, mode: Mode | None, chunk: int | None
) -> tuple[Any, Any]:
    """Record `function` and its Jacobian; return (value, Jacobian).

    The Jacobian has the structure of the result, in it that of the arguments in `wrt`, and in it arrays of shape
    (*result, *argument); None for a result that is not floating point. Forward mode makes its columns, reverse mode its
    rows: by default whichever are fewer. Raises DtypeError where no result is floating point.
    """
    traced = trace_call(function, args, named, wrt)
    check_differentiable([r.type for r in traced.results], "jacobian")
    found = jacobian_blocks(traced.block, traced.inputs, traced.floats, mode=mode, chunk=chunk)
    results = tracing.inline(traced.block, [a.value for a in traced.inputs])
    values = [Array(v) for v in results[: len(traced.results)]]
    store(traced.states, [Array(v) for v in results[len(values) :]])
    alike = {i: failing_alike(made, [None] * len(made), (), traced.block, results) for i, made in found.items()}
    rows = [in_structure(traced.wrt, alike[i], wrt) if i in alike else None for i in range(len(values))]
    return trees.unflatten(traced.result, values), trees.unflatten(traced.result, rows)


def hessian_of(
    function: Function, args: Sequence[Any], named: Mapping[str, Any], wrt: Wrt, *, chunk: int | None
) -> tuple[Any, Any, Any]:
    """Record a scalar function, its gradient and its Hessian, forward over reverse.

    The Hessian has the structure of the arguments in `wrt` twice: the block of a pair (a, b) is (*a, *b).
    """

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

    @functools.wraps(function)
    def gradients(*positional: Any, **keywords: Any) -> Any:
        return value_and_gradient(function, positional, keywords, wrt)[1]

    check_directions(None, chunk)
    traced = trace_call(gradients, args, named, wrt)
    total = Array(tracing.constant(np.zeros((), traced.inputs[0].dtype)))
    for position, given in enumerate(traced.inputs):
        found = column(traced.block, traced.inputs, position, [position], chunk).get(position)
        if found is not None:
            total = op.Add(total, _trace(found, given))
    results = tracing.inline(traced.block, [a.value for a in traced.inputs])
    store(traced.states, [Array(v) for v in results[len(traced.results) :]])
    return failing_alike([total], [None], (), traced.block, results)[0]


def check_directions(mode: Mode | None, chunk: int | None) -> None:
    """Raise SpecError for a mode or a number of directions that there is not."""
    if mode is not None and mode not in MODES:
        raise SpecError(f"mode={mode!r} is none of {', '.join(MODES)}", place=tracing.user_place())
    if chunk is not None and (not isinstance(chunk, int) or isinstance(chunk, bool) or chunk < 1):
        raise SpecError(f"chunk={chunk!r} is no number of directions", place=tracing.user_place())


def fewer(block: Block, of: Sequence[int]) -> Mode:
    """Forward mode where there are provably no more elements of parameters than of results."""
    given = _total(p.type for p in block.params)
    made = _total(block.results[i].type for i in of)
    return "forward" if at_least(made - given, 0) else "reverse"


def _total(types: Iterable[Type]) -> Dim:
    return sum((product(each.shape or ()) for each in types), start=0)


def jacobian_blocks(
    block: Block, inputs: Sequence[Array], of: Sequence[int], *, mode: Mode | None = None, chunk: int | None = None
) -> dict[int, list[Array]]:
    """For each result in `of`, one array (*result, *parameter) a parameter of the block, recorded at these inputs."""
    check_directions(mode, chunk)
    if (mode or fewer(block, of)) == "forward":
        found = [column(block, inputs, p, of, chunk) for p in range(len(inputs))]
        known = {(i, p): a for p, made in enumerate(found) for i, a in made.items()}
    else:
        known = {(i, p): a for i in of for p, a in row(block, inputs, i, chunk).items()}
    return {
        i: [known[i, p] if (i, p) in known else _zeros(block.results[i], x) for p, x in enumerate(inputs)] for i in of
    }


def _zeros(result: Value, given: Array) -> Array:
    shape = (*(result.type.shape or ()), *given.shape)
    return zeros(shape, result.type.dtype)


def column(
    block: Block, inputs: Sequence[Array], position: int, of: Sequence[int], chunk: int | None
) -> dict[int, Array]:
    """For one parameter, the arrays (*result, *parameter) of the results in `of` that depend on it."""
    pushed = push_block(block, [position], of)
    like = inputs[position]
    _, captured = record_primal(pushed.primal, pushed.captures, inputs)
    stacked = along_basis(pushed.tangent, captured, like.type, chunk)
    found = {}
    for target, array in zip(pushed.targets, stacked, strict=True):
        shape = block.results[target].type.shape or ()
        moved = transpose(array, [*range(1, len(shape) + 1), 0])
        found[target] = reshape_to(moved, (*shape, *like.shape))
    return found


def row(block: Block, inputs: Sequence[Array], result: int, chunk: int | None) -> dict[int, Array]:
    """The arrays (*result, *parameter) of one result, by the position of the parameters that it depends on."""
    split = split_block(block, range(len(inputs)), [result])
    like = block.results[result].type
    _, captured = record_primal(split.primal, split.captures, inputs)
    stacked = along_basis(split.pullback, captured, like, chunk)
    pairs = zip(split.targets, stacked, strict=True)
    return {p: reshape_to(a, (*(like.shape or ()), *inputs[p].shape)) for p, a in pairs}


def along_basis(linear: Block, captured: Sequence[Value], like: Type, chunk: int | None) -> list[Array]:
    """A linear list of one seed of type `like` run for each of its elements set to one: results stacked in front."""
    size = product(like.shape or ())
    if isinstance(size, int) and size == 1:
        ones = op.Expand(np.ones((), like.dtype), Array(tracing.size_vector(like.shape or ())), types=[like])
        found = tracing.inline(linear, [*captured, ones.value])
        return [op.Unsqueeze(Array(v), [0]) for v in found]
    if chunk is None or (isinstance(size, int) and size <= chunk):
        return _together(linear, captured, _basis(like, size, size), size)
    return _in_chunks(linear, captured, like, size, chunk)


def _basis(like: Type, count: Dim, size: Dim) -> Array:
    """Rows of the identity matrix in the shape of `like`, [count, *shape]; zeros from `size` on."""
    rows, places = (
        op.Range(np.int64(0), op.Squeeze(Array(tracing.size_of(n)), [0]), np.int64(1), types=[Type(np.int64, (n,))])
        for n in (count, size)
    )
    same = op.Equal(op.Unsqueeze(rows, [1]), op.Unsqueeze(places, [0]), types=[Type(np.bool_, (count, size))])
    return reshape_to(op.Cast(same, to=like.dtype), (count, *(like.shape or ())))


def _together(linear: Block, captured: Sequence[Value], seeds: Array, size: Dim) -> list[Array]:
    """All directions as one batch."""
    flags = [*[False] * len(captured), True]
    made, _ = batch_block(linear, flags, size, wanted=[True] * len(linear.results))
    return [Array(v) for v in tracing.inline(made, [*captured, seeds.value])]


def _in_chunks(linear: Block, captured: Sequence[Value], like: Type, size: Dim, chunk: int) -> list[Array]:
    """`chunk` directions after `chunk` others; what the last ones lack are zeros, which are cut off at the end."""
    steps = (size + chunk - 1) // chunk
    whole = steps * chunk
    basis = reshape_to(_basis(like, whole, size), (steps, chunk, *(like.shape or ())))

    def step(seeds: Array) -> list[Value]:
        return [a.value for a in _together(linear, captured, seeds, chunk)]

    body = record("directions", [Type(like.dtype, (chunk, *(like.shape or ())))], step)
    form = ScanForm(body, 0, (Walk(),), tuple(Walk() for _ in body.results))
    stacked = [Type(r.type.dtype, (steps, chunk, *(r.type.shape or ()))) for r in linear.results]
    found = [Array(v) for v in emit_scan(form, [], [basis.value], stacked)]
    rows = [reshape_to(x, (whole, *x.shape[2:])) for x in found]
    return [
        op.Slice(x, [0], Array(tracing.size_of(size)), [0], types=[Type(x.dtype, (size, *x.shape[1:]))]) for x in rows
    ]


def _trace(block: Array, like: Array) -> Array:
    """The sum of the diagonal of a block (*shape, *shape)."""
    size = product(like.shape)
    matrix = reshape_to(block, (size, size))
    return op.ReduceSum(op.Mul(matrix, reshape_to(_basis(like.type, size, size), (size, size))), [0, 1], keepdims=0)

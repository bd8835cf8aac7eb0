"""Reverse mode: record the value and gradient, or vector-Jacobian products, of a function being traced.

```
y = sin(x)   ->   y = Sin(x), d_x = Mul(d_y, Cos(x))
```
"""

import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Type, Value, Var
from primsplit.ir.dims import Size
from primsplit.ir.errors import DtypeError, ShapeError, SpecError
from primsplit.ir.parts import Split
from primsplit.ops import op
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import Held, as_array
from primsplit.tracing.branching.raising import MAY_RAISE
from primsplit.tracing.broadcasting import zeros_like
from primsplit.tracing.calls.recorded import StandIn
from primsplit.tracing.frames import Slot, record_keeping, store
from primsplit.tracing.functionlike import positional_names
from primsplit.transforms.cut import report_cut
from primsplit.transforms.failing import failing_alike
from primsplit.transforms.idioms.rewritten import rewritten
from primsplit.transforms.split import gradient_or_zeros, split_whole

Function = Callable[..., Any]
Wrt = int | str | Sequence[int | str]


@dataclass(frozen=True, slots=True)
class TracedCall:
    """A call as a block of the arguments in `wrt`, with their values, and the structures of both.

    The block's last results are the values that it writes to `states`.
    """

    block: Block
    inputs: list[Array]
    wrt: trees.TreeSpec
    result: trees.TreeSpec
    states: tuple[Slot, ...]

    @property
    def results(self) -> tuple[Value, ...]:
        """The results that are the function's own."""
        return self.block.results[: len(self.block.results) - len(self.states)]

    @property
    def floats(self) -> list[int]:
        """The positions of the floating-point results."""
        return [i for i, r in enumerate(self.results) if r.type.is_float]


def trace_call(function: Function, args: Sequence[Any], named: Mapping[str, Any], wrt: Wrt) -> TracedCall:
    """Trace `function` at these arguments; those in `wrt` are parameters, all else is captured."""
    chosen = select_arguments(function, args, named, wrt)
    leaves, spec = trees.in_parts(chosen)
    inputs = differentiable(function, leaves, spec)

    def call(handles: list[Array]) -> Any:
        others, by_name = trees.owned((tuple(args), dict(named)))
        positional, keywords = replace_arguments(others, by_name, trees.unflatten(spec, handles))
        return function(*positional, **keywords)

    kept = record_keeping(getattr(function, "__name__", "f"), [StandIn.of(a) for a in inputs], call)
    return TracedCall(kept.block, inputs, spec, kept.result, kept.states)


def differentiate(
    function: Function, args: Sequence[Any], named: Mapping[str, Any], wrt: Wrt
) -> tuple[TracedCall, Split]:
    """Trace `function` at these arguments and split it with respect to those in `wrt`.

    The other arguments, and what the function closes over, are captures. Values written to states have no cotangent.
    Raises SpecError for a `wrt` that names no argument, DtypeError for one that is not floating point.
    """
    traced = trace_call(function, args, named, wrt)
    return traced, _split(traced, traced.floats)


def _split(traced: TracedCall, of: Sequence[int]) -> Split:
    """Split the call for these results, with respect to all of its parameters."""
    wanted = range(len(traced.block.params))
    report_cut(traced.block, wanted, of, traced.inputs)
    return split_whole(rewritten(traced.block, wanted, of), wanted, of)


def select_arguments(
    function: Function, args: Sequence[Any], named: Mapping[str, Any], wrt: Wrt
) -> dict[int | str, Any]:
    """Return the arguments that `wrt` names by position or name, each once, however it was passed. Raises SpecError."""
    wanted = list(wrt) if isinstance(wrt, Sequence) and not isinstance(wrt, str) else [wrt]
    names = positional_names(function, len(args))
    chosen: dict[int | str, Any] = {}
    for key in wanted:
        place = _place_of(key, names, len(args), named)
        if place is None:
            given = [*names[: len(args)], *("another" for _ in args[len(names) :]), *named]
            raise SpecError(
                f"wrt={key!r} names no argument of this call",
                place=tracing.user_place(),
                because=(f"its arguments are {', '.join(given) or 'none'}",),
            )
        if place in chosen:
            raise SpecError(
                f"wrt={wrt!r} names an argument twice, by {key!r} once more",
                place=tracing.user_place(),
                cure="Name each once: derivatives are told apart by their arguments.",
            )
        chosen[place] = args[place] if isinstance(place, int) else named[place]
    return chosen


def _place_of(key: Any, names: Sequence[str], count: int, named: Mapping[str, Any]) -> int | str | None:
    """Return where the argument `key` is: among the first `count`, or the named ones; None for nowhere."""
    if isinstance(key, str):
        found = names.index(key) if key in names[:count] else None
        return key if key in named else found
    if isinstance(key, int) and -count <= key < count:
        return key % count
    name = names[key] if isinstance(key, int) and count <= key < len(names) else None
    return name if name in named else None


def replace_arguments(
    args: Sequence[Any], named: Mapping[str, Any], chosen: Mapping[int | str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments with the chosen ones replaced."""
    positional = [chosen.get(i, a) for i, a in enumerate(args)]
    return positional, {k: chosen.get(k, v) for k, v in named.items()}


def differentiable(function: Function, leaves: Sequence[Any], spec: trees.TreeSpec) -> list[Array]:
    """Return the leaves of the arguments in `wrt` as arrays. Raises DtypeError for one that is not floating point."""
    for position, leaf in enumerate(leaves):
        is_static = not (trees.is_array(leaf) or isinstance(leaf, Held)) or isinstance(leaf, Size)
        if is_static or not as_array(leaf).type.is_float:
            first, *inside = trees.paths(spec)[position]
            names = positional_names(function)
            name = names[first] if isinstance(first, int) and first < len(names) else f"argument {first}"
            what = f"a static {type(leaf).__name__}, {reprlib.repr(leaf)}" if is_static else str(as_array(leaf).type)
            raise DtypeError(
                f"cannot differentiate with respect to {'.'.join([name, *map(str, inside)])}: it is {what}",
                place=tracing.user_place(),
                cure="Pass what has no gradient as an argument of its own, which wrt leaves out."
                if inside
                else "Pass a float or a floating-point array, or leave it out of wrt.",
            )
    return [as_array(leaf) for leaf in leaves]


def value_and_gradient(
    function: Function, args: Sequence[Any], named: Mapping[str, Any], wrt: Wrt, *, has_aux: bool = False
) -> tuple[Any, Any]:
    """Record `function` and its gradient; return (value, gradient in the structure of the arguments in `wrt`)."""
    traced = trace_call(function, args, named, wrt)
    _check_scalar(traced, has_aux)
    split = _split(traced, of=[0])
    joint = split.joint()
    seeds = [Array(tracing.constant(np.ones((), s.type.dtype))) for s in split.cotangents]
    values = [Array(v) for v in tracing.inline(joint, [*(a.value for a in traced.inputs), *(s.value for s in seeds)])]
    count = len(split.primal.results)
    found = gradient_or_zeros(split, values[count:], traced.inputs)
    gradients = _failing_alike(found, split, [v.value for v in values[:count]])
    own = len(traced.results)
    store(traced.states, values[own:count])
    value = trees.unflatten(traced.result, values[:own])
    return value, in_structure(traced.wrt, gradients, wrt)


def _failing_alike(gradients: Sequence[Array], split: Split, results: Sequence[Value]) -> list[Array]:
    if split.primal.kinds.isdisjoint(MAY_RAISE):
        return list(gradients)
    made = dict(zip(split.targets, split.pullback.results, strict=True))
    return failing_alike(gradients, [made.get(i) for i in split.wrt], split.pullback.ops, split.primal, results)


def in_structure(spec: trees.TreeSpec, gradients: Sequence[Array], wrt: Wrt) -> Any:
    """Nest the gradients like the arguments: the argument itself for a single `wrt`, else a tuple."""
    found = trees.unflatten(spec, gradients)
    return next(iter(found.values())) if isinstance(wrt, int | str) else tuple(found.values())


def check_differentiable(types: Sequence[Type], what: str) -> None:
    """Raise DtypeError if none of a function's results has a derivative."""
    if not any(t.is_float for t in types):
        raise DtypeError(
            f"{what} takes a function with a floating-point result, not {', '.join(map(str, types)) or 'one without'}",
            place=tracing.user_place(),
            cure="Return a floating-point array.",
        )


def _check_scalar(made: TracedCall, has_aux: bool) -> None:
    results = made.results
    parts = made.result.children()
    number = parts[0] if has_aux and made.result.type is not trees.Parts and parts else made.result
    if number.type is trees.Parts:
        raise DtypeError(
            f"a gradient is that of a real number, and {made.block.name} returns a complex one",
            place=tracing.user_place(),
            cure="Return its .real or .imag, np.abs(z) or np.abs(z) ** 2, or use ps.vjp with a complex cotangent.",
        )
    if has_aux and not (made.result.type in {tuple, list} and len(parts) == 2 and parts[0].is_leaf()):
        raise SpecError(
            f"with has_aux the function returns a pair of a number and anything, not {trees.brief(made.result)}",
            place=tracing.user_place(),
            cure="Return (value, aux).",
        )
    if not has_aux and len(results) != 1:
        raise ShapeError(
            f"a gradient is that of one scalar result, and {made.block.name} has {len(results) or 'none'}",
            place=tracing.user_place(),
            cure="Return one number, use has_aux=True, or ps.vjp for several results.",
        )
    first = results[0].type
    if first.shape != () or not first.is_float:
        raise ShapeError(
            f"a gradient is that of a floating-point scalar result, and that of {made.block.name} is {first}",
            place=tracing.user_place(),
            cure="Sum the result, or use ps.vjp with a cotangent.",
        )


def vector_jacobian(
    function: Function, args: Sequence[Any], named: Mapping[str, Any], wrt: Wrt
) -> tuple[Any, Callable[..., Any]]:
    """Record `function`; return its result and `pullback`, which records the pullback for a cotangent.

    The pullback may be called any number of times; it takes the result's structure, None for zeros. It raises
    SpecError, ShapeError or DtypeError for a cotangent that does not fit.
    """
    traced, split = differentiate(function, args, named, wrt)
    results, captured = record_primal(split.primal, split.captures, traced.inputs)
    own = len(traced.results)
    store(traced.states, [Array(v) for v in results[own:]])

    def pullback(cotangent: Any) -> Any:
        given = _cotangent_leaves(traced.result, cotangent)
        seeds = [_cotangent(given[i], results[i]) for i in split.of]
        found = [Array(v) for v in tracing.inline(split.pullback, [*captured, *(s.value for s in seeds)])]
        gradients = _failing_alike(gradient_or_zeros(split, found, traced.inputs), split, results)
        return in_structure(traced.wrt, list(map(_in_shape_of, gradients, traced.inputs)), wrt)

    return trees.unflatten(traced.result, [Array(v) for v in results[:own]]), pullback


def _in_shape_of(gradient: Array, given: Array) -> Array:
    """Return the cotangent, declared with its input's type: a pullback may read sizes alone, which name no symbol."""
    if gradient.type == given.type:
        return gradient
    typed: Array = op.Identity(gradient, types=[given.type])
    return typed


def record_primal(primal: Block, captures: Sequence[Var], inputs: Sequence[Array]) -> tuple[list[Value], list[Value]]:
    """Record a primal list at the inputs; return its results, and the values of its captures."""
    whole = Block(primal.name, primal.params, primal.ops, (*primal.results, *captures))
    values = tracing.inline(whole, [a.value for a in inputs])
    return values[: len(primal.results)], values[len(primal.results) :]


def _cotangent_leaves(spec: trees.TreeSpec, cotangent: Any) -> list[Any]:
    """Return one cotangent for each leaf of the result, None for zero. Raises SpecError for another structure."""
    try:
        return trees.leaves_with_zeros(spec, cotangent)
    except (ValueError, TypeError):
        given = trees.flatten(cotangent)[1]
        raise SpecError(
            "the cotangent has another structure than the result",
            place=tracing.user_place(),
            because=(f"result:    {trees.brief(spec)}", f"cotangent: {trees.brief(given)}"),
        ) from None


def _cotangent(given: Any, result: Value) -> Array:
    """Return the cotangent as an array that fits the result. Raises ShapeError or DtypeError."""
    if given is None:
        return zeros_like(Array(result))
    array = as_array(given, result.type.dtype)
    check_fits(array, result.type, "cotangent")
    return array


def check_fits(array: Array, wanted: Type, what: str) -> None:
    """Raise DtypeError or ShapeError for a tangent or cotangent (`what`) that no value of this type can have."""
    told = f"the {what} of a {wanted} cannot be {array.type}"
    if array.dtype != wanted.dtype:
        raise DtypeError(told, place=tracing.user_place())
    sizes = zip(array.type.shape or (), wanted.shape or (), strict=False)
    clash = any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in sizes)
    if array.type.rank != wanted.rank or clash:
        raise ShapeError(told, place=tracing.user_place())

"""Forward mode: record Jacobian-vector products, and the linear part, of a function being traced.

```
y = sin(x)   ->   y = Sin(x), t_y = Mul(t_x, Cos(x))
```
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from primsplit import tracing
from primsplit.ir.errors import DtypeError, SpecError
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.broadcasting import zeros_like
from primsplit.tracing.calls.recorded import StandIn
from primsplit.tracing.frames import Slot, record_keeping, store
from primsplit.transforms.cut import report_cut
from primsplit.transforms.failing import failing_alike
from primsplit.transforms.gradient import (
    Function,
    Wrt,
    check_fits,
    differentiable,
    record_primal,
    replace_arguments,
    select_arguments,
    value_and_gradient,
)
from primsplit.transforms.tangents.pushforward import Pushforward, push_whole


@dataclass(frozen=True, slots=True)
class Linearized:
    """A traced call with its tangent list. `positions` are those of the leaves that have a tangent.

    The last results are the values that it writes to `states`, which have no tangent.
    """

    pushed: Pushforward
    inputs: list[Array]
    positions: list[int]
    arguments: trees.TreeSpec
    result: trees.TreeSpec
    states: tuple[Slot, ...]

    @property
    def count(self) -> int:
        """The number of results that are the function's own."""
        return len(self.pushed.primal.results) - len(self.states)


def push_call(function: Function, args: Sequence[Any], positions: Sequence[int] | None = None) -> Linearized:
    """Trace `function` at these arguments, and push tangents of some leaves through it; by default of all floats."""
    leaves, spec = trees.in_parts(tuple(args))
    arrays = {i: as_array(x) for i, x in enumerate(leaves) if trees.is_array(x)}
    chosen = [i for i, a in arrays.items() if a.type.is_float] if positions is None else list(positions)

    def call(handles: list[Array]) -> Any:
        given = dict(zip(chosen, handles, strict=True))
        others = trees.owned(leaves)
        return function(*trees.unflatten(spec, [given.get(i, x) for i, x in enumerate(others)]))

    stand_ins = [StandIn.of(arrays[i]) for i in chosen]
    kept = record_keeping(getattr(function, "__name__", "f"), stand_ins, call)
    of = [i for i, r in enumerate(kept.block.results[: kept.count]) if r.type.is_float]
    report_cut(kept.block, range(len(chosen)), of, [arrays[i] for i in chosen])
    pushed = push_whole(kept.block, range(len(chosen)), of)
    return Linearized(pushed, [arrays[i] for i in chosen], chosen, spec, kept.result, kept.states)


def jacobian_vector(function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Record `function` and its Jacobian-vector product; return (value, tangent).

    Tangents have the structure of the primals, None for zero. The tangent of a result that is not floating point is
    None. Raises SpecError, DtypeError or ShapeError if a tangent does not fit.
    """
    leaves, spec = trees.in_parts(as_tuple(primals, "primals"))
    given = match_tangents(spec, leaves, as_tuple(tangents, "tangents"))
    linearized = push_call(function, primals, [i for i, t in enumerate(given) if t is not None])
    pushed = linearized.pushed
    joint = pushed.joint()
    seeds = [t for t in given if t is not None]
    arguments = [a.value for a in (*linearized.inputs, *seeds)]
    values = [Array(v) for v in tracing.inline(joint, arguments)]
    count = len(pushed.primal.results)
    store(linearized.states, values[linearized.count : count])
    tangents_of = result_tangents(pushed, values[:count], values[count:])
    return (
        trees.unflatten(linearized.result, values[: linearized.count]),
        trees.unflatten(linearized.result, tangents_of[: linearized.count]),
    )


def linear_part(function: Function, primals: Sequence[Any]) -> tuple[Any, Callable[..., Any]]:
    """Record `function`; return its value and the linear function, which records the tangent list where it is called.

    The linear function takes one tangent a primal and may be called any number of times.
    """
    linearized = push_call(function, primals)
    pushed = linearized.pushed
    values, captured = record_primal(pushed.primal, pushed.captures, linearized.inputs)
    results = [Array(v) for v in values]
    store(linearized.states, results[linearized.count :])
    leaves, spec = trees.in_parts(tuple(primals))

    def linear(*tangents: Any) -> Any:
        given = match_tangents(spec, leaves, tangents)
        seeds = [
            zeros_like(a) if (t := given[i]) is None else t
            for i, a in zip(linearized.positions, linearized.inputs, strict=True)
        ]
        found = tracing.inline(pushed.tangent, [*captured, *(s.value for s in seeds)])
        moved = result_tangents(pushed, results, [Array(v) for v in found])
        return trees.unflatten(linearized.result, moved[: linearized.count])

    return trees.unflatten(linearized.result, results[: linearized.count]), linear


def result_tangents(pushed: Pushforward, values: Sequence[Array], tangents: Sequence[Array]) -> list[Array | None]:
    """Return one tangent a result: zeros if it does not depend on the inputs, None if it is not floating point."""
    by_position = dict(zip(pushed.targets, tangents, strict=True))
    known = {i: by_position[i] if i in by_position else zeros_like(v) for i, v in enumerate(values) if v.type.is_float}
    sources = dict(zip(pushed.targets, pushed.tangent.results, strict=True))
    alike = failing_alike(
        list(known.values()),
        [sources.get(i) for i in known],
        pushed.tangent.ops,
        pushed.primal,
        [v.value for v in values],
    )
    tangents_of = dict(zip(known, alike, strict=True))
    return [tangents_of.get(i) for i in range(len(values))]


def value_gradient_and_product(
    function: Function, args: Sequence[Any], named: Mapping[str, Any], wrt: Wrt, vector: Any
) -> tuple[Any, Any, Any]:
    """Record a scalar function, its gradient, and the product of its Hessian with a vector: forward over reverse.

    The vector, the gradient and the product have the structure of the argument in `wrt`, a tuple for several.
    """
    chosen = select_arguments(function, args, named, wrt)
    differentiable(function, *trees.in_parts(chosen))
    vectors = (vector,) if isinstance(wrt, int | str) else as_tuple(vector, "v", "in wrt")

    def gradients(*moved: Any) -> tuple[Any, Any]:
        positional, keywords = replace_arguments(args, named, dict(zip(chosen, moved, strict=True)))
        return value_and_gradient(function, positional, keywords, wrt)

    (value, gradient), (_, product) = jacobian_vector(gradients, tuple(chosen.values()), vectors)
    return value, gradient, product


def as_tuple(given: Any, what: str, of_what: str = "of the function") -> tuple[Any, ...]:
    """Return the values, one for each argument `of_what`. Raises SpecError for anything but a tuple or list."""
    if isinstance(given, tuple | list):
        return tuple(given)
    raise SpecError(
        f"{what} must be a tuple with a value for each argument {of_what}, not {type(given).__name__}",
        place=tracing.user_place(),
        cure=f"For one argument, write ({what[0]},)" + (", or wrt=0 for wrt=(0,)." if "wrt" in of_what else "."),
    )


def match_tangents(spec: trees.TreeSpec, leaves: Sequence[Any], tangents: tuple[Any, ...]) -> list[Array | None]:
    """Return one tangent for each leaf of the primals, as an array that fits it; None for zero."""
    found = tangent_leaves(spec, tangents)
    return [None if t is None else _fitting(t, x) for t, x in zip(found, leaves, strict=True)]


def tangent_leaves(spec: trees.TreeSpec, tangents: tuple[Any, ...]) -> list[Any]:
    """Return one tangent for each leaf of the primals; None may stand for a whole argument or some part of it."""
    children = spec.children()
    if len(children) != len(tangents):
        raise SpecError(f"there are {len(tangents)} tangents for {len(children)} primals", place=tracing.user_place())
    found: list[Any] = []
    for position, (child, tangent) in enumerate(zip(children, tangents, strict=True)):
        try:
            found += trees.leaves_with_zeros(child, tangent)
        except (ValueError, TypeError):
            raise SpecError(
                f"the tangent of argument {position} has another structure than its primal",
                place=tracing.user_place(),
                because=(f"primal:  {trees.brief(child)}", f"tangent: {trees.brief(trees.flatten(tangent)[1])}"),
            ) from None
    return found


def _fitting(tangent: Any, primal: Any) -> Array:
    """Return the tangent as an array that fits its primal. Raises DtypeError or ShapeError."""
    if not trees.is_array(primal) or not as_array(primal).type.is_float:
        told = as_array(primal).dtype if trees.is_array(primal) else f"static {type(primal).__name__}"
        raise DtypeError(
            f"an argument that is {told} has no tangent", place=tracing.user_place(), cure="Give None as its tangent."
        )
    wanted = as_array(primal).type
    is_number = isinstance(tangent, int | float) and not isinstance(tangent, bool)
    array = as_array(tangent, wanted.dtype) if is_number else as_array(tangent)
    if array.weak:
        array = cast_to(array, wanted.dtype)
    check_fits(array, wanted, "tangent")
    return array

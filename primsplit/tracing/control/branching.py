"""`cond` and `switch`: one of several functions is run, and only that one.

```
ps.cond(c, np.sqrt, np.exp, x)   ->   If(c): then Sqrt(x), else Exp(x)
```
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import Block, Type, Value
from primsplit.ir.errors import DtypeError, ShapeError
from primsplit.ops import op
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.branching.conditions import scalar_condition
from primsplit.tracing.branching.exploring import explored
from primsplit.tracing.control.complex_leaves import Made, met
from primsplit.tracing.control.structure import Function, arrays_of, converted, met_dtype, require_same_structure
from primsplit.tracing.functionlike import name_of, require_function
from primsplit.tracing.handles import integer_ranges
from primsplit.tracing.regions import emit_if, record
from primsplit.tracing.stack import Ranges


def cond(condition: Any, true_function: Function, false_function: Function, *operands: Any) -> Any:
    """`true_function(*operands)` if the condition, a scalar, holds, else `false_function(*operands)`.

    Both return the same structure, dtypes and numbers of axes; sizes may differ. In the file it is an If, and the
    gradient an If on the same condition: the side that is not taken is neither computed nor differentiated, so that a
    NaN or infinity there does no harm. Raises TraceError, DtypeError or ShapeError if the two sides do not fit.

    >>> root = ps.grad(lambda x: ps.cond(x > 0, np.sqrt, lambda x: 0.0 * x, x))
    >>> float(root(4.0)), float(root(-1.0))
    (0.25, 0.0)
    """
    require_function(true_function)
    require_function(false_function)
    known = as_array(condition).known() if tracing.is_recording() else np.asarray(condition)
    if known is not None:
        return _run(true_function if _only(known, "a condition") else false_function, operands)
    return choose(scalar_condition(condition), [false_function, true_function], operands)


def switch(index: Any, functions: Sequence[Function], *operands: Any) -> Any:
    """`functions[index](*operands)`, with the integer index clamped to the first and the last of them.

    The functions return the same structure, dtypes and numbers of axes. In the file it is a chain of Ifs. Raises
    DtypeError for an index that is no integer, ShapeError for one of several elements, or if there is no function.

    >>> slope = ps.grad(lambda x, i: ps.switch(i, [np.sin, np.cos], x))
    >>> float(slope(0.0, 0)), float(slope(0.0, 1))
    (1.0, -0.0)
    """
    if not functions:
        raise ShapeError("switch takes at least one function", place=tracing.user_place())
    given = as_array(index) if tracing.is_recording() else np.asarray(index)
    known = given.known() if isinstance(given, Array) else given
    if known is not None:
        number = _only(known, "an index")
        _require_integers(known.dtype)
        return _run(functions[_held(number, functions)], operands)
    array = as_array(given)
    _require_integers(array.dtype)
    # A uint64 may be beyond int64; of the others, 8 bits cannot count more than 127 functions.
    wide = array if array.dtype.itemsize == 8 else op.Cast(array, to=np.int64)
    return _halved(wide, list(functions), 0, operands)


def _require_integers(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "iu":
        raise DtypeError(f"the index of switch must be an integer, not {dtype}", place=tracing.user_place())


def _run(function: Function, operands: Sequence[Any]) -> Any:
    """Run the function of a known choice; like an If, it returns no array that existed before."""
    return trees.owned(function(*trees.owned(operands)))


def _only(known: npt.NDArray[Any], what: str) -> Any:
    """Return the one element. Raises ShapeError for another number of them."""
    if known.size == 1:
        return known.item()
    raise ShapeError(
        f"{what} must be one value, not {Type(known.dtype, known.shape)}",
        place=tracing.user_place(),
        cure="Reduce it with np.all or np.any, or choose by elements with np.where.",
    )


def _held(index: int, functions: Sequence[Function]) -> int:
    """Return the index, clamped to the first and the last function."""
    return min(max(int(index), 0), len(functions) - 1)


def _halved(index: Array, functions: list[Function], first: int, operands: Sequence[Any]) -> Any:
    """Record a balanced tree of Ifs, as deep as the logarithm of their number."""
    if len(functions) == 1:
        return functions[0](*operands)
    middle = len(functions) // 2

    def low(*given: Any) -> Any:
        return _halved(index, functions[:middle], first, given)

    def high(*given: Any) -> Any:
        return _halved(index, functions[middle:], first + middle, given)

    below = op.Less(index, first + middle)
    called = _called(first + middle, first + len(functions)), _called(first, first + middle)
    return choose(scalar_condition(below), [high, low], operands, called=called)


def _called(first: int, end: int) -> str:
    """Return what an error calls the functions of a switch from `first` to before `end`."""
    return f"function {first}" if end == first + 1 else f"functions {first} to {end - 1}"


def choose(
    condition: Value,
    sides: Sequence[Function],
    operands: Sequence[Any],
    *,
    called: tuple[str, str] = ("false", "true"),
    besides: Callable[[int, Mapping[str, Any]], Mapping[str, Any]] | None = None,
) -> Any:
    """Record an If of two functions, the false one first; `called` is what an error calls them.

    After both have been recorded, `besides(k, results)` may return further results of side k by name, if the sides
    return dictionaries: values from outside, or some of its own.
    """
    told = tracing.current().implications(condition)
    recorded = [_Side(side, operands, ranges) for side, ranges in zip(sides, told, strict=True)]
    if besides is not None:
        for k, side in enumerate(recorded):
            side.add(besides(k, trees.unflatten(side.spec, side.results)))
    low, high = recorded
    false, true = called
    given = {true: Made(high.results, high.spec), false: Made(low.results, low.spec)}
    for side, made in zip((high, low), met("the branches' results", given).values(), strict=True):
        side.give(made)
    require_same_structure(
        "the results of the two branches",
        {true: high.spec, false: low.spec},
        "Return the same containers from both functions.",
    )
    names = trees.labels(high.spec)
    pairs = list(zip(high.results, low.results, strict=True))
    dtypes = [
        met_dtype(f"{n} of the branches' results", {true: a, false: b}) for n, (a, b) in zip(names, pairs, strict=True)
    ]
    for name, (a, b) in zip(names, pairs, strict=True):
        if a.type.rank != b.type.rank:
            raise ShapeError(
                f"{name} of the branches' results has another number of axes in each",
                place=tracing.user_place(),
                because=(f"{true}: {a.type}", f"{false}: {b.type}"),
                cure="Give both the same number of axes, with np.reshape or x[None].",
            )
    found = emit_if(condition, high.block(dtypes), low.block(dtypes))
    weak = [a.weak and b.weak for a, b in pairs]
    of_sides = zip(low.recorded.results, high.recorded.results, strict=True)
    for value, each, is_pythons in zip(found, of_sides, weak, strict=True):
        if value.type.rank == 0 and (value.type.dtype == np.bool_ or (is_pythons and value.type.dtype.kind == "i")):
            integer_ranges.note_chosen(value, condition, each)
    return trees.unflatten(high.spec, [Array(v, weak=w, scalar=True) for v, w in zip(found, weak, strict=True)])


class _Side:
    """One recorded branch; its results are converted once the dtypes of both are known. `told` holds inside of it."""

    def __init__(self, function: Function, operands: Sequence[Any], told: Ranges) -> None:
        self.results: list[Array] = []
        self.spec: Any = None

        def body() -> list[Value]:
            leaves, spec = trees.flatten(tuple(operands))

            def run() -> tuple[list[Array], trees.TreeSpec]:
                return arrays_of(function(*trees.unflatten(spec, [_own(x) for x in leaves])))

            with integer_ranges.narrowed(told) if told else nullcontext():
                self.results, self.spec = explored(run)
            return [a.value for a in self.results]

        self.recorded = record(name_of(function), [], body)

    def add(self, more: Mapping[str, Any]) -> None:
        """Add results to a branch that returns a dictionary: values from outside of it, or its own once more."""
        if not more:
            return
        leaves, spec = trees.in_parts(trees.unflatten(self.spec, self.results) | more)
        self.give(Made([as_array(x) for x in leaves], spec))

    def give(self, made: Made) -> None:
        """Replace the branch's results by these: values from outside of it, or its own."""
        own = {id(a): v for a, v in zip(self.results, self.recorded.results, strict=True)}
        values = tuple(own.get(id(a)) or a.value for a in made.arrays)
        self.results, self.spec = made
        self.recorded = replace(self.recorded, results=values)

    def block(self, dtypes: Sequence[Any]) -> Block:
        """Return the branch as a block whose results have these dtypes."""
        recorded = self.recorded
        if all(r.type.dtype == d for r, d in zip(recorded.results, dtypes, strict=True)):
            return recorded

        def body() -> list[Value]:
            for step in recorded.ops:
                tracing.append(step)
            return [converted(Array(r), d) for r, d in zip(recorded.results, dtypes, strict=True)]

        return record(recorded.name, [], body)


def _own(leaf: Any) -> Any:
    """Return a handle of the leaf that the branch may write to; a leaf that is no array stays."""
    return leaf.own() if isinstance(leaf, Array) else leaf

"""Compute sizes as values: read them from the shape of a Var, or compute them from sizes that can be read.

```
2*N + 1, for x: float32[N,3]   ->   Add(Mul(Shape(x, start=0, end=1), 2), 1)
```
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from primsplit.ir import Const, Type, Value, Var, dims
from primsplit.ir.dims import Dim, Size, is_one
from primsplit.ir.errors import PrimsplitError, ShapeError, TraceError
from primsplit.ops.inference import fresh
from primsplit.tracing.emission import emit
from primsplit.tracing.places import user_place
from primsplit.tracing.stack import Source, current, dim_at, levels, primitive_part


def size_vector(sizes: Sequence[Dim]) -> Value:
    """Return an int64 vector of these sizes, read from the shapes of Vars if they are symbolic.

    Raises ShapeError for a number that int64 does not hold.
    """
    if far := [d for d in sizes if isinstance(d, int) and not -(2**63) <= d < 2**63]:
        raise ShapeError(f"a size of {far[0]} is none that an array can have", place=user_place())
    if not any(isinstance(d, Size) for d in sizes):
        return Const(np.array(sizes, dtype=np.int64).reshape(-1))
    whole = _whole_shape(tuple(sizes))
    if whole is not None:
        return whole
    parts: list[Value] = []
    for is_literal, run in itertools.groupby(sizes, lambda d: isinstance(d, int)):
        found = list(run)
        parts += [Const(np.array(found, dtype=np.int64))] if is_literal else map(size_of, found)
    return parts[0] if len(parts) == 1 else emit("Concat", parts, {"axis": 0})[0]


def _whole_shape(sizes: tuple[Dim, ...]) -> Value | None:
    """Return the Shape of one Var, if that is the requested vector."""
    first = next(d for d in sizes if isinstance(d, Size))
    source = _find_source(first.symbol) if first.symbol is not None else None
    if source is None or len(sizes) < 2 or not dims.same_shape(source[0].type.shape or (), sizes):
        return None
    return emit("Shape", [source[0]])[0]


def size_of(dim: Dim) -> Value:
    """Return the size as an int64 vector of one element."""
    if isinstance(dim, int):
        return Const(np.array([dim], dtype=np.int64))
    into = current()
    known = _find_known(dim.text)
    if known is None:
        known = into.known[dim.text] = _read(dim)
    return known


def size_of_number(number: Value, check: Callable[[Value], Value]) -> Size:
    """Return the size that equals an integer that only the run knows: always the same symbol for it.

    `check` takes the integer as int64 when it is first made a size, and returns it, but fails where it is negative.
    """
    known = next((level.counted[number] for level in levels() if number in level.counted), None)
    if known is None:
        known = fresh(number.hint or "count")
        one = Const(np.array([1]))
        wide = number if number.type.dtype == np.int64 else emit("CastLike", [number, one])[0]
        (vector,) = emit("Reshape", [check(wide), one])
        emit("ConstantOfShape", [vector], {"value": np.zeros(1, bool)}, types=[Type(bool, (known,))])
        current().counted[number] = known
    return known


def check_size(dim: Size, check: Callable[[Value], Value]) -> None:
    """Check a size where it is read from now on, unless an array here has it: then it is not negative.

    `check` takes the size as an int64 vector of one element, and returns it, but fails where it is negative.
    """
    if _find_source(_as_held(dim).text) is not None:
        return
    number = size_of(dim)
    if not any(number in level.counted for level in levels()):
        into = current()
        number = into.known[dim.text] = check(number)
        into.counted[number] = dim


def is_readable(dim: Dim) -> bool:
    """Whether a size can be read from values here, or each of its atoms can."""
    if isinstance(dim, int) or _find_known(dim.text) is not None or _find_source(_as_held(dim).text) is not None:
        return True
    match dim.terms:
        case [([str()], 1)]:
            return False
        case [([dims.Call() as atom], 1)]:
            return all(map(is_readable, atom.arguments)) or _from_quotient(atom) is not None
    return all(is_readable(Size((((atom,), 1),))) for monomial, _ in dim.terms for atom in monomial)


def _read(dim: Size) -> Value:
    """Return the size, read from a value that has it or computed from sizes that can be read."""
    dim = _as_held(dim)
    source = _find_source(dim.text)
    if source is not None:
        return _solved(dim, source)
    if dim.symbol is not None:
        raise TraceError(f"the size {dim} cannot be read: no value here has it as a size", place=user_place())
    if not is_readable(dim):
        if (found := _readable_factor(dim)) is not None:
            return emit("Mul", [size_of(found[0]), size_of(found[1])])[0]
        if (part := _readable_part(dim)) is not None:
            return emit("Add", [size_of(part), size_of(dim - part)])[0]
    return _compute(dim)


def _as_held(dim: Size) -> Size:
    """Return the symbol that stands for a long size in the types of values, if one has it; else the size itself."""
    short = dims.abbreviated(dim)
    return short if isinstance(short, Size) and _find_source(short.text) is not None else dim


def _readable_factor(dim: Size) -> tuple[Size, Dim] | None:
    """Return a size of some value that divides this one, and the quotient, which can be read too."""
    for factor in _sizes_here():
        quotient = dims.exact_quotient(dim, factor)
        if quotient is not None and not is_one(quotient) and is_readable(quotient):
            return factor, quotient
    return None


def _readable_part(dim: Size) -> Size | None:
    """Return a size of some value that is part of this sum, such that the rest can be read, or is shorter at least."""
    shorter = None
    for part in _sizes_here():
        rest = dim - part
        if isinstance(rest, int) or is_readable(rest):
            return part
        if shorter is None and len(part.terms) > 1 and len(rest.terms) < len(dim.terms):
            shorter = part
    return shorter


def _sizes_here() -> Iterator[Size]:
    """Yield the sizes of values, and what they can be solved for."""
    for full in [dim_at(source) for level in levels() for source in level.sources.values()]:
        yield from (full, primitive_part(full))


def _find_known(text: str) -> Value | None:
    return next((level.known[text] for level in levels() if text in level.known), None)


def _find_source(name: str) -> Source | None:
    return next((level.sources[name] for level in levels() if name in level.sources), None)


def _solved(dim: Size, source: Source) -> Value:
    """Return the size from an axis that is equal to it, or to `a*dim + b` where dim is its primitive part."""
    var, axis = source
    (value,) = emit("Shape", [var], {"start": axis, "end": axis + 1})
    full = dim_at(source)
    if full.text == dim.text:
        return value
    slope = next(c for m, c in full.terms if m) // dim.terms[0][1]
    offset = next((c for m, c in full.terms if not m), 0)
    (value,) = emit("Sub", [value, Const(np.array([offset]))])
    return emit("Div", [value, Const(np.array([slope]))])[0]


_OPERATORS = {"floordiv": "Div", "max": "Max", "min": "Min", "mod": "Mod"}


def _compute(dim: Size) -> Value:
    total: Value | None = None
    for monomial, coefficient in dim.terms:
        term = _product(monomial, whole=len(dim.terms) == 1 and coefficient == 1)
        if term is None:
            term = Const(np.array([coefficient]))
        elif coefficient != 1:
            term = emit("Mul", [term, Const(np.array([coefficient]))])[0]
        total = term if total is None else emit("Add", [total, term])[0]
    if total is None:
        raise PrimsplitError(f"the size {dim} has no terms")
    return total


def _product(monomial: dims.Monomial, *, whole: bool) -> Value | None:
    """Return the product of atoms, read as one if a value has it as a size; None for no atoms."""
    together = Size(((monomial, 1),))
    if len(monomial) > 1 and not whole and _find_source(_as_held(together).text) is not None:
        return size_of(together)
    result: Value | None = None
    for atom in monomial:
        if isinstance(atom, str):
            factor = size_of(dims.symbol(atom))
        else:
            factor = _call(atom) if whole and len(monomial) == 1 else size_of(Size((((atom,), 1),)))
        result = factor if result is None else emit("Mul", [result, factor])[0]
    return result


def _call(atom: dims.Call) -> Value:
    if atom.function == "broadcast":
        return _with_sizes(functools.reduce(_broadcast, map(size_of, _broadcast_parts(atom))), atom)
    arguments = atom.arguments if is_readable(atom.arguments[0]) else _from_quotient(atom) or atom.arguments
    left, right = map(size_of, arguments)
    if atom.function == "floordiv" and not dims.at_least(arguments[0], 0):
        # Div truncates towards zero; taking the remainder off first makes it a floor.
        left = emit("Sub", [left, emit("Mod", [left, right])[0]])[0]
    return _with_sizes(emit(_OPERATORS[atom.function], [left, right])[0], atom)


def _from_quotient(atom: dims.Call) -> tuple[Dim, int] | None:
    """Return, for `a // (b*d)` where only `(a - b*c) // b` can be read, that plus c, and d, whose quotient it is."""
    if atom.function != "floordiv" or not isinstance(divisor := atom.arguments[1], int):
        return None
    dividend = atom.arguments[0]
    for size, before, step in _quotients():
        added = dims.exact_quotient(dividend - before, step)
        if isinstance(added, int) and divisor % step == 0 < divisor // step:
            return size + added, divisor // step
    return None


def _quotients() -> Iterator[tuple[Size, Dim, int]]:
    """Yield the sizes here that are a size divided by a number, with both."""
    for found in _sizes_here():
        match found:
            case Size(terms=[([dims.Call("floordiv", (dividend, int(divisor)))], 1)]) as size:
                yield size, dividend, divisor


def _broadcast_parts(atom: dims.Call) -> Iterable[Dim]:
    """Return sizes that broadcast to this one: its arguments, or for unreadable ones broadcasts that can be read."""
    parts = [a if is_readable(a) else _made_with_others(a, atom) for a in atom.arguments]
    return {str(part): part for part in parts}.values()


def _made_with_others(argument: Dim, atom: dims.Call) -> Dim:
    """Return a readable size that is a broadcast of this argument and others of the atom's; else the argument."""
    wanted = {str(a) for a in atom.arguments}
    for size in (dims.parse(name) for level in levels() for name in level.sources):
        if str(argument) in {str(part) for part in dims.broadcast_arguments(size)} <= wanted:
            return size
    return argument


def _broadcast(left: Value, right: Value) -> Value:
    return emit("Where", [emit("Equal", [left, Const(np.array([1]))])[0], right, left])[0]


def _with_sizes(value: Value, atom: dims.Call) -> Value:
    """Mark the value as the size of the atom, and return it."""
    if isinstance(value, Var):
        value.sizes = (Size((((atom,), 1),)),)
    return value

"""Substitutes for functions of NumPy that do not dispatch on all arguments that may be traced."""

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from primsplit import tracing
from primsplit.frontends.python.overrides.grids import Grid, from_function, indices
from primsplit.frontends.python.overrides.plain_arrays import noted, writable
from primsplit.frontends.python.overrides.table import ModuleSubstitute, Substitute, holds_array, register, when_traced
from primsplit.ir.dims import broadcast_shapes
from primsplit.ir.errors import UnsupportedFunction
from primsplit.numpy import creation, diagonals, frequencies, spaces, strided
from primsplit.numpy.converted_run import expects_writes, is_converted, known_arrays, running_plainly
from primsplit.numpy.failing import finite
from primsplit.numpy.layout import as_shape
from primsplit.numpy.windows import WINDOWS
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.asarray import array_held, holds_traced
from primsplit.tracing.complex_array import ComplexArray
from primsplit.tracing.handles.methods import called
from primsplit.tracing.undo_log import note

Function = Callable[..., Any]


def _unlike(traced: Function) -> Function:
    """Return the function with an ignored argument `like`, by which NumPy selects the implementation."""

    def call(*args: Any, like: Any = None, **options: Any) -> Any:
        return traced(*args, **options)

    return call


def _of_held(make: Function) -> Function:
    """Return a function that creates an array of any object; of a user's object, from the traced array it provides."""

    def call(x: Any, *args: Any, **options: Any) -> Any:
        held = array_held(x)
        return make(x if held is None else held, *args, **options)

    return call


def _maker(original: Function, traced: Function) -> Function:
    """Return a function that creates arrays to write to; a known array that NumPy does not copy is returned itself."""

    def make(*args: Any, **options: Any) -> Any:
        if any(map(holds_traced, (*args, *options.values()))):
            return called(traced, original, args, options)
        created = original(*args, **options)
        source = args[0] if args else None
        if type(source) is np.ndarray and np.may_share_memory(created, source) and created.shape == source.shape:
            return source
        return writable(created) if expects_writes() else noted(created, (args, options))

    return make


JOINING: frozenset[Function] = frozenset({
    np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack, np.block, np.select, np.piecewise,
    np.linalg.multi_dot, np.lexsort, np.choose,
})  # fmt: skip
"""Functions of lists of arrays, which dispatch on the elements; the nesting matters to np.block."""


def _of_lists(original: Function) -> Function:
    """Return a function of lists of arrays that accepts lists of traced numbers as arrays."""

    def call(*args: Any, **options: Any) -> Any:
        result = original(*map(_joined_inside, args), **{n: _joined_inside(v) for n, v in options.items()})
        return noted(result, (args, options))

    return original if original is np.block else call


class _UfuncSubstitute(Substitute):
    """A ufunc whose methods also accept lists with traced numbers."""

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.original, name)
        if not is_converted() or not callable(method):
            return method
        return _at(method) if name == "at" else listing(method)


def _at(original: Function) -> Function:
    """Return `ufunc.at`, for which a tuple of indices is no list of numbers."""

    def call(x: Any, key: Any, *operands: Any) -> None:
        note(x)
        indices = _joined_inside(key) if isinstance(key, tuple) else _joined(key)
        original(x, indices, *map(_joined, operands))

    return call


WRITING = frozenset({np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask})
"""Functions that write to their first argument."""


_known_places: WeakKeyDictionary[Function, float] = WeakKeyDictionary()
"""The positions by function. Weak: a substitute holds a whole conversion, and with it the user's function."""


def place_of_out(function: Function) -> float:
    """Return the position of the argument that the function writes to; infinity if there is none."""
    if isinstance(function, np.ufunc):
        return int(function.nin)
    try:
        found = _known_places.get(function)
    except TypeError:  # a function in C that cannot be held weakly
        return _place_of_out(function)
    if found is None:
        found = _known_places[function] = _place_of_out(function)
    return found


def _place_of_out(function: Function) -> float:
    if function in WRITING:
        return 0
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a function in C may have no signature
        return math.inf
    names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    return names.index("out") if "out" in names else math.inf


_ORDERS = frozenset("FAKfak")


def listing(original: Function) -> Function:
    """Return a function of arrays that also accepts lists with traced numbers."""

    def call(*args: Any, **options: Any) -> Any:
        args = tuple(map(_joined, args))
        options = {n: v if n == "out" else _joined(v) for n, v in options.items()}
        arrays = [v for v in (*args, *options.values()) if isinstance(v, Array)]
        is_written = "out" in options or len(args) > place_of_out(original)
        note(options.get("out"))
        # For arrays in another memory order, the array itself decides whether a result is a view.
        is_turned = any(v in _ORDERS for v in (*args, *options.values()) if isinstance(v, str)) and not all(
            a.contiguous or a.ndim < 2 for a in arrays
        )
        is_apart = is_written or is_turned or "copy" in options
        known = known_arrays(arrays) if arrays and not is_apart else None
        if known is None:
            result = original(*args, **options)
            return result if is_written else noted(result, (args, options))
        numbers = {id(a): k for a, k in zip(arrays, known, strict=True)}
        plain = original(
            *(numbers.get(id(a), a) for a in args), **{n: numbers.get(id(v), v) for n, v in options.items()}
        )
        if _is_view(plain, known):
            return _known_views(original(*args, **options), plain)
        return type(plain)(_like(p, arrays) for p in plain) if type(plain) in {tuple, list} else _like(plain, arrays)

    return call


def _is_view(found: Any, given: Sequence[Any]) -> bool:
    """Whether a result, or an array in it, shares the memory of an argument."""
    parts = found if isinstance(found, tuple | list) else (found,)
    return any(np.may_share_memory(p, g) for p in parts for g in given if isinstance(p, np.ndarray))


def _known_views(views: Any, plain: Any) -> Any:
    """Return traced views of known arrays, with the numbers of NumPy's views."""
    if isinstance(views, tuple | list):
        return type(views)(_known_views(v, p) for v, p in zip(views, plain, strict=True))
    return views.holding(tracing.constant(plain)) if type(views) is Array else views


def _like(plain: Any, arrays: Sequence[Array]) -> Any:
    """Return NumPy's result for known arrays as a traced array, which notes whether it is contiguous."""
    array = writable(plain)
    if isinstance(array, Array):
        array.contiguous = array.ndim < 2 or all(a.contiguous or a.ndim < 2 for a in arrays)
    return array


def _sized(original: Function) -> Function:
    """Return a function of arrays and sizes that accepts lists with traced numbers, and traced sizes."""
    of_arrays = listing(original)

    def call(*args: Any, **options: Any) -> Any:
        is_sized = any(holds_traced(v) and not holds_array(v) for v in (*args, *options.values()))
        if not is_sized:
            return of_arrays(*args, **options)
        return FUNCTIONS[original](*map(_joined, args), **options)

    return call


def _joined(value: Any) -> Any:
    return FUNCTIONS[np.asarray](value) if isinstance(value, list | tuple) and holds_array(value) else value


def _joined_inside(value: Any) -> Any:
    return type(value)(map(_joined, value)) if type(value) in {list, tuple} else value


class _Rows:
    """`np.r_` and `np.c_` of traced arrays: concatenates pieces along an axis.

    `placed` is NumPy's string before the pieces: the axis, the least number of axes of a piece, and the position of its
    own axes among these; -1 is the last.
    """

    def __init__(self, original: Any, placed: str) -> None:
        self.original = original
        self.placed = placed

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if not holds_array(parts):
            return noted(self.original[key], parts)
        arrays = [p for p in parts if isinstance(p, Array)]
        known = known_arrays(arrays)
        if known is not None and len(arrays) == sum(map(holds_array, parts)):
            numbers = iter(known)
            return _like(self.original[tuple(next(numbers) if isinstance(p, Array) else p for p in parts)], arrays)
        text, *rest = parts if isinstance(parts[0], str) else (self.placed, *parts)
        axis, least, place = self._read(text)
        joined = [_with_axes(_piece(p), least, place) for p in rest]
        operands = [p if type(p) in {bool, int, float} else j for p, j in zip(rest, joined, strict=True)]
        wide = FUNCTIONS[np.result_type](*operands)
        return FUNCTIONS[np.concatenate](joined, axis=axis, dtype=wide)

    def _read(self, text: str) -> tuple[int, int, int]:
        own = text.split(",")
        try:
            axis, least, place = map(int, [*own, *self.placed.split(",")[len(own) :]])
        except ValueError:
            raise UnsupportedFunction(
                f"{text!r} in np.r_ or np.c_ has no form for traced arrays",
                place=tracing.user_place(),
                cure="Use np.concatenate or np.stack.",
            ) from None
        return axis, least, place


def _piece(part: Any) -> Any:
    """Return a piece of np.r_ as an array; a slice becomes a range."""
    return FUNCTIONS[np.asarray](part) if holds_array(part) else np.r_[part]


def _with_axes(array: Any, least: int, place: int) -> Any:
    """Return the array with at least `least` axes; new axes of size 1 stand before and after its own."""
    new = least - np.ndim(array)
    if new <= 0:
        return array
    before = place if place >= 0 else place + new + 1
    if not 0 <= before <= new and np.ndim(array):
        raise ValueError("axes don't match array")
    return array[(*(None,) * before, ..., *(None,) * (new - before))] if np.ndim(array) else array[(None,) * new]


def _enumerated(x: Any) -> Any:
    """Return `np.ndenumerate(x)`."""
    return ((i, x[i]) for i in np.ndindex(*x.shape)) if isinstance(x, Array) else np.ndenumerate(x)


def _from_iterable(values: Iterable[Any], dtype: Any, count: int = -1) -> Any:
    listed = [v for _, v in zip(range(count), values, strict=False)] if count >= 0 else list(values)
    return creation.array(listed, dtype) if holds_traced(listed) else writable(np.array(listed, dtype))


MADE: dict[Function, Function] = {
    **{
        f: FUNCTIONS[f]
        for f in (np.zeros, np.ones, np.empty, np.full, np.array, np.eye, np.identity, np.full_like)
    },
    **{f: listing(f) for f in (np.zeros_like, np.ones_like, np.empty_like, np.copy, np.diag)},
    np.tile: _sized(np.tile),
}  # fmt: skip
"""Functions that create arrays to write to, and their forms for traced arguments."""


_DEFINED: dict[Function, Function] = {np.empty: np.zeros, np.empty_like: np.zeros_like}
"""Functions with the same elements in each run, in place of those that leave memory uninitialized."""


def _of_finite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """Return `np.asarray_chkfinite(a)`: a run with NaN or infinity fails."""
    return finite(FUNCTIONS[np.asarray](a, dtype))


TAKING: dict[Function, Function] = {
    np.arange: creation.arange, np.linspace: creation.linspace, np.logspace: spaces.logspace,
    np.geomspace: spaces.geomspace, np.tri: creation.tri, np.asarray_chkfinite: _of_finite,
    **{f: FUNCTIONS[f] for f in (np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray)},
    np.require: lambda a, dtype=None, requirements=None: FUNCTIONS[np.asarray](a, dtype),
    **{f: FUNCTIONS[f] for f in (np.take, np.repeat, np.pad, np.insert, np.roll, np.poly)},
    **{f: FUNCTIONS[f] for f in (np.histogram, np.histogram_bin_edges, np.histogram2d, np.histogramdd)},
    **{f: _sized(f) for f in (np.broadcast_to, np.resize)}, np.indices: indices, np.fromfunction: from_function,
    np.unravel_index: FUNCTIONS[np.unravel_index], np.ravel_multi_index: FUNCTIONS[np.ravel_multi_index],
    np.broadcast_shapes: lambda *shapes: broadcast_shapes(*map(as_shape, shapes)),
    np.triu_indices: diagonals.triu_indices, np.tril_indices: diagonals.tril_indices,
    np.diag_indices: diagonals.diag_indices,
    np.lib.stride_tricks.as_strided: strided.as_strided, np.interp: FUNCTIONS[np.interp],
    **WINDOWS, np.fft.fftfreq: frequencies.fftfreq, np.fft.rfftfreq: frequencies.rfftfreq,
}  # fmt: skip
"""Functions that accept traced arguments on which NumPy does not dispatch."""


def _taking(original: Function, traced: Function) -> Substitute:
    """Return a substitute for a function whose first argument, and in some cases the second, NumPy dispatches on."""
    substitute = when_traced(original, traced, noted)
    if type(original) is not type(np.sum):
        return substitute
    count = 2 if original in _OF_TWO else 1

    def call(*args: Any, **options: Any) -> Any:
        is_numpys = any(isinstance(a, Array | ComplexArray) for a in args[:count])
        return (original if is_numpys else substitute.traced)(*args, **options)

    return Substitute(original, call)


_OF_TWO = frozenset({np.linspace, np.logspace, np.geomspace})

SPLITTING: tuple[Function, ...] = (np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit)
"""Functions that accept a list of places, which is no array of numbers."""


def _splitting(original: Function) -> Function:
    def call(x: Any, places: Any, *args: Any, **options: Any) -> Any:
        return noted(original(_joined(x), places, *args, **options), (x,))

    return call


HELD: tuple[Function, ...] = (np.array, np.asarray, np.asanyarray, np.ascontiguousarray)
"""Functions that create an array of any object that provides one."""

MODULES = (np, np.linalg, np.fft, np.lib, np.lib.stride_tricks)


def _plain(original: Function) -> Function:
    """Return a function of known numbers, which works on arrays that it creates."""

    def call(*args: Any, **options: Any) -> Any:
        with running_plainly():
            results = original(*args, **options)
        return tuple(map(writable, results))

    return call


RULES: tuple[Function, ...] = (
    np.polynomial.chebyshev.chebgauss, np.polynomial.hermite.hermgauss, np.polynomial.hermite_e.hermegauss,
    np.polynomial.laguerre.laggauss, np.polynomial.legendre.leggauss,
)  # fmt: skip
"""Functions that return the points and weights of Gaussian quadrature for a known number of points."""


SPECIAL: tuple[Function, ...] = (np.i0,)
"""NumPy's special functions: the modules that record them are imported when they are called."""


def _register_all() -> None:
    dispatched = [f for f in (*FUNCTIONS.registered(), *SPECIAL) if callable(f) and f not in JOINING]
    ufuncs = [v for v in vars(np).copy().values() if isinstance(v, np.ufunc)]
    table: dict[Any, Any] = {module: ModuleSubstitute(module) for module in MODULES}
    table |= {f: Substitute(f, listing(f)) for f in dispatched}
    table |= {f: Substitute(f, _of_lists(f)) for f in JOINING}
    table |= {f: _UfuncSubstitute(f, listing(f)) for f in ufuncs}
    table |= {f: Substitute(f, _maker(_DEFINED.get(f, f), _unlike(traced))) for f, traced in MADE.items()}
    table |= {f: _taking(f, _unlike(traced)) for f, traced in TAKING.items()}
    table |= {f: Substitute(f, _splitting(f)) for f in SPLITTING}
    table |= {f: Substitute(f, _of_held(table[f].traced)) for f in HELD}
    table |= {f: Substitute(f, _plain(f)) for f in RULES}
    table |= {
        np.ndenumerate: Substitute(np.ndenumerate, _enumerated),
        np.fromiter: Substitute(np.fromiter, _from_iterable),
    }
    for original, substitute in table.items():
        register(original, substitute)
    for rows, placed in ((np.r_, "0,1,-1"), (np.c_, "-1,2,0")):
        register(rows, Substitute(rows, _Rows(rows, placed)))
    for grid in (np.mgrid, np.ogrid):
        register(grid, Substitute(grid, Grid(grid)))


_register_all()

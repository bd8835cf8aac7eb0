"""Makes a nest a function of arrays: `loops`. onnxruntime runs it; in a trace it is one op with the nest's own rule."""

import functools
import inspect
import operator
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.loops.building import arrays_of, index_arrays
from primsplit.frontends.loops.derivation import Derivation, derive
from primsplit.frontends.loops.interpreter import interpret
from primsplit.frontends.loops.listing import list_derivation, list_gradient, list_nest
from primsplit.frontends.loops.loopset import LoopSet
from primsplit.frontends.loops.lowering import lower
from primsplit.frontends.loops.notation import parse_notation
from primsplit.frontends.loops.python_nest import outside, parse_function
from primsplit.frontends.loops.sizes import Sizes, check, sizes_of
from primsplit.ir.analysis import costs
from primsplit.ir.dims import Shape, broadcast_shapes
from primsplit.ir.errors import DtypeError, InterpretedNestWarning, PrimsplitError, SpecError, UnsupportedFunction
from primsplit.numpy.ufuncs import cast_to
from primsplit.programs.compiled import Compiled
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import expand_to, ones_like
from primsplit.tracing.calls.primitive import Primitive
from primsplit.tracing.functionlike import remade, require_function
from primsplit.transforms import vector_jacobian

Function = Callable[..., Any]


class Nest(Primitive):
    """A loop nest as a function; see `loops`. `loopset` is what it was read as."""

    def __init__(self, loopset: LoopSet, functions: Mapping[str, Function], signature: inspect.Signature) -> None:
        lowered = _Lowered(loopset, functions, tuple(signature.parameters))
        super().__init__(lowered, lowered.__name__)
        self.loopset = loopset
        self.lowered = lowered
        self.__signature__ = signature
        self.__name__ = self.__qualname__ = self.name
        self.rule = _Rule(lowered)
        self.compiled = _Runs(super().__call__, lowered)

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments."""
        return self.lowered.names

    def depends_on(self) -> tuple[Any, ...]:
        """The nest, and the functions that it calls."""
        return self.lowered.depends_on()

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Become part of the program being traced, or run on arrays by onnxruntime."""
        given = args if len(args) == len(self.names) and not named else self._bound(args, named)
        values = [self._argument(name, value) for name, value in zip(self.names, given, strict=True)]
        try:
            return self.compiled(*values)
        except UnsupportedFunction as error:
            if tracing.is_recording():
                raise
            told = f"{self.name} runs in Python, one element after the other: {error.what}"
            warnings.warn(told, InterpretedNestWarning, stacklevel=2)
        arrays = {name: value for name, value in zip(self.names, values, strict=True) if name in self.lowered.ranks}
        sizes = self.lowered.sizes({name: np.shape(value) for name, value in arrays.items()}, arrays)
        return _result(interpret(self.loopset, arrays, sizes=sizes, functions=self.lowered.functions.own))

    def _bound(self, args: tuple[Any, ...], named: dict[str, Any]) -> Sequence[Any]:
        """The arguments in the order of the signature."""
        try:
            bound = self.__signature__.bind(*args, **named)
        except TypeError as error:
            told = f"{self.name}({', '.join(self.names)}): {error}"
            raise SpecError(told, place=tracing.user_place()) from None
        bound.apply_defaults()
        return list(bound.arguments.values())

    def _argument(self, name: str, value: Any) -> Any:
        """An argument as the nest takes it: an array, or a whole number of Python's."""
        if name not in self.loopset.integers:
            if not isinstance(value, list | tuple | int):
                return value
            return array_like(value) if tracing.is_recording() else np.asarray(value)
        if isinstance(value, Array) and value.known() is None:
            raise DtypeError(
                f"{name} is known only at run time, and the loops and indices of {self.name} depend on it",
                place=tracing.user_place(),
                cure="Pass a Python int.",
            )
        try:
            return operator.index(value.item() if isinstance(value, Array | np.ndarray) else value)
        except TypeError:
            raise DtypeError(f"{name} is a whole number, not {value!r}", place=tracing.user_place()) from None

    def derive(self, tracked: Collection[str] | str | None = None, *, threshold: float = costs.THRESHOLD) -> Derivation:
        """The nest's derivative with respect to some arguments, by name; by default to all arrays of real numbers.

        What costs less than `threshold` is computed again rather than kept: 0 keeps all that is not read from an array.
        """
        return derive(self.loopset, self._tracked(tracked), threshold=threshold)

    def _tracked(self, tracked: Collection[str] | str | None) -> frozenset[str]:
        """The arguments of these names; of all but whole numbers and arrays that indices are read from, for None."""
        arrays = [name for name in self.lowered.ranks if name not in self.loopset.integers]
        if tracked is None:
            picking = index_arrays(self.loopset)
            return frozenset(name for name in arrays if name not in picking)
        wanted = {tracked} if isinstance(tracked, str) else set(tracked)
        if unknown := sorted(wanted - set(arrays)):
            told = f"{self.name} has no array {', '.join(unknown)}"
            raise SpecError(told, because=(f"its arrays are {', '.join(arrays)}",))
        return frozenset(wanted)

    def listing(self, tracked: Collection[str] | str | None = None, *, threshold: float = costs.THRESHOLD) -> str:
        """The nest, one operation a line; with `tracked`, its derivative with respect to these arguments too.

        `threshold` is that of `derive`.
        """
        return (
            list_nest(self.loopset) if tracked is None else list_derivation(self.derive(tracked, threshold=threshold))
        )

    def gradient_listing(self, tracked: Collection[str] | str | None = None) -> str:
        """List each argument's cotangent from the results' cotangents, `d_y` of `y`, in one expression if possible.

        That is the reverse nest for reading: it computes all again that `derive` may keep.
        """
        return list_gradient(self.loopset, self._tracked(tracked))


class _Runs(Compiled):
    """The programs by which a nest runs on arrays. They trace a call of it, which counts as no trace."""

    counted = False


def _result(results: Mapping[str, Any]) -> Any:
    """The result of a nest: its array, or a tuple of them."""
    found = tuple(results.values())
    return found[0] if len(found) == 1 else found


class _Lowered:
    """A nest as a function of traced arrays."""

    def __init__(self, loopset: LoopSet, functions: Mapping[str, Function], names: Sequence[str]) -> None:
        self.loopset = loopset
        self.ranks = dict(loopset.arguments)
        self.functions = _Functions(functions)
        self.names = tuple(names)
        self.told = repr(loopset)
        self.__name__ = loopset.name or "nest"

    def depends_on(self) -> tuple[Any, ...]:
        """The nest, and the functions that it calls."""
        return self.told, self.names, tuple(self.functions.own.items())

    def __call__(self, *values: Any) -> Any:
        arrays, sizes = self.opened(values)
        return _result(lower(self.loopset, arrays, sizes, self.functions))

    def opened(self, values: Sequence[Any]) -> tuple[dict[str, Array], Sizes]:
        """The arrays by name, and the sizes of the nest for them. Raises ShapeError and IndexingError."""
        given = {name: value for name, value in zip(self.names, values, strict=True) if name in self.ranks}
        arrays = {name: array_like(value) for name, value in given.items() if name not in self.loopset.integers}
        return arrays, self.sizes({name: array.shape for name, array in arrays.items()}, given)

    def sizes(self, shapes: Mapping[str, Shape], given: Mapping[str, Any]) -> Sizes:
        """The sizes of the nest for arrays of these shapes and the whole numbers that are given."""
        integers = {name: given[name] for name in self.loopset.integers}
        try:
            return check(self.loopset, {**shapes, **dict.fromkeys(integers, ())}, integers)
        except PrimsplitError as error:
            error.place = error.place or tracing.user_place()
            raise


class _Rule:
    """The reverse rule of a nest: its forward nest, which keeps what the reverse nest reads, and that nest."""

    def __init__(self, lowered: _Lowered) -> None:
        self.lowered = lowered
        self.__name__ = f"{lowered.__name__}_reverse"
        self.derivations: dict[frozenset[str], Derivation] = {}

    def depends_on(self) -> tuple[Any, ...]:
        """The nest, and the functions that it calls."""
        return self.lowered.depends_on()

    def __call__(self, *values: Any) -> tuple[Any, Function]:
        arrays, sizes = self.lowered.opened(values)
        tracked = frozenset(name for name, array in arrays.items() if array.type.is_float)
        found = self.derivations.get(tracked)
        if found is None:
            found = self.derivations[tracked] = derive(self.lowered.loopset, tracked)
        derivation, functions, names = found, self.lowered.functions, self.lowered.names
        kept = lower(derivation.forward, arrays, sizes_of(derivation.forward, sizes.shapes, sizes.integers), functions)
        versions = {version: kept[name] for name, version in derivation.forward.results}
        results = {name: kept[name] for name, _ in self.lowered.loopset.results}

        def pullback(cotangent: Any) -> tuple[Array | None, ...]:
            cotangents = dict(zip(results, cotangent if len(results) > 1 else (cotangent,), strict=True))
            given = {name: cotangents[result] for result, name in derivation.cotangents}
            known = {**arrays, **versions, **given}
            shapes = {**sizes.shapes, **{name: array.shape for name, array in known.items()}}
            found = lower(derivation.reverse, known, sizes_of(derivation.reverse, shapes, sizes.integers), functions)
            gradients = {name: found[gradient] for name, gradient in derivation.gradients}
            return tuple(_as(gradients[name], arrays[name]) if name in gradients else None for name in names)

        return _result(results), pullback


def _as(gradient: Array, argument: Array) -> Array:
    """The gradient in the dtype of its argument."""
    return cast_to(gradient, argument.dtype)


class _Functions(Mapping[str, Function]):
    """The user's scalar functions by name, and their derivatives: those of `softplus` are called `softplus'0`."""

    def __init__(self, own: Mapping[str, Function]) -> None:
        self.own = dict(own)

    def __getitem__(self, name: str) -> Function:
        function, mark, argument = name.rpartition("'")
        return _derivative(self[function], int(argument)) if mark else self.own[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.own)

    def __len__(self) -> int:
        return len(self.own)


def _derivative(function: Function, argument: int) -> Function:
    """The derivative of a scalar function with respect to one argument, on arrays."""

    def derived(*arrays: Array) -> Any:
        shape = broadcast_shapes(*(array.shape for array in arrays))
        value, pullback = vector_jacobian(function, [expand_to(array, shape) for array in arrays], {}, argument)
        return pullback(ones_like(value))

    return derived


@remade
def loops(nest: str | Function, *, functions: Mapping[str, Function] | None = None, name: str = "") -> Nest:
    """A loop nest as a function: of index notation, `"C[m,n] := A[m,k] * B[k,n]"`, or of a Python function of loops.

    On arrays it runs by onnxruntime, as ONNX operators: sums of products are MatMul, windows Conv, shifts Slice. In a
    traced function it is one op, and its derivative is a nest again, see `.derive(tracked)` and `.listing(tracked)`.
    Its arguments are the arrays that it reads in the order of their appearance, then those that it only writes to, then
    whole numbers; those of a Python function are its own. It returns the array that it makes or changes, or a tuple of
    them, and changes none of its arguments. May be used as a decorator.

    `functions` are scalar functions by name, written with NumPy, beside those that nests know; a Python function has
    those that it sees. Raises ParseError for a nest that cannot be read, ShapeError and IndexingError where arrays do
    not fit it, UnsupportedFunction in a trace where it has no form in ONNX. Outside of a trace it is then run in
    Python, with an InterpretedNestWarning.

    >>> distances = ps.loops("d[i,j] := (x[i,k] - y[j,k]) ** 2")
    >>> distances(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 0.0]])).tolist()
    [[1.0], [1.0]]
    """
    if isinstance(nest, str):
        read = parse_notation(nest, functions=functions or (), name=name)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return Nest(
            read, functions or {}, inspect.Signature([inspect.Parameter(n, kind) for n in argument_names(read)])
        )
    require_function(nest)
    seen = {key: value for key, value in outside(nest).items() if isinstance(value, FunctionType | Primitive)}
    known = {**seen, **(functions or {})}
    made = Nest(parse_function(nest, functions=known), known, inspect.signature(nest))
    functools.update_wrapper(made, nest, updated=())
    return made


def argument_names(nest: LoopSet) -> tuple[str, ...]:
    """The arguments: those that are read in that order, those that are only written to, and whole numbers."""
    read = [a for line in nest.operations if line.kind == "load" and line.reference for a in arrays_of(line.reference)]
    given = [name for name, _ in nest.arguments if name not in nest.integers]
    return (*dict.fromkeys([*(name for name in read if name in given), *given]), *nest.integers)

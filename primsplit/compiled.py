"""Traced functions called on arrays: traced once per signature, kept, and run by onnxruntime."""

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing, trees
from primsplit.array import Array
from primsplit.fingerprint import Same, fingerprint
from primsplit.program import Program, trace_program
from primsplit.rules.table import Epoch
from primsplit.specs import leaf_type
from primsplit.transforms import value_and_gradient, vector_jacobian
from primsplit.transforms.gradient import Wrt

Function = Callable[..., Any]
CACHE_SIZE = 256


class Compiled:
    """A function that records itself while another function is traced, and else runs as a cached Program."""

    def __init__(self, record: Function, of: Function) -> None:
        functools.update_wrapper(self, of, updated=())
        self.record = record
        self.of = of
        self.programs: OrderedDict[Any, Program] = OrderedDict()

    def __call__(self, *args: Any, **named: Any) -> Any:
        if tracing.is_recording():
            return self.record(*args, **named)
        return self.program(*args, **named)(*args, **named)

    def depends_on(self) -> tuple[Any, ...]:
        """Which transform of which function it is; not the programs made so far."""
        return Same(self.record), self.of

    def program(self, *args: Any, **named: Any) -> Program:
        """The program for these arguments' dtypes and shapes, the static ones' values, and what the function reads."""
        leaves, spec = trees.flatten((args, named))
        key = (spec, tuple(map(_leaf_key, leaves)), fingerprint(self.of), Epoch.count)
        known = self.programs.get(key)
        if known is None:
            known = trace_program(self.record, args, named, name=getattr(self.of, "__name__", ""))
            self.programs[key] = known
            if len(self.programs) > CACHE_SIZE:
                self.programs.popitem(last=False)
        self.programs.move_to_end(key)
        return known


def _leaf_key(leaf: Any) -> Any:
    found = leaf_type(leaf)
    if found is None:
        return fingerprint(leaf)
    return found.key, isinstance(leaf, float) and not isinstance(leaf, np.generic)


def value_and_grad(function: Function, wrt: Wrt = 0, *, has_aux: bool = False) -> Compiled:
    """The function that returns `(f(*args), gradient)`.

    `wrt` names the arguments to differentiate, by position or keyword: one, or several for a tuple of gradients.
    `f` returns a floating-point scalar, or with `has_aux` a pair of it and anything. Each gradient has the structure,
    shapes and dtypes of its argument. Raises DtypeError for an argument that is not floating point, ShapeError for a
    result that is no scalar, MissingRule where an operator has no derivative.
    """

    def value_and_gradient_of(*args: Any, **named: Any) -> Any:
        return value_and_gradient(function, args, named, wrt, has_aux=has_aux)

    return Compiled(value_and_gradient_of, function)


def grad(function: Function, wrt: Wrt = 0, *, has_aux: bool = False) -> Compiled:
    """The gradient of a scalar function; with `has_aux`, the pair of gradient and aux. See `value_and_grad`."""

    def gradient_of(*args: Any, **named: Any) -> Any:
        value, gradient = value_and_gradient(function, args, named, wrt, has_aux=has_aux)
        return (gradient, value[1]) if has_aux else gradient

    return Compiled(gradient_of, function)


def vjp(function: Function, *args: Any, wrt: Wrt | None = None, **named: Any) -> tuple[Any, Function]:
    """`f(*args)` and its pullback: a function from a cotangent of the result to those of the arguments.

    By default the cotangents of all positional arguments, as a tuple. The pullback may be called repeatedly.
    """
    asked: Wrt = tuple(range(len(args))) if wrt is None else wrt
    if tracing.is_recording():
        return vector_jacobian(function, args, named, asked)
    leaves, _ = trees.flatten((args, named))
    if any(isinstance(x, Array) for x in leaves):
        return vector_jacobian(function, args, named, asked)
    primal, pulled = _vjp_programs(Same(function), asked if isinstance(asked, int | str) else tuple(asked))
    return primal(*args, **named), lambda cotangent: pulled(cotangent, *args, **named)


@functools.lru_cache(CACHE_SIZE)
def _vjp_programs(of: Same, wrt: Wrt) -> tuple[Compiled, Compiled]:
    """The function, and its pullback as a function of the cotangent and the arguments, each traced once a signature."""
    function: Function = of.value

    def pulled(cotangent: Any, *args: Any, **named: Any) -> Any:
        _, pullback = vector_jacobian(function, args, named, wrt)
        return pullback(cotangent)

    return Compiled(function, function), Compiled(pulled, function)

"""Traced functions called on arrays: traced once per signature, kept, and run by onnxruntime."""

import functools
import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit import tracing, trees
from primsplit.array import Array
from primsplit.errors import BranchError
from primsplit.fingerprint import Same, fingerprint
from primsplit.program import Branches, Program, trace_program
from primsplit.rules.table import Epoch
from primsplit.specs import leaf_type
from primsplit.transforms import value_and_gradient, vector_jacobian
from primsplit.transforms.gradient import Wrt
from primsplit.transforms.vmap import Axes, batched_call

Function = Callable[..., Any]
CACHE_SIZE = 256


@dataclass
class Statistics:
    """How often a call found its program, and how often it had to be recorded."""

    hits: int = 0
    misses: int = 0


class Compiled:
    """A function that records itself while another function is traced, and else runs as a cached Program.

    Threads may call it at the same time: one of them traces, and onnxruntime runs one session for all of them.
    """

    def __init__(self, record: Function, of: Function) -> None:
        functools.update_wrapper(self, of, updated=())
        self.record = record
        self.of = of
        self.programs: OrderedDict[Any, Program] = OrderedDict()
        self.statistics = Statistics()
        self.lock = threading.RLock()

    def __call__(self, *args: Any, **named: Any) -> Any:
        if tracing.is_recording():
            return self.record(*args, **named)
        attempt = 0
        while True:
            try:
                return self._program(args, named, attempt)(*args, **named)
            except BranchError:
                if self.guard_value(args, named) is not BY_BRANCHES:
                    raise
            attempt += 1

    def run_into(self, out: Any, *args: Any, **named: Any) -> Any:
        """Run on arrays and write the results into `out`; see `Program.run_into`."""
        return self.program(*args, **named).run_into(out, *args, **named)

    def depends_on(self) -> tuple[Any, ...]:
        """Which transform of which function it is; not the programs made so far."""
        return Same(self.record), self.of

    def program(self, *args: Any, **named: Any) -> Program:
        """The program for these arguments' dtypes and shapes, the static ones' values, and what the function reads."""
        return self._program(args, named, 0)

    def _program(self, args: tuple[Any, ...], named: dict[str, Any], attempt: int) -> Program:
        """The program recorded first, second and so on for arguments like these; by its branches there are several."""
        leaves, spec = trees.flatten((args, named))
        guard = self.guard_value(args, named)
        key = (spec, tuple(map(_leaf_key, leaves)), fingerprint(self.of), Epoch.count, attempt, guard)
        with self.lock:
            known = self.programs.get(key)
            if known is None:
                self.statistics.misses += 1
                branches: Branches = "explore" if guard is None else "static"
                name = getattr(self.of, "__name__", "")
                like = self.of if _takes(self.of, len(args)) else None
                known = trace_program(self.record, args, named, name=name, branches=branches, named_like=like)
                self.programs[key] = known
                if len(self.programs) > CACHE_SIZE:
                    self.programs.popitem(last=False)
            else:
                self.statistics.hits += 1
            self.programs.move_to_end(key)
        return known

    def guard_value(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What the guard of a guarded function says of these arguments; None where there is no guard."""
        return self.of.guard_value(args, named) if isinstance(self.of, Compiled) else None


def _takes(function: Function, count: int) -> bool:
    """True for a function with names for so many positional arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return sum(p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD} for p in parameters) >= count


BY_BRANCHES = "by its branches"
"""The guard of a function that is recorded for each way through its branches."""


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


def vmap(function: Function, in_axes: Axes = 0, out_axes: Axes = 0) -> Compiled:
    """The function of a batch: `f` of each example, stacked, in one program without a loop over the examples.

    `in_axes` says along which axis the examples of each positional argument lie: one axis for all, or a tuple with one
    entry an argument, nested like the arguments where they are; None is for what all examples share. Keyword arguments
    are mapped over axis 0. `out_axes` says where the axis goes in the results. The batch may have any size, 0 and 1
    included, and a size that only the run knows. Raises ShapeError where the sizes of the mapped axes may differ, or
    where the examples would differ in shape, SpecError for axes that do not fit the arguments.
    """

    def batch_of(*args: Any, **named: Any) -> Any:
        return batched_call(function, args, named, in_axes, out_axes)

    return Compiled(batch_of, function)


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

"""Traced functions called on arrays: traced once per signature, kept, and run by onnxruntime."""

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit import tracing, trees
from primsplit.array import Array
from primsplit.errors import BranchError
from primsplit.fingerprint import Same, fingerprint, watched_fingerprint
from primsplit.functionlike import FunctionLike, remade, require_function
from primsplit.limited import Limited, Recent
from primsplit.once import Turns
from primsplit.programs.program import Program
from primsplit.programs.trace_program import Branches, trace_program
from primsplit.rules.table import Epoch
from primsplit.specs import leaf_type
from primsplit.transforms import value_and_gradient, vector_jacobian
from primsplit.transforms.gradient import Wrt
from primsplit.transforms.vmap import Axes, batched_call
from primsplit.unchanged import Unchanged

Function = Callable[..., Any]
CACHE_SIZE = 256


@dataclass
class Statistics:
    """How often a call found its program, and how often it had to be recorded."""

    hits: int = 0
    misses: int = 0


@dataclass(slots=True)
class Known:
    """What the function reads, as long as that is `unchanged`, and the programs that calls found by their looks."""

    read: Any
    unchanged: Unchanged
    rules: int
    programs: Limited[Any, Program]


class Compiled(FunctionLike):
    """A function that records itself while another function is traced, and else runs as a cached Program.

    Threads may call it at the same time: one of them traces a signature, and onnxruntime runs one session for all.
    `last` is the name of an argument that `record` takes after those of the function `of`.
    """

    counted = True
    """Whether its traces count as traces of a function."""

    def __init__(self, record: Function, of: Function, last: str = "") -> None:
        require_function(of)
        functools.update_wrapper(self, of, updated=())
        self.record = record
        self.of = of
        self.last = last
        self.programs: Recent[Any, Program] = Recent(CACHE_SIZE)
        self.known: Known | None = None
        self.is_guarded: bool = isinstance(of, Compiled) and of.is_guarded
        self.statistics = Statistics()
        self.keeps_states = False
        self.lock = threading.Lock()
        self.turns = Turns()

    def __repr__(self) -> str:
        of = getattr(self.of, "__name__", type(self.of).__name__)
        told = of if self.record is self.of else f"{self.record.__name__}({of})"
        return f"{type(self).__name__} {told}"

    def __call__(self, *args: Any, **named: Any) -> Any:
        if tracing.is_recording():
            return self.record(*args, **named)
        if self.is_guarded:
            return self._run_guarded(args, named)
        leaves, look = _look(args, named)
        known = self._known()
        program = known.programs.get(look)
        if program is not None:
            with self.lock:
                self.statistics.hits += 1
            return program.run_leaves(leaves)
        program = self._program(args, named, known)
        result = program(*args, **named)
        if look is not None:
            known.programs[look] = program
        return result

    def _run_guarded(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Run the program of the guard's value; by its branches, the first that goes the way that the arguments go."""
        attempt = 0
        while True:
            try:
                return self._program(args, named, self._known(), attempt)(*args, **named)
            except BranchError:
                if self.guard_value(args, named) is not BY_BRANCHES:
                    raise
            attempt += 1

    def _known(self) -> Known:
        """What is known of the function as it is now."""
        known = self.known
        if known is None or known.rules != Epoch.count or not known.unchanged:
            read, unchanged = watched_fingerprint(self.of)
            is_same = known is not None and known.rules == Epoch.count and known.read == read
            programs = known.programs if known is not None and is_same else Limited(CACHE_SIZE)
            known = self.known = Known(read, unchanged, Epoch.count, programs)
        return known

    def clear(self) -> None:
        """Forget every program."""
        with self.lock:
            self.programs.clear()
            self.known = None

    def run_into(self, out: Any, *args: Any, **named: Any) -> Any:
        """Run on arrays and write the results into `out`; see `Program.run_into`."""
        return self.program(*args, **named).run_into(out, *args, **named)

    def depends_on(self) -> tuple[Any, ...]:
        """Which transform of which function it is; not the programs made so far."""
        return Same(self.record), self.of

    def program(self, *args: Any, **named: Any) -> Program:
        """The program for these arguments' dtypes and shapes, the static ones' values, and what the function reads."""
        return self._program(args, named, self._known())

    def _program(self, args: tuple[Any, ...], named: dict[str, Any], known: Known, attempt: int = 0) -> Program:
        """The program recorded first, second and so on for arguments like these; by its branches there are several."""
        leaves, spec = trees.flatten((args, named))
        guard = self.guard_value(args, named)
        key = (spec, tuple(map(_leaf_key, leaves)), known.read, known.rules, attempt, guard)
        found = self._found(key)
        if found is not None:
            return found
        with self.turns.turn(key):
            found = self._found(key)
            if found is None:
                branches: Branches = "explore" if guard is None else "static"
                name = getattr(self.of, "__name__", "")
                found = trace_program(
                    self.record,
                    args,
                    named,
                    name=name,
                    branches=branches,
                    named_like=self.of if self.last or _takes(self.of, len(args)) else None,
                    last=self.last,
                    counted=self.counted,
                )
                self._keep(key, found)
        return found

    def _found(self, key: Any) -> Program | None:
        with self.lock:
            found = self.programs.used(key)
            if found is not None:
                self.statistics.hits += 1
            return found

    def _keep(self, key: Any, made: Program) -> None:
        with self.lock:
            self.statistics.misses += 1
            self.keeps_states |= bool(made.states)
            self.programs[key] = made

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


def _look(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Sequence[Any], Any]:
    """The leaves of a call, and what tells at a glance that another call takes the same program.

    That is None where a leaf is neither an array nor a number nor static, but a spec, say.
    """
    if not named and {*map(type, args)} == PLAIN:
        return args, tuple([(a.dtype, a.shape) for a in args])
    leaves, spec = trees.flatten((args, named))
    looks = [_leaf_look(leaf) for leaf in leaves]
    return leaves, None if None in looks else (spec, *looks)


PLAIN = {np.ndarray}


def _leaf_look(leaf: Any) -> Any:
    if type(leaf) is np.ndarray:
        return leaf.dtype, leaf.shape
    if isinstance(leaf, np.generic):
        return type(leaf), leaf.dtype
    if type(leaf) is float:
        return float
    return fingerprint(leaf) if leaf_type(leaf) is None else None


def _leaf_key(leaf: Any) -> Any:
    found = leaf_type(leaf)
    if found is None:
        return fingerprint(leaf)
    return found.key, isinstance(leaf, float) and not isinstance(leaf, np.generic)


@remade
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


@remade
def grad(function: Function, wrt: Wrt = 0, *, has_aux: bool = False) -> Compiled:
    """The gradient of a scalar function; with `has_aux`, the pair of gradient and aux. See `value_and_grad`."""

    def gradient_of(*args: Any, **named: Any) -> Any:
        value, gradient = value_and_gradient(function, args, named, wrt, has_aux=has_aux)
        return (gradient, value[1]) if has_aux else gradient

    return Compiled(gradient_of, function)


@remade
def vmap(function: Function, in_axes: Axes = 0, out_axes: Axes = 0) -> Compiled:
    """The function of a batch: `f` of each example, stacked, in one program.

    `in_axes` says along which axis the examples of each positional argument lie: one axis for all, or a tuple with one
    entry an argument, nested like the arguments where they are; None is for what all examples share. Keyword arguments
    are mapped over axis 0. `out_axes` says where the axis goes in the results. The batch may have any size, 0 and 1
    included, and a size that only the run knows. Each example takes its own branches, its own number of steps of a
    loop, and its own random numbers; what is drawn outside of `f` is the same for all. An operator that has no form for
    a batch, and values whose size differs between examples, are computed in a loop over the examples.
    Raises ShapeError where the sizes of the mapped axes may differ, or where results of the examples would differ in
    shape, SpecError for axes that do not fit the arguments.
    """

    def batch_of(*args: Any, **named: Any) -> Any:
        return batched_call(function, args, named, in_axes, out_axes)

    return Compiled(batch_of, function)


def vjp(function: Function, *args: Any, wrt: Wrt | None = None, **named: Any) -> tuple[Any, Function]:
    """`f(*args)` and its pullback: a function from a cotangent of the result to those of the arguments.

    By default the cotangents of all positional arguments, as a tuple; of those that `wrt` names, where it does: of one,
    or of several as a tuple. A cotangent has the structure, shapes and dtypes of the result. The pullback may be called
    repeatedly. Raises SpecError, ShapeError or DtypeError for a cotangent that does not fit, DtypeError for an argument
    that is not floating point, MissingRule where an operator has no derivative.
    What `f` writes to a state is kept once, when `f` is run; the pullback is that of the states before it.
    """
    asked: Wrt = tuple(range(len(args))) if wrt is None else wrt
    if tracing.is_recording():
        return vector_jacobian(function, args, named, asked)
    leaves, _ = trees.flatten((args, named))
    if any(isinstance(x, Array) for x in leaves):
        return vector_jacobian(function, args, named, asked)
    primal, pulled = _vjp_programs(Same(function), asked if isinstance(asked, int | str) else tuple(asked))
    result = primal(*args, **named)
    if not primal.keeps_states:
        return result, lambda cotangent: pulled(cotangent, *args, **named)
    # A run writes the next value of a state beside the one that it reads, which is there until the run after it.
    states = primal.program(*args, **named).states
    then = {c.state: c.state.buffers[c.output is not None].copy() for c in states}

    def at_states(cotangent: Any) -> Any:
        return pulled.program(cotangent, *args, **named).run_at(then, cotangent, *args, **named)

    return result, at_states


@functools.lru_cache(CACHE_SIZE)
def _vjp_programs(of: Same, wrt: Wrt) -> tuple[Compiled, Compiled]:
    """The function, and its pullback as a function of the cotangent and the arguments, each traced once a signature."""
    function: Function = of.value

    def pulled(cotangent: Any, *args: Any, **named: Any) -> Any:
        _, pullback = vector_jacobian(function, args, named, wrt)
        return pullback(cotangent)

    return Compiled(function, function), Compiled(pulled, function)

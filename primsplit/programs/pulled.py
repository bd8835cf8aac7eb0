"""Compute `vjp` on arrays: the value, and a pullback that stays the same whatever is written to afterwards."""

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir.caching.fingerprint import Same
from primsplit.ir.errors import SpecError
from primsplit.programs.binding import ARRAY
from primsplit.programs.compiled import CACHE_SIZE, Arguments, Compiled, Function
from primsplit.programs.looks import look_of
from primsplit.programs.out import filled
from primsplit.programs.program import Program
from primsplit.programs.trace_program import Branches
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.transforms import vector_jacobian
from primsplit.transforms.gradient import Wrt


def vjp(
    function: Function, *args: Any, wrt: Wrt | None = None, branches: Branches = "explore", **named: Any
) -> tuple[Any, Function]:
    """Return `f(*args)` and its pullback: a function from a cotangent of the result to those of the arguments.

    By default the cotangents of all positional arguments, as a tuple; or of those that `wrt` names: of one, or of
    several as a tuple. A cotangent has the structure, shapes and dtypes of the result; that of a complex array is
    dL/dRe z + i dL/dIm z, so that pairs are Re(conj(cotangent) * tangent). The pullback may be called repeatedly, on
    arrays also as `pullback(cotangent, out=arrays)`, which writes into arrays nested like its result. It is that of the
    arguments as they were, and of what `f` read then, states among it; what `f` writes to a state is kept once, when
    `f` is run. `branches` is that of `value_and_grad`. Raises SpecError, ShapeError or DtypeError for a cotangent that
    does not fit, DtypeError for an argument that is not floating point, MissingRule for an operator without a
    derivative, and SpecError for a cotangent of other dtypes or structure once something that `f` reads has changed.

    >>> y, pullback = ps.vjp(np.multiply, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> [x.tolist() for x in pullback(np.ones(2))]
    [[3.0, 4.0], [1.0, 2.0]]
    """
    asked: Wrt = tuple(range(len(args))) if wrt is None else wrt
    if tracing.is_recording() or any(isinstance(leaf, Array) for leaf in trees.flatten((args, named))[0]):
        return vector_jacobian(function, args, named, asked)
    primal, pulled = _vjp_programs(Same(function), asked if isinstance(asked, int | str) else tuple(asked), branches)
    args, named = _typed(function, args, named)
    result = primal(*args, **named)
    made = _AtStates if primal.keeps_states else _Pullback
    return result, made(primal, pulled, result, *trees.owned((args, named)))


def _typed(function: Function, args: Arguments, named: dict[str, Any]) -> tuple[Arguments, dict[str, Any]]:
    """Return the arguments; a Program's with Python's numbers as arrays of the dtypes of its inputs."""
    leaves, spec = trees.flatten((args, named))
    if not isinstance(function, Program) or spec != function.arguments:
        return args, named
    types = (function.types[i] for i in function.given)
    pairs = [(x, next(types) if s is ARRAY else None) for x, s in zip(leaves, function.static, strict=True)]
    typed = [np.asarray(x, t.dtype) if t is not None and type(x) in {float, int} else x for x, t in pairs]
    result: tuple[Arguments, dict[str, Any]] = trees.unflatten(spec, typed)
    return result


class _Pullback:
    """The pullback at arguments that nobody else writes to.

    It is recorded when it is created, for cotangents of the result's dtypes and shapes, so that what the function reads
    may change. If it is recorded by its branches, or for other cotangents, it is recorded when it is called.
    """

    def __init__(
        self, primal: Compiled, pulled: Compiled, result: Any, args: Arguments, named: Mapping[str, Any]
    ) -> None:
        self.primal, self.pulled = primal, pulled
        self.args = args
        self.named = dict(named)
        self.number = result.dtype if isinstance(result, np.ndarray) and result.shape == () else None
        self.read = primal.reads()
        self.look: Any = None
        if not pulled.is_guarded:
            given = (result, *args)
            self.look = look_of(given, self.named)[1]
            self.run = pulled.run_found(self.look, given, self.named)

    def __call__(self, cotangent: Any, *, out: Any = None) -> Any:
        """Return the cotangents of the arguments."""
        if type(cotangent) is float and self.number is not None:
            cotangent = np.asarray(cotangent, self.number)
        given = (cotangent, *self.args)
        leaves, look = look_of(given, self.named)
        is_known = look is not None and look == self.look and not tracing.is_recording()
        if is_known and out is None:
            return self.run(leaves)
        if self.primal.reads() == self.read:
            return self.pulled_at(given, out)
        if is_known:
            return filled(out, self.run(leaves), "the pullback")
        raise SpecError(
            f"what {getattr(self.primal.of, '__name__', 'the function')} reads has changed since the pullback was made",
            place=tracing.user_place(),
            cure="Make the pullback anew, or pass what changes as an argument.",
        )

    def pulled_at(self, given: Arguments, out: Any) -> Any:
        """Return the cotangents for a cotangent that nothing was recorded for."""
        pulled, named = self.pulled, self.named
        return pulled(*given, **named) if out is None else pulled.run_into(out, *given, **named)


class _AtStates(_Pullback):
    """The pullback of a function that reads states: at their values when it is created."""

    def __init__(
        self, primal: Compiled, pulled: Compiled, result: Any, args: Arguments, named: Mapping[str, Any]
    ) -> None:
        super().__init__(primal, pulled, result, args, named)
        # A run writes the next value of a state beside the one that it reads, which is there until the run after it.
        states = primal.program(*args, **named).states
        self.then = {c.state: c.state.buffers[c.output is not None].copy() for c in states}
        self.look = None

    def pulled_at(self, given: Arguments, out: Any) -> Any:
        """Like `_Pullback.pulled_at`, at these states."""
        named = self.named
        found = self.pulled.answered(lambda program: program.run_at(self.then, *given, **named), given, named)
        return found if out is None else filled(out, found, "the pullback")


@functools.lru_cache(CACHE_SIZE)
def _vjp_programs(of: Same, wrt: Wrt, branches: Branches) -> tuple[Compiled, Compiled]:
    """The function, and its pullback as a function of cotangent and arguments, each traced once per signature."""
    function: Function = of.value

    def pulled(cotangent: Any, *args: Any, **named: Any) -> Any:
        _, pullback = vector_jacobian(function, args, named, wrt)
        return pullback(cotangent)

    own: Callable[[Arguments], Arguments] = operator.itemgetter(slice(1, None))
    return Compiled(function, function, branches=branches), Compiled(pulled, function, own=own, branches=branches)

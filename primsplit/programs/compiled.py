"""Call traced functions on arrays: traced once per signature, kept, and run by onnxruntime."""

import functools
import itertools
import operator
import threading
from collections.abc import Callable, Sequence
from typing import Any, get_args

from primsplit import tracing
from primsplit.ir.caching.fingerprint import Same, watched_fingerprint
from primsplit.ir.caching.limited import Limited, Recent
from primsplit.ir.caching.once import Turns
from primsplit.ir.errors import BranchError, SpecError
from primsplit.ir.machine import check_threads
from primsplit.programs.examples import Way
from primsplit.programs.known import Known, Statistics
from primsplit.programs.labels import takes
from primsplit.programs.live import NEVER, Live, live_with
from primsplit.programs.looks import leaf_key, look_of
from primsplit.programs.out import refuse_traced
from primsplit.programs.prepared import Prepared
from primsplit.programs.program import Program
from primsplit.programs.sharing import alike, shared
from primsplit.programs.trace_program import Branches, check_option, trace_program
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.functionlike import FunctionLike, remade, require_function
from primsplit.tracing.registering import Epoch
from primsplit.transforms import value_and_gradient
from primsplit.transforms.gradient import Wrt
from primsplit.transforms.vmap import Axes, batched_call

Function = Callable[..., Any]
Arguments = tuple[Any, ...]
Place = tuple[Any, ...]
CACHE_SIZE = 256


class Compiled(FunctionLike):
    """A function that records itself while another function is traced, and else runs as a cached Program.

    Threads may call it at the same time: one of them traces a signature, and onnxruntime runs one session for all.
    `last` is the name of an argument that `record` takes after those of the function `of`; if it takes them otherwise,
    `own` returns those of `of`. `branches` is how Python branches are treated when it records itself: with "guard"
    there is a program for each way that arrays went.
    """

    counted = True
    """Whether its traces count as traces of a function."""

    def __init__(
        self,
        record: Function,
        of: Function,
        last: str = "",
        *,
        own: Callable[[Arguments], Arguments] | None = None,
        branches: Branches = "explore",
        threads: int | None = None,
    ) -> None:
        require_function(of)
        check_option("branches", branches, get_args(Branches))
        functools.update_wrapper(self, of, updated=())
        self.record = record
        self.of = of
        self.last = last
        self.own = own or (operator.itemgetter(slice(None, -1)) if last else tuple)
        self.branches = branches
        self.threads = check_threads(threads)
        self.programs: Recent[Place, Program] = Recent(CACHE_SIZE)
        self.met: dict[Place, Way] = {}
        self.latest: Limited[Place, int] = Limited(CACHE_SIZE)
        self.known: Known | None = None
        self.live = Live()
        self.is_guarded: bool = branches == "guard" or (isinstance(of, Compiled) and of.is_guarded)
        self.statistics = Statistics()
        self.keeps_states = False
        self.lock = threading.Lock()
        self.turns = Turns()

    def was_made(self, make: Callable[..., Any], args: Arguments, named: dict[str, Any]) -> None:
        """Share recordings with others that are made alike, so that `ps.grad(f)(x)` in a loop records f once."""
        super().was_made(make, args, named)
        self.alike = None if self.is_guarded else alike(self.of, (make, *args[1:]), named)
        if self.alike is not None:
            own = self.record, self.programs, self.lock, self.turns
            self.record, self.programs, self.lock, self.turns = shared(self.alike, own)

    @property
    def called(self) -> tuple[Function, ...] | None:
        """The function; None if a guard is asked too."""
        return None if self.is_guarded else (self.of,)

    def __repr__(self) -> str:
        of = getattr(self.of, "__name__", type(self.of).__name__)
        told = of if self.record is self.of else f"{self.record.__name__}({of})"
        return f"{type(self).__name__} {told}"

    def __call__(self, *args: Any, **named: Any) -> Any:
        if tracing.is_recording():
            return self.record(*args, **named)
        if self.is_guarded:
            return self.answered(lambda program: program(*args, **named), args, named)
        leaves, look = look_of(args, named)
        run = self.live.run(look)
        if run is None:
            known = self._known()
            run = known.programs.get(look)
        if run is not None:
            with self.lock:
                self.statistics.hits += 1
            return run(leaves)
        place = self._place(args, named, known)
        program = self._program(place, args, named)
        result = program(*args, **named)
        if look is not None and self._reads_live(look, args, named, result):
            with self.lock:
                self.programs.pop((0, *place), None)
        elif look is not None:
            known.programs[look] = program.runner(leaves)
        return result

    def _reads_live(self, look: Any, args: Arguments, named: dict[str, Any], result: Any) -> bool:
        """Whether calls of this look, with this result, read large arrays of the function anew from now on."""
        if type(self) is not Compiled or self.branches != "explore" or self.live is NEVER:
            return False
        self.live = live_with(self.live, self.of, self.record, look, (args, named), result)
        return self.live is not NEVER and look in self.live.programs

    def answered(self, run: Callable[[Program], Any], args: Arguments, named: dict[str, Any]) -> Any:
        """Return the result of `run` on the program of these arguments.

        If it is recorded by its branches, that is the program whose run does not fail. The one that answered last is
        tried first, and if none answers another is recorded.
        """
        place = self._place(args, named, self._known())
        if place[-1] is not BY_BRANCHES:
            return run(self._program(place, args, named))
        first = self.latest.get(place, 0)
        for attempt in itertools.chain([first], (i for i in itertools.count() if i != first)):
            program, is_new = self._found_or_made((attempt, *place), args, named)
            try:
                result = run(program)
            except BranchError:
                if is_new:
                    raise
                continue
            with self.lock:
                self.statistics.hits += not is_new
                self.latest[place] = attempt
            return result
        raise AssertionError("there is always another attempt")

    def _known(self) -> Known:
        """Return the programs recorded for what the function reads now; an empty record if that has changed."""
        known = self.known
        if known is None or known.rules != Epoch.count or not known.unchanged:
            read, unchanged = watched_fingerprint(self.of)
            is_same = known is not None and known.rules == Epoch.count and known.read == read
            programs = known.programs if known is not None and is_same else Limited(CACHE_SIZE)
            known = self.known = Known(read, unchanged, Epoch.count, programs)
        return known

    def reads(self) -> Any:
        """Return a key of what the function reads now."""
        return self._known().read

    def run_found(self, look: Any, args: Arguments, named: dict[str, Any]) -> Function:
        """Return the function that runs on the leaves of calls with this look, with what the function reads now.

        It is recorded if needed.
        """
        known = self._known()
        run = known.programs.get(look)
        if run is None:
            run = self.program(*args, **named).runner(trees.flatten((args, named))[0])
            if look is not None:
                known.programs[look] = run
        return run

    def clear(self) -> None:
        """Forget every program."""
        with self.lock:
            self.programs.clear()
            self.met.clear()
            self.latest.clear()
            self.known, self.live = None, Live()

    def run_into(self, out: Any, /, *args: Any, **named: Any) -> Any:
        """Run on arrays and write the results into `out`; see `Program.run_into`.

        `out` is not a keyword, since the function may have an argument of that name.
        """
        if _is_traced(args, named):
            refuse_traced()
        return self.program(*args, **named).run_into(out, *args, **named)

    def prepare(self, *args: Any, **named: Any) -> Prepared:
        """Return the program for these arguments with every buffer allocated and bound; see `Program.prepare`."""
        return self.program(*args, **named).prepare(*args, **named)

    def depends_on(self) -> tuple[Any, ...]:
        """Return the transform and its function, which decide what a call computes; the recorded programs do not."""
        return Same(self.record), self.of

    def program(self, *args: Any, **named: Any) -> Program:
        """The program for these arguments' dtypes and shapes, the static ones' values, and what the function reads.

        If there is one for each way through the branches, it is the one that answers for the arguments.
        """

        def asked(program: Program) -> Program:
            if self.guard_value(args, named) is BY_BRANCHES:
                program.run_at({}, *args, **named)
            return program

        made: Program = self.answered(asked, args, named)
        return made

    def _place(self, args: Arguments, named: dict[str, Any], known: Known) -> Place:
        """Return the key of the programs for these arguments; its last part is the guard's value."""
        leaves, spec = trees.in_parts((args, named))
        return spec, tuple(map(leaf_key, leaves)), known.read, known.rules, self.guard_value(args, named)

    def _program(self, place: Place, args: Arguments, named: dict[str, Any]) -> Program:
        program, is_new = self._found_or_made((0, *place), args, named)
        with self.lock:
            self.statistics.hits += not is_new
        return program

    def _found_or_made(self, key: Place, args: Arguments, named: dict[str, Any]) -> tuple[Program, bool]:
        """Return the program kept under a key, which begins with a number by the branches, and whether it is new."""
        found = self._found(key)
        if found is not None:
            return found, False
        with self.turns.turn(key):
            found = self._found(key)
            if found is not None:
                return found, False
            made = self._traced(args, named, self.branches if key[-1] is None else "static")
            self._keep(key, made, args, named)
        return made, True

    def program_of_ways(self) -> Program:
        """Return one program of all recorded ways through the branches; it fails if another is taken.

        Raises SpecError if nothing was recorded.
        """
        ways = self.ways()
        if not ways:
            raise SpecError("nothing was recorded yet", cure="Call it on arrays of every way first.")
        args, named = trees.unflatten(ways[-1].spec, ways[-1].leaves)
        return self._traced(args, named, "guard", ways)

    def _traced(self, args: Arguments, named: dict[str, Any], branches: Branches, ways: Sequence[Way] = ()) -> Program:
        made = trace_program(
            self.record,
            args,
            named,
            name=getattr(self.of, "__name__", ""),
            branches=branches,
            named_like=self.of if self.last or takes(self.of, len(args)) else None,
            last=self.last,
            counted=self.counted,
            ways=ways,
            of=self.of,
        )
        return made.with_threads(self.threads)

    def _found(self, key: Place) -> Program | None:
        with self.lock:
            return self.programs.used(key)

    def _keep(self, key: Place, made: Program, args: Arguments, named: dict[str, Any]) -> None:
        with self.lock:
            self.statistics.misses += 1
            self.keeps_states |= bool(made.states)
            self.programs[key] = made
            if key[-1] is BY_BRANCHES:
                self.met = {k: way for k, way in self.met.items() if k in self.programs}
                self.met[key] = Way.of(args, named)

    def ways(self) -> list[Way]:
        """Return arguments for each recorded way through the branches."""
        with self.lock:
            return [self.met[key] for key in self.programs if key in self.met]

    def guard_value(self, args: Arguments, named: dict[str, Any]) -> Any:
        """Return the value of a guarded function's guard for these arguments; None if there is no guard."""
        if isinstance(self.of, Compiled) and self.of.is_guarded:
            return self.of.guard_value(self.own(args), named)
        return BY_BRANCHES if self.branches == "guard" else None


class Batched(Compiled):
    """The function of a batch; a guarded function, whose guard is for one example, is recorded by its branches."""

    def guard_value(self, args: Arguments, named: dict[str, Any]) -> Any:
        """Return that it is recorded by its branches, if it is guarded."""
        return BY_BRANCHES if self.is_guarded else None


def _is_traced(args: Arguments, named: dict[str, Any]) -> bool:
    return any(isinstance(leaf, Array) for leaf in trees.flatten((args, named))[0])


BY_BRANCHES = "by its branches"
"""The guard of a function that is recorded for each way through its branches."""


@remade
def value_and_grad(
    function: Function,
    wrt: Wrt = 0,
    *,
    has_aux: bool = False,
    branches: Branches = "explore",
    threads: int | None = None,
) -> Compiled:
    """Return the function that returns `(f(*args), gradient)`.

    `wrt` names the arguments to differentiate, by position or keyword: one, or several for a tuple of gradients. `f`
    returns a floating-point scalar, or with `has_aux` a pair of it and anything. Each gradient has the structure,
    shapes and dtypes of its argument; by a complex z it is dL/dRe z + i dL/dIm z, as in PyTorch (in JAX it is the
    conjugate). Raises DtypeError for an argument that is not floating point or a complex result, ShapeError for a
    result that is not a scalar, MissingRule for an operator without a derivative.

    `branches` is, here and for the other transforms, how Python branches on traced values are treated in calls on
    arrays: "explore" records every way, "error" refuses them, "guard" records each way when arrays first take it,
    however many there may be, and "static" only that of the first arrays, so that others raise a BranchError. With
    "guard" and "static" an integer asked of a traced value (`int(x)`, `range(n)`, `names[n]`) is such a way too. Inside
    a traced function its own policy holds. `.statistics.misses` counts recordings; `export_guarded` writes them.

    `threads` is the number of threads of a run; None is the number that the environment's `PRIMSPLIT_THREADS` says, or
    else one for each core that the process may use. Raises SpecError for no such number.
    """

    def value_and_gradient_of(*args: Any, **named: Any) -> Any:
        return value_and_gradient(function, args, named, wrt, has_aux=has_aux)

    return Compiled(value_and_gradient_of, function, branches=branches, threads=threads)


@remade
def grad(
    function: Function,
    wrt: Wrt = 0,
    *,
    has_aux: bool = False,
    branches: Branches = "explore",
    threads: int | None = None,
) -> Compiled:
    """Return the gradient of a scalar function, by the argument in `wrt`: a position, a name, or several for a tuple.

    With `has_aux` the function returns a scalar and anything else, and this the gradient and that. Possible arguments,
    `branches`, `threads` and errors are those of `value_and_grad`.

    >>> float(ps.grad(lambda x: x**3)(2.0))
    12.0
    >>> slope = ps.grad(lambda params, x: np.sum(params["w"] * x) ** 2)
    >>> slope({"w": np.array([1.0, 2.0])}, np.array([3.0, 0.0]))["w"].tolist()
    [18.0, 0.0]
    """

    def gradient_of(*args: Any, **named: Any) -> Any:
        value, gradient = value_and_gradient(function, args, named, wrt, has_aux=has_aux)
        return (gradient, value[1]) if has_aux else gradient

    return Compiled(gradient_of, function, branches=branches, threads=threads)


@remade
def vmap(function: Function, in_axes: Axes = 0, out_axes: Axes = 0, *, branches: Branches = "explore") -> Compiled:
    """Return the function of a batch: `f` of each example, stacked, in one program.

    `in_axes` is the axis along which the examples of each positional argument lie: one axis for all, or a tuple with
    one entry per argument, nested like the arguments; None is for what all examples share. Keyword arguments are mapped
    over axis 0. `out_axes` is that axis in the results. The batch may have any size, 0 and 1 included, and a size that
    only the run knows. Each example takes its own branches, its own number of steps of a loop, and its own random
    numbers; numbers drawn outside of `f` are the same for all. An operator without a batched form, and values whose
    size differs between examples, are computed in a loop over the examples.

    Raises ShapeError if the sizes of the mapped axes may differ, or if results of the examples would differ in shape,
    SpecError for axes that do not fit the arguments.

    >>> ps.vmap(ps.grad(lambda w, x: np.sum(w * x) ** 2), in_axes=(None, 0))(np.ones(2), np.eye(2)).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """

    def batch_of(*args: Any, **named: Any) -> Any:
        return batched_call(function, args, named, in_axes, out_axes)

    return Batched(batch_of, function, branches=branches)

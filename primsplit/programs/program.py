"""Program: a Block with the user's argument structure and names; the object that is called, listed and saved."""

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import Block, Const, Type
from primsplit.ir.analysis.orders import derivatives_of
from primsplit.ir.caching.fingerprint import Same
from primsplit.ir.errors import SpecError
from primsplit.ir.frozen_branches import FrozenBranch
from primsplit.ir.machine import check_threads
from primsplit.ir.names import NamedBlock
from primsplit.ir.plain_text import in_one_line
from primsplit.ir.providers import GivenAs, Provenance, Provider
from primsplit.ir.reasons import FOLDED
from primsplit.programs.binding import ARRAY, Binding
from primsplit.programs.called import inline_block
from primsplit.programs.carried import CARRYING, Carried, Values, run_carrying
from primsplit.programs.doors import make_proto, make_session, save_models
from primsplit.programs.labels import argument_names
from primsplit.programs.nothing import nothing_to_run
from primsplit.programs.out import arrays_of, check_out, refuse_traced
from primsplit.programs.prepared import ARRAYS, Prepared, prepared_for, prepared_if_small
from primsplit.programs.running import arrays_of_leaves, running
from primsplit.programs.styles import list_blocks
from primsplit.programs.weights import Weights
from primsplit.programs.wholes import both, pairs_of
from primsplit.rewrites.promote import promote
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.frames import store
from primsplit.tracing.states import State
from primsplit.transforms.outline import fold_repeats


class Program(Binding):
    """A traced function.

    `inputs` and `outputs` name the block's parameters and results; `arguments` and `result` are their structure. Leaves
    of the arguments that are not arrays are static: a call must pass the same value. `gradients` are the positions of
    results that are derivatives, which a file computes last. `initializers` are a loaded model's; `constants` has the
    reason for those that are not weights; `defaults` are the numbers that a file keeps for inputs; `narrowed` returns
    the program of a model for inputs of given ranks. `states` are inputs and outputs that carry values from call to
    call, and not part of the arguments and the result: `given` and `returned` are the positions of the others. `frozen`
    are the choices of a loaded model whose conditions are constants. `threads` is the number of threads of a run, None
    for that of the process.
    """

    def __init__(
        self,
        block: Block,
        *,
        inputs: Sequence[str],
        outputs: Sequence[str],
        arguments: trees.TreeSpec,
        result: trees.TreeSpec,
        static: Sequence[Any],
        gradients: Sequence[int] | None = None,
        initializers: Mapping[str, Const] | None = None,
        constants: Mapping[str, str] | None = None,
        defaults: Mapping[str, Const] | None = None,
        narrowed: Callable[[Mapping[str, int]], "Program"] | None = None,
        states: Sequence[Carried] = (),
        frozen: Sequence[FrozenBranch] = (),
    ) -> None:
        self.block = block
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.arguments = arguments
        self.result = result
        self.static = tuple(static)
        self.gradients = derivatives_of(block) if gradients is None else tuple(gradients)
        self.initializers = dict(initializers or {})
        self.constants = dict(constants or {})
        self.defaults = dict(defaults or {})
        self.states = tuple(states)
        self.frozen_branches = tuple(frozen)
        taken, made = {c.input for c in self.states}, {c.output for c in self.states}
        self.given = [i for i, n in enumerate(self.inputs) if n not in taken]
        self.returned = [i for i, n in enumerate(self.outputs) if n not in made]
        self.threads: int | None = None
        self._narrowed = narrowed
        self._flat, self._exact = self._flat_arguments()
        self._session: Any = None
        self._small: Prepared | None = None
        self._lock = threading.Lock()
        self._with_inputs: dict[tuple[str, ...], Program] = {}
        self._of_ranks: dict[tuple[tuple[str, int], ...], Program] = {}

    def _flat_arguments(self) -> tuple[int | None, list[Any] | None]:
        """Return how many arguments there are if each is an array by position; their looks if no size is a symbol."""
        flat = trees.flatten((self.static, {}))[1]
        if self.states or self.arguments != flat or not all(s is ARRAY for s in self.static):
            return None, None
        sizes = [d for t in self.types for d in (t.shape if t.shape is not None else (None,))]
        is_exact = all(isinstance(d, int) for d in sizes)
        return len(self.static), [(t.dtype, t.shape) for t in self.types] if is_exact else None

    @property
    def types(self) -> tuple[Type, ...]:
        """The type of each array input."""
        return tuple(p.type for p in self.block.params)

    @property
    def params(self) -> Weights:
        """A loaded model's weights, and the arrays that `ps.param` named, by name.

        A loaded model's constants are left out, such as 1 / sqrt(d) or running statistics; `params["name"]` returns
        these too.
        """
        return Weights(self.initializers, self.constants)

    @property
    def state(self) -> Values:
        """The states by name, as the next call takes them: to be read, set and reset."""
        return Values(self.states)

    def depends_on(self) -> tuple[Same, ...]:
        """Return the program's block, which is immutable, and the states it carries; not the session."""
        return (Same(self.block), *(Same(c.state) for c in self.states))

    @property
    def named(self) -> NamedBlock:
        """The block with names, as in a file."""
        pairs = tuple(c.pair for c in self.states)
        return NamedBlock(self.block, self.inputs, self.outputs, self.gradients, self.defaults, pairs)

    def __repr__(self) -> str:
        told = ", ".join(f"{n}: {t}" for n, t in zip(self.inputs, self.types, strict=True))
        return in_one_line(f"Program {self.block.name}({told})")

    def __copy__(self) -> "Program":
        """Return the program itself, which is immutable."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Program":
        """Return the program itself too."""
        return self

    def __reduce__(self) -> Any:
        raise TypeError(f"{self!r} cannot be pickled: write it with save(path), and read it there with ps.load(path)")

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run on arrays by onnxruntime, or become part of the function being traced.

        A keyword argument named like one of `params` replaces its numbers: `model(x, **{"fc.weight": w})`. Raises
        SpecError, DtypeError or ShapeError for an argument that does not fit.
        """
        if len(args) == self._flat and not named and {*map(type, args)} == ARRAYS and not tracing.is_recording():
            fits = [(a.dtype, a.shape) for a in args] == self._exact
            return self._run(args if fits else self.check_arrays(args))
        if named and (names := self._params_among(named)):
            rest = {name: value for name, value in named.items() if name not in names}
            return self.with_inputs(names)(*args, *(named[name] for name in names), **rest)
        leaves = self.bind(args, named)
        if tracing.is_recording():
            return self._record(leaves)
        return self._run(self.check_arrays(leaves))

    def _record(self, leaves: Sequence[Any]) -> Any:
        """Become part of the function being traced; the states become states of that one."""
        known = {c.input: as_array(c.state) for c in self.states}
        known.update(zip(self.given_names, map(as_array, leaves), strict=True))
        arrays = [known[name] for name in self.inputs]
        values = inline_block(self.of_ranks([x.type for x in arrays]).block, self.inputs, arrays)
        found = dict(zip(self.outputs, values, strict=True))
        written = [c for c in self.states if c.output is not None]
        store([c.state for c in written], [found[c.output] for c in written if c.output is not None])
        return trees.unflatten(self.result, [values[i] for i in self.returned])

    def argument_names(self, count: int | None = None) -> list[str]:
        """Return the names of the positional arguments, in a call of so many."""
        return argument_names(self.arguments, self.leaf_names, count)

    @property
    def complex_inputs(self) -> list[tuple[str, str]]:
        """The names of both inputs of each complex argument."""
        return pairs_of(self.arguments, self.leaf_names)

    @property
    def complex_outputs(self) -> list[tuple[str, str]]:
        """The names of both outputs of each complex result."""
        return pairs_of(self.result, [self.outputs[i] for i in self.returned])

    def of_ranks(self, types: Sequence[Type | None]) -> "Program":
        """Return the program of a model for inputs of the ranks of these types, if its file leaves them open."""
        pairs = zip(self.inputs, self.types, types, strict=False)
        known = tuple((n, t.rank) for n, own, t in pairs if own.rank is None and t is not None and t.rank is not None)
        if self._narrowed is None or not known:
            return self
        if known not in self._of_ranks:
            self._of_ranks[known] = self._narrowed(dict(known)).with_threads(self.threads)
        return self._of_ranks[known]

    def _params_among(self, named: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the params that keyword arguments give, except those that the program takes as its own."""
        _, own = trees.unflatten(self.arguments, self.static)
        return tuple(name for name in self.initializers if name in named and name not in own)

    def with_inputs(self, names: Sequence[str]) -> "Program":
        """Return the program with these of its `params` as further inputs.

        A file may keep their numbers as defaults.
        """
        found = self._with_inputs.get(tuple(names))
        if found is not None:
            return found
        self.check_whole(names)
        chosen, narrowed = {name: self.initializers[name] for name in names}, self._narrowed
        own, named = trees.unflatten(self.arguments, self.static)
        static, arguments = trees.flatten(((*own, *(ARRAY for _ in chosen)), named))
        block = promote(self.block, list(chosen.values()))
        # Inputs are in the order of a call's leaves: keyword arguments come behind all that have a position.
        first, count = sum(x is ARRAY for x in trees.flatten(own)[0]), len(self.inputs)
        params = (*block.params[:first], *block.params[count:], *block.params[first:count])
        found = self._with_inputs[tuple(names)] = Program(
            replace(block, params=params),
            inputs=(*self.inputs[:first], *chosen, *self.inputs[first:]),
            outputs=self.outputs,
            arguments=arguments,
            result=self.result,
            static=static,
            initializers={name: value for name, value in self.initializers.items() if name not in chosen},
            constants={name: why for name, why in self.constants.items() if name not in chosen},
            defaults={**self.defaults, **chosen},
            narrowed=None if narrowed is None else (lambda ranks: narrowed(ranks).with_inputs(names)),
            states=self.states,
        ).with_threads(self.threads)
        return found

    @property
    def float_constants(self) -> dict[str, str]:
        """The float initializers that are not weights, with the reason."""
        return {name: why for name, why in self.constants.items() if self.initializers[name].type.is_float}

    def check_whole(self, names: Iterable[str]) -> None:
        """Raise SpecError for one of `params` of which a part was folded into other constants."""
        for name in names:
            if self.constants.get(name) == FOLDED:
                raise SpecError(
                    f"{name} is no weight: {FOLDED}",
                    cure="Differentiate the model that the file was made of, with respect to it too.",
                )

    def runner(self, leaves: Sequence[Any]) -> Callable[[Sequence[Any]], Any]:
        """Return a function that runs on the leaves of calls like this one, complex ones whole.

        They have the same structure, kinds, dtypes, shapes and static values.
        """
        if self.complex_inputs:
            return lambda leaves: self.run_leaves(both(leaves))
        run = None if self.states or not self.outputs else self.session().runner(self.inputs)
        if run is None:
            return self.run_leaves
        return running(run, arrays_of_leaves(leaves, self.static, self.types), self.result)

    def run_leaves(self, leaves: Sequence[Any]) -> Any:
        """Run on the leaves of a call, real ones, that is known to fit."""
        arrays = [x for x, s in zip(leaves, self.static, strict=True) if s is ARRAY]
        return self._run(arrays if {*map(type, arrays)} <= ARRAYS else self.check_arrays(arrays))

    def _run(self, arrays: Sequence[Any]) -> Any:
        if self.states:
            return self._run_carrying(arrays)
        session = self._session or self.session()
        return trees.unflatten(self.result, session.run(dict(zip(self.inputs, arrays, strict=True))))

    def _run_carrying(self, arrays: Sequence[Any]) -> Any:
        """Run with states: small arrays in buffers that are bound once, since binding takes longest."""
        with CARRYING:
            if self._small is None or not self._small.fits(arrays):
                self._small = prepared_if_small(self, arrays)
            if self._small is not None:
                self._small.run_on(arrays)
                return trees.unflatten(self.result, [a.copy() for a in self._small.outputs.values()])
            feeds = dict(zip(self.given_names, arrays, strict=True))
            found = [*run_carrying(self.session(), self.states, self.outputs, feeds).values()]
        return trees.unflatten(self.result, [found[i] for i in self.returned])

    def run_into(self, out: Any, /, *args: Any, **named: Any) -> Any:
        """Run on arrays and write the results into `out`, which is nested like the result; return it.

        Nothing is allocated for contiguous real arrays. Raises SpecError for another structure or traced arguments,
        ShapeError or DtypeError for an array that does not fit its result, or shares memory with an argument, all
        before anything is written; RunError if the run fails, which may have written some results.
        """
        buffers = arrays_of(out, self.result, self.block.name)
        leaves = self.bind(args, named)
        if any(isinstance(leaf, Array) for leaf in leaves):
            refuse_traced()
        sizes: dict[str, int] = {}
        feeds = dict(zip(self.given_names, self.check_arrays(leaves, sizes), strict=True))
        for i, buffer in zip(self.returned, buffers, strict=True):
            check_out(self.outputs[i], buffer, self.block.results[i].type, sizes)
        written = [b if b.flags.c_contiguous else np.empty(b.shape, b.dtype) for b in buffers]
        into = {self.outputs[i]: buffer for i, buffer in zip(self.returned, written, strict=True)}
        run_carrying(self.session(), self.states, self.outputs, feeds, into)
        for buffer, found in zip(buffers, written, strict=True):
            if found is not buffer:
                np.copyto(buffer, found)
        return out

    def run_at(self, states: Mapping[State, npt.NDArray[Any]], *args: Any, **named: Any) -> Any:
        """Run on arrays with these values for states, and leave the states themselves as they are."""
        feeds = dict(zip(self.given_names, self.check_arrays(self.bind(args, named)), strict=True))
        feeds.update((c.input, states.get(c.state, c.state.now)) for c in self.states)
        found = self.session().run({name: feeds[name] for name in self.inputs})
        return trees.unflatten(self.result, [found[i] for i in self.returned])

    def prepare(self, *args: Any, **named: Any) -> Prepared:
        """Return the program with every buffer allocated and bound, for arguments of these shapes; nothing is run yet.

        Its calls allocate nothing: see `Prepared`. Raises SpecError if the size of a result depends on data.
        """
        return prepared_for(self, self.bind(args, named))

    def with_own_states(self) -> "Program":
        """Return the program with states of its own, which start at their initial values."""
        if not self.states:
            return self
        found = self._copied()
        found.states = tuple(c.own() for c in self.states)
        return found

    def with_threads(self, threads: int | None) -> "Program":
        """Return the program with runs in so many threads; None is the number of the process, `PRIMSPLIT_THREADS`.

        Raises SpecError for anything else.
        """
        if threads is self.threads or check_threads(threads) == self.threads:
            return self
        found = self._copied()
        found.threads = threads
        return found

    def folded(self) -> "Program":
        """Return the program with regions that repeat, such as the steps of an unrolled loop, as calls of one function.

        Its derivative is computed once for all steps. A file of the form "functions" keeps them as one local function
        and its pullback; every other is written without calls.
        """
        found = self._copied()
        found.block = fold_repeats(self.block)
        return found

    def _copied(self) -> "Program":
        """Return a program like this one, to be changed before it is used."""
        found = Program.__new__(Program)
        vars(found).update(vars(self))
        found._session, found._small, found._lock, found._with_inputs = None, None, threading.Lock(), {}
        return found

    def session(self) -> Any:
        """Return the onnxruntime session of this program, created once.

        If no result is an array there is nothing to run; then it returns an empty list. Raises SpecError if that would
        hide an error that the function raises.
        """
        with self._lock:
            if self._session is None:
                self._session = make_session(self.named, self.threads) if self.outputs else nothing_to_run(self.block)
        return self._session

    def to_onnx(
        self,
        provider: Provider = "cpu",
        weights: GivenAs = "inputs",
        target: str | None = None,
        provenance: Provenance = "full",
    ) -> Any:
        """The program as an `onnx.ModelProto`, for "cpu" or "cuda". Raises DtypeError for what has no kernel there.

        Weights that became inputs are such, or with "defaults" inputs that keep their numbers for runs that give none.
        With `target="onnxruntime>=1.32"` it runs in these versions only, without ways around what was wrong before;
        otherwise in all from 1.20 on. `provenance` is what it tells of its source: "full" your lines with their text,
        "lines" their places and names, "none" nothing. Raises SpecError for another provider, way to take weights,
        target or provenance.
        """
        return make_proto(self.named.on(provider, weights, target, provenance))

    def save(
        self,
        path: str | os.PathLike[str],
        provider: Provider = "cpu",
        weights: GivenAs = "inputs",
        target: str | None = None,
        provenance: Provenance = "full",
    ) -> None:
        """Write the program as an ONNX file, whole or not at all; see `to_onnx`. Raises FileError."""
        save_models([(self.named.on(provider, weights, target, provenance), os.fspath(path))])

    def listing(self, style: str = "text") -> str:
        """Return the program as "text", as "python" that traces to it, a page of "html", or a "fragment" of it.

        Raises SpecError for others.
        """
        return list_blocks((self.block,), dict(zip(self.block.params, self.inputs, strict=True)), style)

    def _repr_html_(self) -> str:
        """Return the listing as notebooks show it."""
        return self.listing("fragment")

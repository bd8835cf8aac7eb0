"""Prepare a program with every buffer allocated and bound once, so that a call allocates nothing.

A program with small states (`SMALL`) always runs this way: binding the buffers anew for each call takes longer than
such a run.
"""

from collections.abc import Iterable, Mapping, Sequence
from threading import get_ident
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import Block, Type
from primsplit.ir.caching.counters import Counters
from primsplit.ir.dims import evaluate, symbols
from primsplit.ir.errors import DtypeError, ShapeError, SpecError
from primsplit.programs.carried import CARRYING, Carried
from primsplit.programs.out import arrays_of, check_out
from primsplit.programs.single_use import SingleUse, Trail, references
from primsplit.tracing import trees

AnyArray = npt.NDArray[Any]
ARRAYS = {np.ndarray}
"""The classes of arguments that are arrays, and no subclass of them."""


class Runnable(Protocol):
    """A program, as far as preparing it is concerned."""

    block: Block
    arguments: trees.TreeSpec
    result: trees.TreeSpec
    outputs: tuple[str, ...]
    returned: list[int]
    states: tuple[Carried, ...]

    @property
    def given_names(self) -> list[str]:
        """The names of the inputs that a call gives."""
        ...

    @property
    def complex_outputs(self) -> list[tuple[str, str]]:
        """The names of both outputs of each complex result."""
        ...

    def check_arrays(self, leaves: Sequence[Any], sizes: dict[str, int] | None = None) -> list[AnyArray]:
        """Return the leaves of a call as arrays that fit; `sizes` learns the symbols."""
        ...

    def session(self) -> Any:
        """Return its onnxruntime session."""
        ...

    def bind(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        """Return the array leaves of a call."""
        ...


class Prepared:
    """A program for arguments of fixed shapes: `inputs` and `outputs` are its buffers by name.

    A call copies the arguments into `inputs`, runs, and returns the result in `outputs`: the same arrays at each call,
    which the next one overwrites, so copy what is to stay. A contiguous argument of `LARGE` bytes or more is read where
    it lies instead, until `inputs` are asked for. `run` is for callers that wrote to `inputs` themselves.
    States are those of the program; they alternate between their two buffers. The calls of one Prepared come one after
    the other. Threads that call at once take a copy each, which has buffers of its own; without copies they get a
    RunError. A call from another thread than the last one leaves results alone that are still referred to: it returns
    its own in new arrays.
    """

    def __init__(self, program: Runnable, feeds: Mapping[str, AnyArray], results: Mapping[str, Type]) -> None:
        self.program = program
        self._inputs = {name: new_buffer(array.shape, array.dtype) for name, array in feeds.items()}
        self._results = dict(results)
        for name, array in feeds.items():
            np.copyto(self._inputs[name], array)
        self._looks = [(a.dtype, a.shape) for a in self._inputs.values()]
        self._slots = [(n, a, a.nbytes >= LARGE) for n, a in self._inputs.items()]
        self._lying: dict[str, Lying] = {}
        """The arguments of the last call that are read where they lie."""
        self._is_flat = program.arguments == trees.flatten(((0.0,) * len(self._inputs), {}))[1]
        self._arrays = [c.state.arrays for c in program.states]
        self._use, self._written, self._filled = SingleUse(), Trail(), Trail()
        self._gives_inputs = False
        """Whether a caller asked for `inputs`, and so may write to them before a later run."""
        self._gives_outputs = False
        """Whether a caller asked for `outputs`, and so may wait for later runs to fill them."""
        self._thread = get_ident()
        """The thread of the last run."""
        self._renew_outputs()

    @property
    def inputs(self) -> dict[str, AnyArray]:
        """The buffers of the arguments, to write to before `run`. Raises RunError while another thread runs it."""
        self._use.refuse_while_running()
        self._written.write()
        self._gives_inputs = True
        for name, lying in [*self._lying.items()]:
            self._read_own(name, lying.array)
        return self._inputs

    @property
    def outputs(self) -> dict[str, AnyArray]:
        """The buffers of the results. Raises RunError if another thread has run it since this thread's `run`."""
        self._use.refuse_while_running()
        if self._filled.is_overwritten():
            raise self._use.refusal("was run by another thread before the outputs of this one's run were read")
        self._gives_outputs = True
        return self._outputs

    def __repr__(self) -> str:
        told = ", ".join(f"{n}: {Type(a.dtype, a.shape)}" for n, a in self._inputs.items())
        return f"Prepared ({told}) -> {', '.join(self._outputs)}"

    def __copy__(self) -> "Prepared":
        """Return the same program with other buffers, and the same content of the inputs.

        States are those of the program.
        """
        now = {name: lying.array for name, lying in self._lying.items()}
        return type(self)(self.program, {**self._inputs, **now}, self._results)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Prepared":
        """Return a copy."""
        return self.__copy__()

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run on these arguments. Raises SpecError, DtypeError or ShapeError for others than it was prepared for.

        Raises RunError where the run fails, and where another call of it is running.
        """
        with self._use:
            return self._call(args, named)

    def run_into(self, out: Any, /, *args: Any, **named: Any) -> Any:
        """Run on these arguments and copy the result into `out`, which is nested like it; return `out`.

        Nothing is written if the run fails. Raises SpecError, DtypeError or ShapeError for what does not fit.
        """
        arrays = arrays_of(out, self.program.result, self.program.block.name)
        for array, (name, wanted) in zip(arrays, self._results.items(), strict=True):
            check_out(name, array, wanted, {})
        with self._use:
            self._call(args, named)
            for array, own in zip(arrays, self._outputs.values(), strict=True):
                np.copyto(array, own)
        return out

    def fits(self, arrays: Sequence[Any]) -> bool:
        """Whether arrays have exactly the dtypes and shapes that it was prepared for."""
        return {*map(type, arrays)} <= ARRAYS and [(a.dtype, a.shape) for a in arrays] == self._looks

    def run_on(self, arrays: Sequence[AnyArray]) -> Any:
        """Run on arrays that fit."""
        with self._use:
            return self._run_on(arrays)

    def run(self) -> Any:
        """Run on the arrays in `inputs`. Raises RunError; then states are as before, and `outputs` undefined.

        Raises RunError, too, if another thread has written to `inputs` since this one asked for them.
        """
        with self._use:
            if self._written.is_overwritten():
                raise self._use.refusal("has arguments that another thread wrote over those of this one")
            result = self._run()
            self._filled.write()
            return result

    def _call(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        if self._is_flat and not named and self.fits(args):
            return self._run_on(args)
        leaves = self.program.bind(args, named)
        arrays = [_fitting(b, leaf, n) for leaf, (n, b) in zip(leaves, self._inputs.items(), strict=True)]
        return self._run_on(arrays)

    def _run_on(self, arrays: Sequence[AnyArray]) -> Any:
        self._written.overwrite()
        for (name, buffer, is_large), array in zip(self._slots, arrays, strict=True):
            if is_large:
                self._read(name, array)
            elif array is not buffer:
                np.copyto(buffer, array)
        return self._run()

    def _read(self, name: str, array: AnyArray) -> None:
        """Let runs read a large argument where it lies, or from its own buffer if that is not possible."""
        lying = self._lying.get(name)
        if lying is not None and lying.is_of(array):
            return
        if self._may_lie(array):
            self._lying[name] = Lying(array)
            self._rebind(name, array)
        elif lying is not None or array is not self._inputs[name]:
            self._read_own(name, array)

    def _may_lie(self, array: AnyArray) -> bool:
        """Whether runs may read an argument where it lies: none writes there."""
        written = [*self._outputs.values(), *(a for c in self.program.states for a in c.state.arrays)]
        is_free = array.flags.c_contiguous and not self._gives_inputs
        return is_free and not any(np.may_share_memory(array, w) for w in written)

    def _read_own(self, name: str, array: AnyArray) -> None:
        """Copy an argument into its own buffer, and let runs read that."""
        np.copyto(self._inputs[name], array)
        if self._lying.pop(name, None) is not None:
            self._rebind(name, self._inputs[name])

    def _rebind(self, name: str, array: AnyArray) -> None:
        for bound in self._bound.values():
            bound.rebind(name, array)

    def _run(self) -> Any:
        """Run on the inputs' buffers."""
        if self._thread != get_ident():
            self._hand_over()
            self._thread = get_ident()
        with CARRYING:
            self._bound_now().run()
            for each in self.program.states:
                if each.output is not None:
                    each.state.turn()
        self._filled.overwrite()
        # A container of its own for each call: the arrays alone tell whether anybody refers to a result.
        return trees.unflatten(self._nesting, self._leaves)

    def _hand_over(self) -> None:
        """Allocate new buffers for the results if those of another thread's run are still referred to."""
        if self._references() == self._own_references:
            return
        if self._gives_outputs:
            raise self._use.refusal("is called by another thread while results of the last call are referred to")
        self._renew_outputs()

    def _renew_outputs(self) -> None:
        """Allocate buffers for the results, and bind them."""
        self._outputs = {name: new_buffer(t.shape or (), t.dtype) for name, t in self._results.items()}
        self._leaves, self._nesting = trees.flatten(trees.unflatten(self.program.result, [*self._outputs.values()]))
        states = self.program.states
        now = tuple(c.state.side for c in states)
        turned = tuple(s if c.output is None else 1 - s for s, c in zip(now, states, strict=True))
        self._bound = {sides: self._bind(sides) for sides in (now, turned)}
        self._own_references = self._references()

    def _references(self) -> list[int]:
        """Return the number of references to each array of the results, without those of bindings: one each."""
        return [n - len(self._bound) for n in references(self._outputs.values())] + references(self._leaves)

    def _bound_now(self) -> Any:
        """Return the binding for the present buffers of the states.

        A check may give a state other arrays for a while.
        """
        states = self.program.states
        arrays = [c.state.arrays for c in states]
        if any(held is not known for held, known in zip(arrays, self._arrays, strict=True)):
            self._arrays, self._bound = arrays, {}
        sides = tuple([c.state.side for c in states])
        bound = self._bound.get(sides)
        if bound is None:
            bound = self._bound[sides] = self._bind(sides)
        return bound

    def addresses(self) -> dict[str, tuple[int, ...]]:
        """Return the memory addresses of the bound values, by the names of inputs and outputs; of a state both."""
        found = [bound.addresses() for bound in self._bound.values()]
        return {name: tuple(each[name] for each in found) for name in found[0]}

    def _bind(self, sides: Sequence[int]) -> Any:
        """Bind every buffer, with the states' values in these of their two."""
        inputs, outputs = {**self._inputs, **{n: each.array for n, each in self._lying.items()}}, dict(self._outputs)
        for each, side in zip(self.program.states, sides, strict=True):
            inputs[each.input] = each.state.arrays[side]
            if each.output is not None:
                outputs[each.output] = each.state.arrays[1 - side]
        return self.program.session().bound(inputs, outputs)


class PreparedComplex(Prepared):
    """A prepared program with complex results: arrays of their own, which a run fills from both buffers of each."""

    def _renew_outputs(self) -> None:
        super()._renew_outputs()
        parts = trees.whole_leaves(self.program.result, [*self._outputs])
        wholes = zip(self._leaves, parts, strict=True)
        self._wholes = [(whole, names) for whole, names in wholes if isinstance(names, trees.Parts)]

    def _run(self) -> Any:
        result = super()._run()
        for whole, names in self._wholes:
            whole.real, whole.imag = self._outputs[names.real], self._outputs[names.imag]
        return result


def _prepared(program: Runnable, feeds: Mapping[str, AnyArray], results: Mapping[str, Type]) -> Prepared:
    return (PreparedComplex if program.complex_outputs else Prepared)(program, feeds, results)


def _fitting(buffer: AnyArray, leaf: Any, name: str) -> AnyArray:
    """Return an argument as an array like its buffer. Raises DtypeError or ShapeError."""
    given: AnyArray = np.asarray(leaf)
    if isinstance(leaf, float | int) and not isinstance(leaf, np.generic):
        given = np.asarray(leaf, buffer.dtype)
    if given.dtype != buffer.dtype or given.shape != buffer.shape:
        kind = DtypeError if given.dtype != buffer.dtype else ShapeError
        raise kind(
            f"{name} was prepared as {Type(buffer.dtype, buffer.shape)}, and is given as "
            f"{Type(given.dtype, given.shape)}",
            place=tracing.user_place(),
            cure="Prepare the program for these arguments too, or call the program itself.",
        )
    return given


def new_buffer(shape: Iterable[Any], dtype: np.dtype[Any]) -> AnyArray:
    """Return an uninitialized array, and count it."""
    made = np.empty(tuple(shape), dtype)
    Counters.buffers += 1
    Counters.buffer_bytes += made.nbytes
    return made


class Lying:
    """An argument that runs read where it lies. It stays alive, so that its memory is not given to another."""

    def __init__(self, array: AnyArray) -> None:
        self.array = array
        self.address = array.ctypes.data

    def is_of(self, array: AnyArray) -> bool:
        """Whether an argument is this one, and lies where it did."""
        return array is self.array and array.ctypes.data == self.address and array.flags.c_contiguous


LARGE = 2**16
"""The bytes from which binding an argument is quicker than copying it."""
SMALL = 2**18
"""The most bytes of arguments and results of a call that goes through buffers of its program."""


def prepared_for(program: Runnable, leaves: Sequence[Any]) -> Prepared:
    """Return the program prepared for the leaves of a call. Raises SpecError if a result's size depends on data."""
    sizes: dict[str, int] = {}
    arrays = program.check_arrays(leaves, sizes)
    return _prepared(program, dict(zip(program.given_names, arrays, strict=True)), _result_types(program, sizes))


def prepared_if_small(program: Runnable, arrays: Sequence[AnyArray]) -> Prepared | None:
    """Return the program prepared for these arrays; None if they or its results are large, or of unknown size."""
    sizes: dict[str, int] = {}
    program.check_arrays(arrays, sizes)
    try:
        results = _result_types(program, sizes)
    except SpecError:
        return None
    total = [*(a.nbytes for a in arrays), *(t.nbytes() for t in results.values())]
    if sum(n for n in total if isinstance(n, int)) > SMALL or program.session().carried:
        return None
    return _prepared(program, dict(zip(program.given_names, arrays, strict=True)), results)


def _result_types(program: Runnable, sizes: Mapping[str, int]) -> dict[str, Type]:
    """Return the types of the results with these sizes for their symbols. Raises SpecError for unknown sizes."""
    named = [(program.outputs[i], program.block.results[i].type) for i in program.returned]
    return {name: _sized(found, sizes, name) for name, found in named}


def _sized(type: Type, sizes: Mapping[str, int], name: str) -> Type:
    known = set(sizes)
    if type.shape is None or not all(symbols(d) <= known for d in type.shape):
        raise SpecError(
            f"the result {name} is {type}, whose size only the run knows",
            place=tracing.user_place(),
            cure="Call the program itself: it makes new arrays for its results.",
        )
    return Type(type.dtype, [evaluate(d, sizes) for d in type.shape])

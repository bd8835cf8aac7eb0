"""State: what a function keeps from one call to the next, such as an optimizer's moments or running statistics.

`state` creates a slot, which the function reads like an array and writes to with `slot[...] = new`. In plain Python it
is an array. In a trace, the first read creates an input of the program and the last value written a result, so that the
program has no memory of its own; whoever runs it carries the values.

This is not what Mooncake calls the state of a rule. What a forward pass stores for its own pullback is a capture here,
a value of the program; buffers that are allocated once are the runtime's business. A state outlives the call.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from primsplit import tracing
from primsplit.ir import Type, is_held
from primsplit.ir.caching.fingerprint import Same
from primsplit.ir.errors import DtypeError, RunError, ShapeError, SpecError, TraceError
from primsplit.ir.scoped import as_block
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import Held
from primsplit.tracing.frames import innermost

Function = Callable[..., Any]


class State(NDArrayOperatorsMixin, Held):
    """A slot for one array of a fixed dtype and shape, which is read and written like that array.

    Its value starts at `initial`, and `reset` sets it there again. Slots that were created together have one `owner`,
    by which a file tells slots of one name apart. It has two arrays, and `side` says which holds the value: a run reads
    that and writes the other, which `turn` then makes the value. onnxruntime cannot write where it reads. The arrays
    are allocated on demand: a file may declare a state larger than the memory.
    """

    def __init__(self, name: str, initial: npt.ArrayLike, owner: object) -> None:
        self.name = name
        self.owner = owner
        self.initial = _kept(np.asarray(initial))
        self.side = 0

    __hash__ = object.__hash__
    """Slots are told apart by identity: `==` compares elements, as for arrays."""

    def __repr__(self) -> str:
        return f"State {self.name}: {self.type}"

    def depends_on(self) -> tuple[Any, ...]:
        """Return the slot's identity, not its value: that is an input of what reads it."""
        return (Same(self),)

    @property
    def type(self) -> Type:
        """dtype and shape."""
        return Type(self.initial.dtype, self.initial.shape)

    def own(self) -> "State":
        """Return another slot of this name, which starts where this one started."""
        return State(self.name, self.initial, self.owner)

    # The value, where nothing is being traced.

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The two arrays. Raises RunError if there is no memory for them."""
        allocated: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = vars(self).get("_arrays")
        if allocated is None:
            allocated = vars(self).setdefault("_arrays", self._made())
        return allocated

    @arrays.setter
    def arrays(self, arrays: tuple[npt.NDArray[Any], npt.NDArray[Any]]) -> None:
        vars(self)["_arrays"] = arrays

    def _made(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        try:
            return np.array(self.initial, order="C"), np.empty(self.initial.shape, self.initial.dtype)
        except MemoryError:
            told = f"there is no memory for the state {self.name}, {self.type}"
            raise RunError(f"{told} of {self.initial.nbytes / 1e9:.3g} GB") from None

    @property
    def buffers(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The array that holds the value now, and the one for the next value."""
        return self.arrays[self.side], self.arrays[1 - self.side]

    @property
    def now(self) -> npt.NDArray[Any]:
        """The array that holds the value."""
        return self.arrays[self.side]

    def turn(self) -> None:
        """Exchange the two arrays: the one that was written to holds the value from now on."""
        self.side = 1 - self.side

    def assign(self, value: npt.ArrayLike) -> None:
        """Set the value. Raises DtypeError or ShapeError if it is not of the slot's dtype and shape.

        Raises TraceError in a function that is being traced, where the value is written to by `slot[...] = value`.
        """
        self._refuse_in_trace("assigned", f"Write to it there: {self.name}[...] = value.")
        now = self.now
        given = np.asarray(value, now.dtype if type(value) in {bool, int, float} else None)
        if given.dtype != now.dtype:
            raise DtypeError(self._cannot_be(Type(given.dtype, given.shape)), place=tracing.user_place())
        if given.shape != now.shape:
            raise ShapeError(self._cannot_be(Type(given.dtype, given.shape)), place=tracing.user_place())
        np.copyto(now, given)

    def _cannot_be(self, other: Type) -> str:
        return f"the state {self.name} is {self.type}, and cannot be {other}"

    def _refuse_in_trace(self, done: str, cure: str) -> None:
        if tracing.is_recording():
            told = f"the state {self.name} is {done} while a function is traced, when only a run has its value"
            raise TraceError(told, place=tracing.user_place(), cure=cure)

    @as_block
    def holding(self, value: npt.NDArray[Any]) -> Iterator[None]:
        """Replace the value inside, perhaps by one of another dtype or shape."""
        arrays, side = self.arrays, self.side
        self.arrays, self.side = (value.copy(), np.empty_like(value)), 0
        try:
            yield
        finally:
            self.arrays, self.side = arrays, side

    def reset(self) -> None:
        """Set the value to the initial one. Raises TraceError in a function that is being traced."""
        self._refuse_in_trace("reset", "Reset it outside of the function, or write its first value to it.")
        np.copyto(self.now, self.initial)

    # An array, in the user's code.

    def read(self) -> Any:
        """Return the array itself, which may be written to; a traced one while a function is traced."""
        return innermost(self).handle(self) if tracing.is_recording() else self.now

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        written = options.get("out")
        found = getattr(ufunc, method)(*_read(inputs), **_read(options))
        return written[0] if isinstance(written, tuple) and isinstance(written[0], State) else found

    def __array_function__(self, function: Function, types: Any, args: Any, options: Any) -> Any:
        return function(*_read(args), **_read(options))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.read(), dtype)

    def __getitem__(self, key: Any) -> Any:
        return self.read()[key]

    def __setitem__(self, key: Any, new: Any) -> None:
        if tracing.is_recording():
            innermost(self).check_writable(self)
        try:
            self.read()[key] = new.read() if isinstance(new, State) else new
        except ShapeError as error:
            cure = "A state keeps its shape: make it as large as it may become, and write to the part that is used."
            told = f"the state {self.name} is {self.type}: {error.what}"
            raise ShapeError(told, place=error.place, cure=cure if key is Ellipsis else error.cures) from None

    def __len__(self) -> int:
        return len(self.initial)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.read())

    def __contains__(self, item: object) -> bool:
        return item in self.read()

    def __bool__(self) -> bool:
        return bool(self.read())

    def __float__(self) -> float:
        return float(self.read())

    def __int__(self) -> int:
        return int(self.read())

    def __index__(self) -> int:
        return int(self.read().__index__())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.read(), name)


def _kept(initial: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a copy that nobody writes to; of one number broadcast to all elements, of that number alone."""
    if initial.size > 1 and not any(initial.strides):
        return np.broadcast_to(initial[(slice(0, 1),) * initial.ndim].copy().reshape(()), initial.shape)
    kept = np.array(initial, order="C")
    kept.flags.writeable = False
    return kept


def _read(given: Any) -> Any:
    """Replace slots, also in lists, tuples and dicts, by the arrays that they stand for."""
    if isinstance(given, State):
        return given.read()
    if isinstance(given, list | tuple):
        parts = [_read(g) for g in given]
        return parts if isinstance(given, list) else tuple(parts)
    return {k: _read(v) for k, v in given.items()} if isinstance(given, dict) else given


def state(name: str, initial: Any) -> Any:
    """A slot that keeps an array from one call of a function to the next; for nested arrays, slots nested alike.

    Inside a function it is read like an array, and `slot[...] = new` (or `slot[i] = new`, `out=slot`) writes to it. A
    function that is traced gets an input `state.<name>.in` for a slot that it reads or writes, and a result
    `state.<name>.out` for one that it writes; a file lists the pairs and initial values in its metadata.

    A program of `ps.trace` or `ps.load` keeps values of its own between its calls; a transform that is called on
    arrays, such as `ps.grad(f)`, reads and writes the slots themselves, as the function would.

    A state is no argument: it has no gradient unless `wrt` names its input, and what a differentiated function writes
    is kept, like an aux result. What a step of `ps.scan` or another loop writes, the next step reads. In a branch of
    `ps.cond` and under `ps.vmap`, where there would be several values or none, a write raises TraceError, as does a
    slot that is created inside of a function being traced. Raises SpecError for an invalid name, or an initial value
    that is no array of numbers.

    >>> total = ps.state("total", np.zeros(()))
    >>> def accumulate(x):
    ...     total[...] = total + x
    ...     return total * 1.0
    >>> program = ps.trace(accumulate, ps.spec("float64"))
    >>> [float(program(x)) for x in (1.0, 2.0)], program.inputs, program.outputs
    ([1.0, 3.0], ('x', 'state.total.in'), ('y', 'state.total.out'))
    """
    if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
        raise SpecError(
            f"a state cannot be called {name!r}", place=tracing.user_place(), cure="Name it like a variable."
        )
    if tracing.is_recording():
        raise TraceError(
            f"the state {name} is made inside of the function that is traced, which would make another at each call",
            place=tracing.user_place(),
            cure="Make it outside, and let the function read and write it.",
        )
    return slots_of(name, initial)


def slots_of(name: str, initial: Any) -> Any:
    """Return slots of one owner, nested like the initial values.

    Raises SpecError for one that is no array of numbers.
    """
    leaves, spec = trees.flatten(initial)
    named = [".".join([name, *map(str, path)]) for path in trees.paths(spec)]
    owner = object()
    return trees.unflatten(spec, [_slot(n, leaf, owner) for n, leaf in zip(named, leaves, strict=True)])


def _slot(name: str, initial: Any, owner: object) -> State:
    array = None if isinstance(initial, Array) else np.asarray(initial)
    if array is None or not is_held(array.dtype) or array.dtype.kind not in "biuf":
        told = f"a {type(initial).__name__}" if array is None else f"an array of {array.dtype}"
        raise SpecError(
            f"the state {name} cannot start as {told}",
            place=tracing.user_place(),
            cure="Keep its real and its imaginary part as two states."
            if array is not None and array.dtype.kind == "c"
            else "Give it a NumPy array of numbers, made outside of the function.",
        )
    return State(name, array, owner)

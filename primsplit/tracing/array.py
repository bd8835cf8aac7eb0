"""Array: the handle that stands for a NumPy array while a function is traced.

An Array points to a Value of the program. Writing to it (`x[i] = v`, `x += y`, `out=`) makes it point to another Value,
so a program with in-place forms becomes one without. A view (`x[0]`, `x.T`) remembers its base: a write to either is
seen by the other, as in NumPy. The operators and methods look their implementation up in `FUNCTIONS`, which
`primsplit.numpy` fills.

```
y = x.copy()     # y points to x
y[0] = 1.0       # y points to a = ScatterND(x, [0], 1.0)
y += x           # y points to b = Add(a, x)
```

To tell a traced value from NumPy's, use `isinstance(x, ps.Array)`: in the user's code `type(x)` and `x.__class__` are
NumPy's.

An array that the function allocated is contiguous, so that `reshape` and `ravel` of it are views, as in NumPy. The
layout of arguments and of results of arithmetic is unknown: a read after a write through their reshape is refused.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import NOWHERE, Const, Value, Var
from primsplit.ir.dims import Shape
from primsplit.ir.errors import Place, TraceError, UnsupportedFunction
from primsplit.ir.families import Table
from primsplit.tracing.call_stack import frame_out
from primsplit.tracing.handles import integer_ranges
from primsplit.tracing.handles.concretization import (
    ComparedClass,
    kind_of,
    length_of,
    missing_attribute,
    no_branch,
    no_number,
    rows_of,
)
from primsplit.tracing.handles.described import Described
from primsplit.tracing.handles.methods import ARRAYS, KEEPING, METHODS, ArrayMethod, called
from primsplit.tracing.handles.operators import Operators
from primsplit.tracing.handles.traced_text import formatted, is_only_spelled, shown
from primsplit.tracing.handles.truths import truths
from primsplit.tracing.handles.views import View, bases_first, bases_of, unknown_base, unknown_view, writes
from primsplit.tracing.hooks import HOOKS
from primsplit.tracing.registering import claim, entry_of, module_of
from primsplit.tracing.undo_log import note_in_side

FUNCTIONS: Table[Any, Callable[..., Any]] = Table()

_Function = TypeVar("_Function", bound=Callable[..., Any])


def implements(*keys: Any, replace: bool = False) -> Callable[[_Function], _Function]:
    """Register the traced form of these NumPy functions, or, by name, of methods and protocols.

    Raises RuleError where another module has registered one, unless `replace` is True.
    """

    def register(function: _Function) -> _Function:
        for key in keys:
            if not isinstance(key, str):
                known = entry_of(FUNCTIONS, key, function)
                claim("traced form", key, known and module_of(known), module_of(function), replace=replace)
            FUNCTIONS[key] = function
        return function

    return register


class Array(Described, Operators, metaclass=ComparedClass):
    """A traced array: what NumPy's functions, operators and methods record. In a library, `isinstance(x, ps.Array)`.

    `weak` marks a Python number, whose dtype gives way to the other operand's. `scalar` marks a value that, if it has
    no axes, is one of NumPy's numbers (`x[0]`, `x.sum()`) and not an array without axes (`x[0, ...]`, `np.zeros(())`):
    `s += 1` then binds a new number, which other names of the old one do not see. `contiguous` marks an array that is
    known to be contiguous in row-major order, so that `x.reshape(...)` is a view of it.
    """

    __slots__ = (
        "__weakref__", "_recording", "_value", "_view", "contiguous", "poisoned", "scalar", "seen_at", "version", "weak"
    )  # fmt: skip
    __array_priority__ = 1000

    def __init__(self, value: Value, *, weak: bool = False, scalar: bool = False) -> None:
        self._value = value
        self._recording = tracing.current()
        self._view: View | None = None
        self.weak = weak
        if weak and not isinstance(value, Const) and value.type.dtype == np.bool_:
            truths.made += 1
        self.scalar = scalar
        self.contiguous = False
        self.version = 0
        self.seen_at = -1
        """The count of `views.writes` at which it was up to date; what shows arrays of Python's never surely is."""
        self.poisoned: Place | None = None

    @property
    def value(self) -> Value:
        """The Value that this handle stands for now.

        Raises TraceError outside of its trace, or if the value is ambiguous.
        """
        if isinstance(self._value, Var) and not tracing.is_open(self._recording):
            raise tracing.not_open(self._recording)
        self.refresh()
        return self._value

    @property
    def last_value(self) -> Value:
        """The Value that this handle stood for when it was last asked, also outside of its trace."""
        return self._value

    def refresh(self) -> None:
        """Read a view, and the views that it is based on, again if their bases were written to."""
        if self.seen_at == writes.count:
            return
        for array in (self,) if self.view_of is None else bases_first(self):
            array.see_bases()

    def see_bases(self) -> None:
        """Read a view again if its bases, which are up to date, were written to."""
        if self.poisoned is not None:
            raise unknown_base(self.poisoned)
        view = self._view
        if view is not None and not view.is_current():
            if view.write is None:
                raise unknown_view()
            with tracing.resumed(self._recording):
                self._value = view.read_anew().value
            self.version += 1
        if view is None or all(base.seen_at == writes.count for base in view.bases):
            self.seen_at = writes.count

    def assign(self, new: "Array") -> None:
        """Replace the value of this handle, its base and its other views by `new`, of the same shape and dtype."""
        if self._recording is not tracing.current():
            note_in_side(self)  # a side of a joined statement may borrow it
        if self._recording is not tracing.current():
            raise TraceError(
                "an array of an enclosing function is written to inside an inner trace",
                place=tracing.user_place(),
                cure="Return the new array from the inner function instead.",
            )
        view = self._view
        if view is not None:
            new = Array(new.value)  # as it is now: it may be what is written to here, or a view of that
            if view.write is None:
                # It is cut off from what it was taken from, whose elements are not known any more.
                for base in view.bases:
                    base.poison()
                self._view = None
            else:
                view.pass_on(view.write, new)
        self._value = new.value
        self.version += 1
        writes.count += 1

    def poison(self) -> None:
        """Refuse any later read of this array and its bases: whether a function wrote to them is unknown."""
        for array in (self, *bases_of(self)):
            array.poisoned = tracing.user_place() or NOWHERE
        writes.count += 1

    @property
    def recording(self) -> tracing.Recording:
        """The recording that this belongs to."""
        return self._recording

    def own(self) -> "Array":
        """Return another handle of the same value, which belongs to the current recording."""
        return Array(self.value, weak=self.weak, scalar=self.scalar)

    def is_number(self) -> bool:
        """Whether it is a number of Python's or NumPy's, which cannot be written to."""
        return (self.weak or self.scalar) and self.shape == () and self._view is None

    def holding(self, value: Value, recording: tracing.Recording | None = None) -> "Array":
        """Return the handle itself, pointed to another Value of its type, in this recording if one is passed."""
        self._value, self._recording = value, recording or self._recording
        writes.count += 1
        return self

    @property
    def view_of(self) -> View | None:
        """The View that this is, or None."""
        return self._view

    def viewing(
        self, base: "Array", read: Callable[["Array"], "Array"], write: Callable[["Array", "Array"], "Array"] | None
    ) -> "Array":
        """Return the handle itself, declared a view of `base`; numbers have no views: `x[0][None]` is a new array."""
        return self if base.is_number() else self.being(View(base, read, write))

    def being(self, view: View | None) -> "Array":
        """Return the handle itself, declared to be this view, or none."""
        self._view = view
        writes.count += 1
        return self

    @property  # type: ignore[misc]  # object's may be written to
    def __class__(self) -> Any:
        """The class that `isinstance` sees: in the user's code that of the NumPy value, `np.ndarray` or a number's."""
        return kind_of(self, frame_out(1), Array)

    def __repr__(self) -> str:
        return shown(self, repr)

    def __str__(self) -> str:
        return shown(self, str)

    def __format__(self, how: str) -> str:
        return formatted(self, how)

    def identity(self) -> Hashable:
        """Return a key that distinguishes this handle's current value from others."""
        return self.value

    def __copy__(self) -> "Array":
        return self.copy()  # type: ignore[no-any-return]

    def __deepcopy__(self, memo: dict[int, Any]) -> "Array":
        return self.copy()  # type: ignore[no-any-return]

    __len__ = ArrayMethod(length_of)
    __iter__ = ArrayMethod(rows_of)

    def __contains__(self, item: object) -> bool:
        return bool((self == item).any())

    # What only a run can answer.

    def __bool__(self) -> bool:
        known = self.truth()
        if known is not None:
            return known
        path = tracing.current().path
        if path is not None:
            return path.decide(HOOKS.scalar_condition(self), tracing.user_place())
        raise no_branch(self.type)

    def __float__(self) -> float:
        if self.known() is None and is_only_spelled(frame_out(1)):
            return float("nan")  # which "%.3f" spells, for people
        return float(self._number("float()"))

    def __int__(self) -> int:
        return int(self._number("int()", is_cut=True))

    def __complex__(self) -> complex:
        return complex(self._number("complex()"))

    def __index__(self) -> int:
        return int(self._number("an integer index"))

    def __hash__(self) -> int:  # type: ignore[override]  # a number that is known is a key, as NumPy's own are
        if not self.is_number() and self.known() is None:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        return hash(self._number("a hash")[()])

    def checked(self, wrong: "Array", error: Exception, *, is_pythons: bool = True) -> "Array":
        """Return the array; a run in which an element of `wrong` is True fails with this error.

        An error that Python would not raise there, which is not `is_pythons`, is none that the function catches.
        """
        result: Array = HOOKS.checked(self, wrong, error, is_pythons=is_pythons)
        return result

    def integer(self, rounding: Callable[..., Any]) -> Any:
        """Return the number rounded by `np.rint`, `np.trunc`, `np.floor` or `np.ceil`, as a Python integer."""
        return HOOKS.rounded_integer(self, rounding)

    def item(self, *args: int) -> Any:
        """As in NumPy; a traced Python number, unless this is a constant."""
        known = self.known()
        return FUNCTIONS["item"](self, *args) if known is None else known.item(*args)

    def tolist(self) -> Any:
        """As in NumPy; nested lists of traced Python numbers, unless this is a constant."""
        known = self.known()
        return FUNCTIONS["tolist"](self) if known is None else known.tolist()

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        known = self._number("a NumPy array (np.asarray, np.array or a function that calls it)")
        return np.array(known, dtype, copy=copy)

    def truth(self) -> bool | None:
        """Return the truth value, if this is a constant or an integer whose range decides it."""
        known = self.known()
        if known is None and self.weak and self.dtype.kind == "i" and self.is_number():
            return integer_ranges.decided(np.not_equal, self, 0)
        return None if known is None else bool(known)

    def known(self) -> npt.NDArray[Any] | None:
        """Return the elements, if this is a constant of the program that no input may replace."""
        value = self.value
        return value.numpy() if isinstance(value, Const) and not value.is_weight else None

    def _number(self, what: str, *, is_cut: bool = False) -> npt.NDArray[Any]:
        """Return the elements, or the integer (`is_cut`: the integer part) that the arrays of a guard determine."""
        known = self.known()
        if known is None:
            known = HOOKS.whole_number(self, is_cut=is_cut)
        if known is None:
            raise no_number(self.type, what)
        return known

    # NumPy's protocols.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return HOOKS.apply_ufunc(ufunc, method, *inputs, **options)

    def __array_function__(
        self, function: Callable[..., Any], types: Sequence[Any], args: Sequence[Any], options: dict[str, Any]
    ) -> Any:
        if function not in FUNCTIONS:
            raise unsupported(f"{getattr(function, '__module__', 'numpy')}.{function.__name__}")
        result = called(FUNCTIONS[function], function, args, options)
        if function in KEEPING and args and isinstance(args[0], Array) and args[0].is_number():
            return made_of_number(result, scalar=not args[0].weak)
        return numbers_of(function, result, options)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return FUNCTIONS["namespace"]()

    # Attributes that are functions.

    @property
    def T(self) -> "Array":
        """The axes reversed."""
        reversed_axes: Array = self.transpose()
        return reversed_axes

    @property
    def mT(self) -> "Array":
        """The last two axes swapped."""
        swapped: Array = self.swapaxes(-1, -2)
        return swapped

    @property
    def real(self) -> "Array":
        """The array itself: its numbers are real."""
        return self

    @property
    def imag(self) -> "Array":
        """Zeros: its numbers are real."""
        zeros: Array = FUNCTIONS[np.imag](self)
        return zeros

    @property
    def flat(self) -> "Array":
        """The elements in a row, a view."""
        elements: Array = FUNCTIONS["flat"](self)
        return elements

    @flat.setter
    def flat(self, new: Any) -> None:
        FUNCTIONS["flat = y"](self, new)

    @property
    def strides(self) -> Shape:
        """The bytes from an element to the next along each axis, of an array in row-major order."""
        bytes_apart: Shape = FUNCTIONS["strides"](self)
        return bytes_apart

    def __getitem__(self, key: Any) -> "Array":
        part: Array = FUNCTIONS["getitem"](self, key)
        return part

    def __setitem__(self, key: Any, new: Any) -> None:
        FUNCTIONS["setitem"](self, key, new)

    def __getattr__(self, name: str) -> Any:
        method = METHODS.get(name)
        if method is None:
            raise missing_attribute(name)
        implementation = FUNCTIONS[method]
        if self.is_number() and method in KEEPING:
            return lambda *args, **options: made_of_number(implementation(self, *args, **options), scalar=True)
        return lambda *args, **options: numbers_of(method, implementation(self, *args, **options), options)


def unsupported(name: str) -> UnsupportedFunction:
    """Return the error for a function that has no traced form."""
    return UnsupportedFunction(
        f"{name} has no form for traced arrays",
        place=tracing.user_place(),
        cure="Write it with other NumPy functions, or wrap it with ps.primitive and give it a rule with ps.rrule.",
    )


def numbers_of(function: Any, result: Any, options: Mapping[str, Any]) -> Any:
    """Return the result of a function, marked as a number where NumPy returns one."""
    if options.get("out") is not None or (isinstance(function, Hashable) and function in ARRAYS):
        return result
    if isinstance(result, Array):
        return _number_of(result)
    for part in result if isinstance(result, list | tuple) else ():
        if isinstance(part, Array):
            part.scalar = True
    return result


def made_of_number(result: Array, *, scalar: bool) -> Array:
    """Return the result of a function of a number, which is never a view: a number, or with `scalar` false an array."""
    made = result.own()
    made.weak, made.scalar = False, scalar
    return made


def _number_of(result: Array) -> Array:
    """Return the result as a number of NumPy's, if it has no axes."""
    if result.weak:
        return Array(result.value, scalar=True)
    result.scalar = True
    return result

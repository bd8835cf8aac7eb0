"""Array: the handle that stands for a NumPy array while a function is traced.

An Array points to a Value of the program. Writing to it (`x[i] = v`, `x += y`, `out=`) makes it point to another
Value, so a program with in-place forms becomes one without. A view (`x[0]`, `x.T`) remembers what it was taken from:
a write to either is seen by the other, as in NumPy. The operators and methods look their implementation up in
`FUNCTIONS`, which `primsplit.numpy` fills.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import trace
from primsplit.dims import Dim, Shape, Size, product
from primsplit.errors import ConcretizationError, TraceError, UnsupportedFunction
from primsplit.ir import Const, Type, Value, Var

FUNCTIONS: dict[Any, Callable[..., Any]] = {}


def implements(*keys: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the traced form of these NumPy functions (or, by name, of methods and protocols)."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for key in keys:
            FUNCTIONS[key] = function
        return function

    return register


class View:
    """What a view was taken from, how to read it anew, and how to write through it.

    `write` is None where NumPy might have made a copy instead, which only the memory layout tells.
    """

    __slots__ = ("base", "read", "seen", "write")

    def __init__(
        self,
        base: "Array",
        read: Callable[["Array"], "Array"],
        write: Callable[["Array", "Array"], "Array"] | None,
    ) -> None:
        self.base = base
        self.read = read
        self.write = write
        self.seen = base.version


class Array:
    """A traced array. `weak` marks a Python number, whose dtype gives way to the other operand's."""

    __slots__ = ("__weakref__", "_recording", "_value", "_view", "poisoned", "version", "weak")
    __array_priority__ = 1000

    def __init__(self, value: Value, *, weak: bool = False) -> None:
        self._value = value
        self._recording = trace.current()
        self._view: View | None = None
        self.weak = weak
        self.version = 0
        self.poisoned = False

    @property
    def value(self) -> Value:
        """The Value this handle stands for now. Raises TraceError where it left its trace, or is ambiguous."""
        if isinstance(self._value, Var) and not trace.is_open(self._recording):
            raise TraceError(
                "a traced value is used outside the function that it belongs to",
                place=trace.user_place(),
                cure="Return it from the traced function instead of storing it.",
            )
        if self.poisoned:
            raise TraceError(
                "whether this array sees a write made through its reshaped view depends on its memory layout",
                place=trace.user_place(),
                cure="Write x = x.reshape(...).copy() before writing to it.",
            )
        view = self._view
        if view is not None and view.seen != view.base.version:
            if view.write is None:
                raise TraceError(
                    "whether this view sees the write to its base depends on the memory layout",
                    place=trace.user_place(),
                    cure="Take the view after the write, or .copy() it before.",
                )
            self._value = view.read(view.base).value
            view.seen = view.base.version
            self.version += 1
        return self._value

    def assign(self, new: "Array") -> None:
        """Make this handle, its base and its other views see `new`, which has this array's shape and dtype."""
        if self._recording is not trace.current():
            raise TraceError(
                "an array of an enclosing function is written to inside an inner trace",
                place=trace.user_place(),
                cure="Return the new array from the inner function instead.",
            )
        view = self._view
        if view is not None:
            if view.write is None:
                self._view = None
                view.base.poisoned = True
            else:
                view.base.assign(view.write(view.base, new))
                view.seen = view.base.version
        self._value = new.value
        self.version += 1

    def viewing(
        self, base: "Array", read: Callable[["Array"], "Array"], write: Callable[["Array", "Array"], "Array"] | None
    ) -> "Array":
        """This handle, declared a view of `base`."""
        self._view = View(base, read, write)
        return self

    # What NumPy knows of an array without its elements.

    @property
    def type(self) -> Type:
        """dtype and shape."""
        return self._value.type

    @property
    def dtype(self) -> np.dtype[Any]:
        """As in NumPy."""
        return self._value.type.dtype

    @property
    def shape(self) -> Shape:
        """As in NumPy; sizes known only at run time are `Size` expressions."""
        shape = self._value.type.shape
        if shape is None:
            raise TraceError("the rank of this value is not known", place=trace.user_place())
        return shape

    @property
    def ndim(self) -> int:
        """As in NumPy."""
        return len(self.shape)

    @property
    def size(self) -> Dim:
        """As in NumPy."""
        return product(self.shape)

    @property
    def itemsize(self) -> int:
        """As in NumPy."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> Dim:
        """As in NumPy."""
        return self.size * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"Array({self._value.type})"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return _static(self.shape[0], "len()")

    def __iter__(self) -> Iterator["Array"]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return iter([self[i] for i in range(_static(self.shape[0], "iteration"))])

    def __contains__(self, item: object) -> bool:
        raise _no_number(self, "`in`")

    __hash__ = None  # type: ignore[assignment]  # as in NumPy

    # What only a run can answer.

    def __bool__(self) -> bool:
        known = self.known()
        if known is not None:
            return bool(known)
        raise ConcretizationError(
            "a branch depends on a value that is known only at run time",
            place=trace.user_place(),
            because=(f"the condition is {self.dtype}[{','.join(map(str, self.shape))}]",),
            cure="Use np.where(condition, a, b), or pass the value as a static Python argument.",
        )

    def __float__(self) -> float:
        return float(self._number("float()"))

    def __int__(self) -> int:
        return int(self._number("int()"))

    def __complex__(self) -> complex:
        return complex(self._number("complex()"))

    def __index__(self) -> int:
        return int(self._number("an integer index"))

    def item(self, *args: int) -> Any:
        """As in NumPy, for a constant; else a ConcretizationError."""
        return self._number(".item()").item(*args)

    def tolist(self) -> Any:
        """As in NumPy, for a constant; else a ConcretizationError."""
        return self._number(".tolist()").tolist()

    def __array__(self, dtype: npt.DTypeLike = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self._number("a NumPy array (np.asarray, np.array or a function that calls it)"), dtype)

    def known(self) -> npt.NDArray[Any] | None:
        """The elements, where this is a constant of the program."""
        value = self.value
        return value.numpy() if isinstance(value, Const) else None

    def _number(self, what: str) -> npt.NDArray[Any]:
        known = self.known()
        if known is None:
            raise _no_number(self, what)
        return known

    # NumPy's protocols.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return FUNCTIONS["ufunc"](ufunc, method, *inputs, **options)

    def __array_function__(
        self, function: Callable[..., Any], types: Sequence[type], args: Sequence[Any], options: dict[str, Any]
    ) -> Any:
        if function not in FUNCTIONS:
            raise unsupported(f"{getattr(function, '__module__', 'numpy')}.{function.__name__}")
        return FUNCTIONS[function](*args, **options)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return FUNCTIONS["namespace"]()

    # Attributes that are functions.

    @property
    def T(self) -> "Array":
        """The axes reversed."""
        return self.transpose()

    @property
    def mT(self) -> "Array":
        """The last two axes swapped."""
        return self.swapaxes(-1, -2)

    @property
    def real(self) -> "Array":
        """The array itself: there are no complex numbers here."""
        return self

    @property
    def flat(self) -> "Array":
        """The elements in a row, for reading."""
        return self.ravel()

    def __getitem__(self, key: Any) -> "Array":
        found: Array = FUNCTIONS["getitem"](self, key)
        return found

    def __setitem__(self, key: Any, new: Any) -> None:
        FUNCTIONS["setitem"](self, key, new)

    def __getattr__(self, name: str) -> Any:
        method = METHODS.get(name)
        if method is None:
            raise AttributeError(f"a traced array has no attribute {name!r}")
        implementation = FUNCTIONS[method]
        return lambda *args, **options: implementation(self, *args, **options)


def _static(dim: Dim, what: str) -> int:
    if isinstance(dim, Size):
        raise ConcretizationError(
            f"{what} asks for the size {dim}, which is known only at run time",
            place=trace.user_place(),
            cure="Work on the whole axis at once, loop over it with scan, or give it a fixed size in the spec.",
        )
    return dim


def _no_number(array: Array, what: str) -> ConcretizationError:
    return ConcretizationError(
        f"{what} was asked of a value that is known only at run time",
        place=trace.user_place(),
        because=(f"it is {array.type}",),
        cure="Keep to NumPy functions of the array, pass the number as a static argument, or stop_gradient outside.",
    )


def unsupported(name: str) -> UnsupportedFunction:
    """The error for a function that traced arrays do not have."""
    return UnsupportedFunction(
        f"{name} has no form for traced arrays",
        place=trace.user_place(),
        cure="Write it with other NumPy functions, or wrap it with ps.primitive and give it a rule with ps.rrule.",
    )


METHODS: dict[str, Any] = {
    "all": np.all, "any": np.any, "argmax": np.argmax, "argmin": np.argmin, "argsort": np.argsort,
    "clip": np.clip, "compress": np.compress, "conj": np.conjugate, "conjugate": np.conjugate, "copy": np.copy,
    "cumprod": np.cumprod, "cumsum": np.cumsum, "diagonal": np.diagonal, "dot": np.dot, "max": np.max,
    "mean": np.mean, "min": np.min, "nonzero": np.nonzero, "prod": np.prod, "ravel": np.ravel, "repeat": np.repeat,
    "reshape": "reshape", "round": np.round, "searchsorted": np.searchsorted, "squeeze": np.squeeze, "std": np.std,
    "sum": np.sum, "swapaxes": np.swapaxes, "take": np.take, "trace": np.trace, "transpose": "transpose",
    "var": np.var, "astype": "astype", "flatten": "flatten", "fill": "fill", "put": np.put, "sort": "sort_in_place",
    "view": "view",
}  # fmt: skip


def _binary(ufunc: np.ufunc) -> Callable[[Array, Any], Any]:
    def operator(self: Array, other: Any) -> Any:
        if hasattr(other, "__array_ufunc__") and other.__array_ufunc__ is None:
            return NotImplemented
        return FUNCTIONS["ufunc"](ufunc, "__call__", self, other)

    return operator


def _reflected(ufunc: np.ufunc) -> Callable[[Array, Any], Any]:
    return lambda self, other: FUNCTIONS["ufunc"](ufunc, "__call__", other, self)


def _in_place(ufunc: np.ufunc) -> Callable[[Array, Any], Array]:
    def operator(self: Array, other: Any) -> Array:
        FUNCTIONS["ufunc"](ufunc, "__call__", self, other, out=(self,))
        return self

    return operator


def _unary(ufunc: np.ufunc) -> Callable[[Array], Any]:
    return lambda self: FUNCTIONS["ufunc"](ufunc, "__call__", self)


_ARITHMETIC = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift, "divmod": np.divmod,
}  # fmt: skip
_COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_SIGNS = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}

for _name, _ufunc in _ARITHMETIC.items():
    setattr(Array, f"__{_name}__", _binary(_ufunc))
    setattr(Array, f"__r{_name}__", _reflected(_ufunc))
    if _name != "divmod":
        setattr(Array, f"__i{_name}__", _in_place(_ufunc))
for _name, _ufunc in _COMPARISONS.items():
    setattr(Array, f"__{_name}__", _binary(_ufunc))
for _name, _ufunc in _SIGNS.items():
    setattr(Array, f"__{_name}__", _unary(_ufunc))


def lift(value: Any, dtype: npt.DTypeLike = None) -> Value:
    """The Value of anything that may stand for an array: an Array, NumPy array, number, size, or list of those sizes.

    Python numbers take `dtype` where it is given. Raises TraceError for what is none of these.
    """
    if isinstance(value, Array):
        return value.value
    if isinstance(value, Var | Const):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return _constant(np.asarray(value))
    if isinstance(value, Size):
        return _scalar_size(value)
    if isinstance(value, bool | int | float):
        return Const(np.asarray(value, dtype=dtype))
    if isinstance(value, list | tuple) and all(isinstance(v, int | Size) for v in value):
        return trace.size_vector(value)
    raise TraceError(
        f"{type(value).__name__} cannot stand for an array in a traced function",
        place=trace.user_place(),
        cure="Pass arrays or numbers; join traced values with np.stack or np.concatenate.",
    )


def _constant(array: npt.NDArray[Any]) -> Const:
    if array.dtype.kind in "cOMmV" and array.dtype.name != "bfloat16":
        raise TraceError(f"arrays of dtype {array.dtype} cannot be part of a program", place=trace.user_place())
    return Const(array, place=trace.user_place())


def _scalar_size(size: Size) -> Value:
    return trace.emit("Squeeze", [trace.size_of(size), Const(np.array([0]))])[0]


def as_array(value: Any, dtype: npt.DTypeLike = None) -> Array:
    """An Array of anything that `lift` takes; Python numbers and sizes are weak."""
    if isinstance(value, Array):
        return value
    weak = isinstance(value, bool | int | float | Size) and not isinstance(value, bool | np.generic)
    return Array(lift(value, dtype), weak=weak)


Size.lift = as_array

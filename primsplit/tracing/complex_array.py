"""ComplexArray: the handle of a complex array, which is a pair of real ones.

```
z = x + 1j * y      # real x, imag y
w = z * z           # real x*x - y*y, imag x*y + y*x: Mul, Sub, Add on real arrays
```
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import Type, Value
from primsplit.ir.dims import Shape
from primsplit.ir.errors import DtypeError, TraceError, UnsupportedFunction
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import zeros_like
from primsplit.tracing.handles.methods import METHODS
from primsplit.tracing.handles.views import View
from primsplit.tracing.trees import COMPLEX_OF

OFFERED: dict[Any, Callable[..., Any]] = {}
"""The functions and methods that take complex arrays, by their keys in `array.FUNCTIONS`."""


class ComplexArray(Array):
    """A traced complex array: its views, writes and recordings are those of its real and its imaginary part.

    A part of None is 0 everywhere, and computed on demand. `value`, which a program would hold, is refused.
    """

    __slots__ = ("_imag", "_place", "_real")

    def __init__(self, real: Array | None, imag: Array | None, *, weak: bool = False) -> None:
        self._recording = tracing.current()
        self._view = None
        self._real = real
        self._imag = imag
        self._place = tracing.user_place()
        self.weak = weak
        self.scalar = False
        self.contiguous = False
        self.version = 0
        self.poisoned = None

    @property
    def parts(self) -> tuple[Array | None, Array | None]:
        """The real and the imaginary part, None for one that is 0 everywhere."""
        return self._real, self._imag

    def own(self) -> "ComplexArray":
        """Return another handle of the same values, which belongs to the current recording."""
        parts = (None if p is None else Array(p.value, weak=p.weak, scalar=p.scalar) for p in self.parts)
        copy = ComplexArray(*parts, weak=self.weak)
        copy.scalar = self.scalar
        return copy

    def _part(self) -> Array:
        part = self._imag if self._real is None else self._real
        if part is None:
            raise TraceError("a complex array has no parts", place=tracing.user_place())
        return part

    def _zeros(self) -> Array:
        """Return zeros like the other part, a constant if that is one, recorded where the array was created."""
        part = self._part()
        known = part.known()
        with tracing.resumed(self._recording):
            return zeros_like(part) if known is None else Array(tracing.constant(np.zeros_like(known)))

    @property
    def real(self) -> Array:
        """The real part, which can be written to."""
        if self._real is None:
            self._real = self._zeros()
        return self._real

    @real.setter
    def real(self, new: Any) -> None:
        if new is not self._real:
            self.real[...] = new

    @property
    def imag(self) -> Array:
        """The imaginary part, which can be written to."""
        if self._imag is None:
            self._imag = self._zeros()
        return self._imag

    @imag.setter
    def imag(self, new: Any) -> None:
        if new is not self._imag:
            self.imag[...] = new

    @property
    def value(self) -> Value:
        """Refused with a TraceError: a program holds real numbers."""
        raise TraceError(
            f"a complex array, {self.type}, is no value of a program: it cannot go into a primitive that has a rule, "
            "nor into an operator of ONNX",
            place=tracing.user_place(),
            because=() if self._place is None else (f"it was made at {self._place}",),
            cure="Use z.real and z.imag, or both as one array: np.stack([z.real, z.imag]).",
        )

    @property
    def type(self) -> Type:
        """dtype and shape."""
        return Type(self.dtype, self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """complex64 or complex128."""
        return COMPLEX_OF[self._part().dtype]

    @property  # type: ignore[misc]  # Array's has a setter, which only refuses
    def shape(self) -> Shape:
        """As in NumPy."""
        return self._part().shape

    @property
    def view_of(self) -> View | None:
        """The View that the parts are, or None."""
        return self._part().view_of

    def identity(self) -> Hashable:
        """Return a key that distinguishes the current values from others."""
        return tuple(None if p is None else p.identity() for p in (self._real, self._imag))

    def is_number(self) -> bool:
        """Whether it is a number of Python's or NumPy's."""
        return (self.weak or self.scalar) and self.shape == () and self._part().view_of is None

    def assign(self, new: Array) -> None:
        """Replace the parts, and their bases, by the parts of `new`, which has this array's shape."""
        self.real.assign(new.real)
        self.imag.assign(new.imag)
        self.version += 1

    def known(self) -> npt.NDArray[Any] | None:
        """Return the elements, if both parts are constants of the program."""
        found = [np.zeros((), self._part().dtype) if p is None else p.known() for p in (self._real, self._imag)]
        real, imaginary = found
        return None if real is None or imaginary is None else np.asarray(real + 1j * imaginary, self.dtype)

    def __bool__(self) -> bool:
        return bool(Array(op.Not(op.And(op.Equal(self.real, 0.0), op.Equal(self.imag, 0.0))).value))

    def __float__(self) -> float:
        return _no_real("float()")

    def __int__(self) -> int:
        return _no_real("int()")

    def __index__(self) -> int:
        return _no_real("an index")

    def __array_function__(
        self, function: Callable[..., Any], types: Sequence[Any], args: Sequence[Any], options: dict[str, Any]
    ) -> Any:
        if function not in OFFERED:
            module = (getattr(function, "__module__", None) or "numpy").replace("numpy", "np", 1)
            error = refused(f"{module}.{function.__name__}")
            error.again = function is np.trim_zeros  # which NumPy's polynomials call, and which keeps all sizes there
            raise error
        return super().__array_function__(function, types, args, options)

    def __getattr__(self, name: str) -> Any:
        method = METHODS.get(name)
        if isinstance(method, Hashable) and method is not None and method not in OFFERED:
            raise refused(f"the method {name}")
        return super().__getattr__(name)


def _no_real(what: str) -> NoReturn:
    raise DtypeError(
        f"{what} was asked of a complex array", place=tracing.user_place(), cure="Write z.real, or np.abs(z)."
    )


CURES = {
    "np.real_if_close": "Write z.real: whether NumPy drops the imaginary part depends on its values.",
    "np.unique": "Make its real and imaginary parts the columns of an array: np.unique(parts, axis=0).",
}
"""Advice for some functions."""


def refused(name: str, cure: str = "") -> UnsupportedFunction:
    """Return the error for a function that complex arrays do not have."""
    return UnsupportedFunction(
        f"{name} has no form for traced complex arrays",
        place=tracing.user_place(),
        cure=cure
        or CURES.get(name)
        or "Write it with z.real and z.imag, with np.abs(z) and np.angle(z), or with other functions of z.",
    )

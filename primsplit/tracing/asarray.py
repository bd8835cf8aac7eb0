"""Convert what may stand for an array in a traced function (numbers, NumPy arrays, sizes) to Values and Arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import Const, Value, Var, data_of, is_held
from primsplit.ir.dims import Size
from primsplit.ir.errors import DtypeError, TraceError
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.converting import method_of
from primsplit.tracing.hooks import HOOKS
from primsplit.tracing.places import place_of_array


class Held:
    """A holder of an array that is read again at each use, by `read()`: a traced array while a function is traced."""

    read: Callable[[], Any]


def array_held(value: Any) -> Array | None:
    """Return the traced array that an object's `__array__` returns; None if it returns no traced one."""
    if isinstance(value, np.ndarray | np.generic | Array | Held) or not hasattr(type(value), "__array__"):
        return None
    held = method_of(value, "__array__")()
    return held if isinstance(held, Array) else None


def lift(value: Any, dtype: npt.DTypeLike | None = None) -> Value:
    """Return the Value of anything that may stand for an array: an Array, NumPy array, number, size, or list of sizes.

    Python numbers take `dtype` if it is passed. Raises TraceError for anything else.
    """
    if isinstance(value, Array):
        return value.value
    if isinstance(value, Var | Const):
        return value
    if isinstance(value, np.ndarray | np.generic | np.flatiter):
        return _constant(plain(value), value)
    if isinstance(value, Size):
        return _scalar_size(value)
    if isinstance(value, Held):
        return lift(value.read())
    if isinstance(value, bool | int | float):
        number = np.asarray(value, dtype=dtype)
        number.flags.writeable = False
        return Const(number)
    if isinstance(value, list | tuple) and all(isinstance(v, int | Size) for v in value):
        return tracing.size_vector(value)
    if (held := array_held(value)) is not None:
        return held.value
    error = TraceError(
        f"{type(value).__name__} cannot stand for an array in a traced function",
        place=tracing.user_place(),
        cure="Pass arrays or numbers; join traced values with np.stack or np.concatenate.",
    )
    # A text is what SciPy's functions compare a parameter with that may be a number or the name of one.
    error.again = isinstance(value, list | tuple | str)
    raise error


def param(array: npt.ArrayLike, name: str) -> Any:
    """The array, as a parameter of the program that is being traced.

    Its numbers are part of the program, and `wrt=name` makes it an input with these numbers as its default, which has a
    gradient. Outside of a trace it is the array itself. A complex one is two, `name.real` and `name.imag`, which
    `wrt=name` makes inputs both. Raises DtypeError for an array that a program cannot hold, such as a masked one. Two
    arrays of one name make the trace raise SpecError.

    >>> weights = np.array([1.0, 2.0])
    >>> program = ps.split(lambda x: np.sum(ps.param(weights, "w") * x), ps.spec("float64", [2]), wrt="w")
    >>> program.joint().outputs
    ('y', 'd_w')
    """
    if not tracing.is_recording():
        return array
    held = plain(array if isinstance(array, np.ndarray) else np.asarray(array))
    if held.dtype.kind == "c":
        return HOOKS.complex_whole(param(held.real, f"{name}.real"), param(held.imag, f"{name}.imag"))
    return Array(Const(data_of(held, name), hint=name, place=tracing.user_place(), role="param"))


def plain(value: "npt.NDArray[Any] | np.generic | np.flatiter[Any]") -> npt.NDArray[Any]:
    """Return the value as a NumPy array. Raises DtypeError for a matrix or masked array, whose operators differ."""
    if isinstance(value, np.matrix | np.ma.MaskedArray):
        raise DtypeError(
            f"a {type(value).__name__} cannot be part of a program",
            place=tracing.user_place(),
            cure="Pass np.asarray(x), and a mask as an array of its own.",
        )
    return np.asarray(value)


def _constant(array: npt.NDArray[Any], given: object) -> Const:
    """Return the constant of an array, which is `given` in the user's function."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not is_held(array.dtype):
        cure = "Where a complex array cannot stand, z.real and z.imag can." if array.dtype.kind == "c" else ""
        told = f"arrays of dtype {array.dtype} cannot be part of a program"
        raise TraceError(told, place=tracing.user_place(), cure=cure)
    return Const(data_of(array), place=place_of_array(given) if array.ndim else tracing.user_place())


def _scalar_size(size: Size) -> Value:
    return tracing.emit("Squeeze", [tracing.size_of(size), Const(np.array([0]))])[0]


def as_array(value: Any, dtype: npt.DTypeLike | None = None) -> Array:
    """Return an Array of anything that `lift` takes; Python numbers and sizes are weak, NumPy's numbers are scalars."""
    if isinstance(value, Array):
        return value
    if isinstance(value, Held):
        return as_array(value.read())
    weak = isinstance(value, bool | int | float | Size) and not isinstance(value, np.generic)
    return Array(lift(value, dtype), weak=weak, scalar=isinstance(value, np.generic))


def array_like(value: Any) -> Array:
    """Return an Array of anything that `np.asarray` takes, such as a nested list with traced numbers in it.

    >>> ps.grad(lambda x: (extend.array_like([x[0], [2.0]][0]) * x[1]).sum())(np.array([3.0, 4.0])).tolist()
    [4.0, 3.0]
    """
    if isinstance(value, Array) or not isinstance(value, list | tuple | range):
        return as_array(value)
    if not holds_traced(value):
        return as_array(np.asarray(value))
    if all(isinstance(v, int | Size) for v in value):
        return as_array(value)
    stacked: Array = FUNCTIONS[np.stack]([array_like(v) for v in value])
    return stacked


def holds_traced(value: Any) -> bool:
    """Whether the value is a traced array or symbolic size, or a list or tuple with one in it."""
    return isinstance(value, Array | Size | Held) or (isinstance(value, list | tuple) and any(map(holds_traced, value)))


def plain_or_traced(value: Any) -> Any:
    """Return a traced array of what holds traced values, a NumPy array of anything else."""
    return array_like(value) if holds_traced(value) else np.asarray(value)


Size.lift = as_array
Size.place = staticmethod(tracing.user_place)

"""Substitutes for Python's number classes where they are called to convert: `float(x)`, `int(x)`, `complex(x)`.

Python lets no object say what `float(x)` is. So while a function is run again, these names mean classes in the modules
of installed packages that give traced numbers for traced ones. The user's own code is told what to write instead, but
for `int`. In all else they are what they stand for: as a dtype, for `isinstance`, compared, as a base. Only `is` tells
them from a class that was read elsewhere, as in `dtype is float`: a module that asks so keeps its own.
"""

import builtins
import functools
import linecache
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir.caching.fingerprint import is_library
from primsplit.ir.dims import Size
from primsplit.numpy.complex.joining import astype
from primsplit.numpy.complex.operands import holds_complex, operand
from primsplit.numpy.second_run import is_again
from primsplit.numpy.ufuncs import ELEMENTWISE, cast_to
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.asarray import as_array, holds_traced
from primsplit.tracing.handles.concretization import numpys_class
from primsplit.tracing.hooks import HOOKS


class StandingClass(type):
    """The class of classes that stand for others, their `original`."""

    original: type
    traced: Callable[..., Any]

    def __new__(meta, name: str, bases: tuple[type, ...], held: dict[str, Any]) -> Any:
        """A class of the user's that is derived from one of these is derived from the original."""
        return builtins.type(name, tuple(getattr(b, "original", b) for b in bases), held)

    def __call__(cls, *args: Any, **options: Any) -> Any:
        is_traced = is_again() and any(map(holds_traced, (*args, *options.values())))
        return (cls.traced if is_traced else cls.original)(*args, **options)

    def __instancecheck__(cls, instance: Any) -> bool:
        kind = numpys_class(instance) if isinstance(instance, Array) else builtins.type(instance)
        return issubclass(kind, cls.original) or isinstance(instance, cls.original)

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return issubclass(getattr(subclass, "original", subclass), cls.original)

    def __eq__(cls, other: object) -> bool:
        return cls.original == getattr(other, "original", other)

    def __hash__(cls) -> int:
        return hash(cls.original)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.original, name)

    def __repr__(cls) -> str:
        return repr(cls.original)


def _standing_for(original: type, bases: tuple[type, ...], traced: Callable[..., Any]) -> Any:
    """A class that stands for `original`, as a dtype too; called with traced numbers it gives what `traced` does."""
    held = {"original": original, "traced": staticmethod(traced), "dtype": np.dtype(original)}
    return type.__new__(StandingClass, original.__name__, bases, held)


def _one_number(x: Any, kind: str) -> Any:
    """What `float` or `int` converts, as a traced Python number. Raises TypeError for several, as NumPy does."""
    if holds_complex(x):
        raise TypeError(f"{kind}() argument must be a string or a real number, not 'complex'")
    array = as_array(x)
    if array.shape and math.prod(d for d in array.shape if isinstance(d, int)) != 1:
        raise TypeError("only length-1 arrays can be converted to Python scalars")
    return FUNCTIONS["item"](array)


def _float(x: Any) -> Array:
    return Array(cast_to(_one_number(x, "float"), np.float64).value, weak=True)


def _int(x: Any) -> Any:
    """The whole part, which has no derivative; where the arrays of a guard tell it, a number of Python's."""
    if isinstance(x, Size):
        return x
    number = _one_number(x, "int")
    told = HOOKS.whole_number(number, is_cut=True)
    if told is not None:
        return int(told)
    return number.integer(ELEMENTWISE["trunc"])


def _users_int(x: Any) -> Any:
    """The same in the user's own code; where there are arrays of a guard, these tell it, or it is refused."""
    return int(x) if isinstance(x, Array) and tracing.current().examples is not None else _int(x)


def _complex(real: Any, imag: Any = 0.0) -> Any:
    return astype(operand(real) + 1j * operand(imag), np.complex128)


NUMBERS = {
    "float": _standing_for(float, (float,), _float),
    "int": _standing_for(int, (int,), _int),
    "complex": _standing_for(complex, (complex,), _complex),
}
"""What Python's classes of numbers mean in an installed package, by their names."""

USERS = {"int": _standing_for(int, (int,), _users_int)}
"""What they mean in the user's own modules: `int` alone, since it is how sizes are computed."""

_COMPARED_BY_IDENTITY = re.compile(r"[^)\s]\s+is\s+(not\s+)?(float|int|complex)\b")


def standing_in(namespace: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the names of classes mean in a module: what they are, where it compares one of them with `is`."""
    if _compares(namespace.get("__file__") or ""):
        return {}
    return NUMBERS if is_library(namespace.get("__name__") or "") else USERS


@functools.lru_cache(maxsize=4096)
def _compares(filename: str) -> bool:
    """True for a file with `kind is float`; `type(x) is float` is answered as if nothing stood in."""
    return any(map(_COMPARED_BY_IDENTITY.search, linecache.getlines(filename)))

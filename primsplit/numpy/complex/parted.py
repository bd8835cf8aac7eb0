"""Functions that are linear in some of their arguments, applied once to the real and once to the imaginary parts.

np.diff(z)
becomes
real: np.diff(z.real)
imag: np.diff(z.imag)
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir.errors import DtypeError
from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.linear import zipped
from primsplit.numpy.complex.operands import as_complex, holds_complex
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.complex_array import ComplexArray, refused

Function = Callable[..., Any]

ARGUMENTS: dict[Any, tuple[str, ...]] = {
    np.compress: ("a",), "compress": ("a",), np.extract: ("arr",), np.choose: ("choices",), np.insert: ("x", "values"),
    np.select: ("choicelist", "default"), np.linspace: ("start", "stop"), np.interp: ("fp", "left", "right"),
    np.diff: ("a", "prepend", "append"), np.ediff1d: ("ary", "to_end", "to_begin"), np.polyadd: ("a1", "a2"),
    np.polysub: ("a1", "a2"), np.polyder: ("p",), np.polyint: ("p", "k"), np.polyfit: ("y",),
    np.cumulative_sum: ("x",),
}  # fmt: skip
"""The arguments that such a function is linear in together, all of which may be complex; the others are real."""

WRITING: dict[Any, tuple[str, str]] = {
    np.put: ("a", "v"), np.place: ("arr", "vals"), np.putmask: ("a", "values"), np.copyto: ("dst", "src"),
    np.fill_diagonal: ("a", "val"), np.put_along_axis: ("arr", "values"),
}  # fmt: skip
"""The arguments that a function writes to, and what it writes."""


def part_of(value: Any, name: str) -> Any:
    """The real or imaginary part of an array, a number, or each of a list; None and what is not given stay."""
    if value is None or value is np._NoValue:
        return value
    if isinstance(value, list | tuple):
        return type(value)(part_of(v, name) for v in value)
    if isinstance(value, int | float | complex) and not isinstance(value, np.generic):
        return getattr(value, name)
    return getattr(as_complex(value), name)


def _parted(key: Any, names: tuple[str, ...]) -> None:
    real = FUNCTIONS[key]
    signature = inspect.signature(real)

    @offers(key)
    def parts(*args: Any, **options: Any) -> Any:
        found = []
        for name in ("real", "imag"):
            told = signature.bind(*args, **options)
            rest = [v for n, v in told.arguments.items() if n not in names]
            _check(key, rest, told.arguments)
            told.arguments.update({n: part_of(told.arguments[n], name) for n in names if n in told.arguments})
            found.append(real(*told.args, **told.kwargs))
        return zipped(*found)


def _check(key: Any, rest: list[Any], told: dict[str, Any]) -> None:
    """Raise UnsupportedFunction where another argument is complex, or for options that mean the array as a whole."""
    label = f"the method {key}" if isinstance(key, str) else f"np.{key.__name__}"
    if holds_complex(rest):
        raise refused(f"{label} with another argument that is complex")
    for option in ("out", "dtype", "full", "cov", "retstep"):
        value = told.get(option)
        if not isinstance(value, Array) and value in {None, False}:
            continue
        raise refused(f"{label} with {option}=", "Leave it out: z.astype(dtype), or a write, may come afterwards.")


def _writing(key: Function, target_name: str, value_name: str) -> None:
    real = FUNCTIONS[key]
    signature = inspect.signature(real)

    @offers(key)
    def write(*args: Any, **options: Any) -> None:
        told = signature.bind(*args, **options)
        target, value = told.arguments[target_name], told.arguments[value_name]
        if not isinstance(target, ComplexArray):
            raise DtypeError(
                "a complex number is written to a real array",
                place=tracing.user_place(),
                cure="Make the array complex, with z = x.astype(complex) say, or write new.real.",
            )
        for name in ("real", "imag"):
            told.arguments.update({target_name: getattr(target, name), value_name: part_of(value, name)})
            real(*told.args, **told.kwargs)


for _key, _names in ARGUMENTS.items():
    _parted(_key, _names)
for _key, _places in WRITING.items():
    _writing(_key, *_places)

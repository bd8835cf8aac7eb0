"""Passes complex leaves of nested values through branches, loops and calls as two real parts."""

from typing import Any

from primsplit.numpy.complex.operands import as_complex
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.complex_array import ComplexArray
from primsplit.tracing.hooks import HOOKS
from primsplit.tracing.trees import Parts


def parts_of(leaf: Any) -> Parts:
    """The container of a traced complex leaf's parts."""
    whole = as_complex(leaf)
    return Parts(_as_number(whole.real, whole), _as_number(whole.imag, whole))


HOOKS.complex_parts = parts_of


def _as_number(part: Array, whole: ComplexArray) -> Array:
    """The part, a number where the whole is one."""
    if (part.weak, part.scalar) == (whole.weak, whole.scalar):
        return part
    return Array(part.value, weak=whole.weak, scalar=whole.scalar)


def whole_of(real: Any, imag: Any) -> ComplexArray:
    """The complex array of two parts, of which one at least is traced."""
    x, y = as_array(real), as_array(imag)
    made = ComplexArray(x, y, weak=x.weak and y.weak)
    made.scalar = x.scalar and y.scalar
    return made


HOOKS.complex_whole = whole_of

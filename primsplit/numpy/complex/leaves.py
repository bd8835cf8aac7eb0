"""Complex leaves of nested values: their parts go into branches, loops and calls, and come out as complex arrays."""

from dataclasses import dataclass
from typing import Any

from primsplit import trees
from primsplit.array import Array, implements
from primsplit.numpy.complex.handle import ComplexArray
from primsplit.numpy.complex.operands import as_complex


@dataclass(slots=True)
class Parts:
    """The container that stands for a complex leaf: `unflatten` makes a complex array of two arrays in it."""

    real: Any
    imag: Any


@implements("parts")
def parts_of(leaf: Any) -> Parts:
    """The container of a complex leaf's parts."""
    whole = as_complex(leaf)
    return Parts(_as_number(whole.real, whole), _as_number(whole.imag, whole))


def _as_number(part: Array, whole: ComplexArray) -> Array:
    """The part, a number where the whole is one."""
    if (part.weak, part.scalar) == (whole.weak, whole.scalar):
        return part
    return Array(part.value, weak=whole.weak, scalar=whole.scalar)


def _whole(real: Any, imag: Any) -> ComplexArray | Parts:
    if not (isinstance(real, Array) and isinstance(imag, Array)):
        return Parts(real, imag)
    made = ComplexArray(real, imag, weak=real.weak and imag.weak)
    made.scalar = real.scalar and imag.scalar
    return made


trees.register_container(Parts, ("real", "imag"), _whole)

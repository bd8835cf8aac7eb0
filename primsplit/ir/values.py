"""Var and Const: the values that an op reads, and the data of a constant."""

import math
import os
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from primsplit.ir.dims import Dim
from primsplit.ir.errors import Place
from primsplit.ir.plain_text import in_one_line
from primsplit.ir.types import Type

AnyArray = npt.NDArray[Any]

SMALL = 64
"""The most elements of a constant whose value a rule may look at."""


class Data(Protocol):
    """The data of a Const: an array, or an object that reads one on demand."""

    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def where(self) -> str:
        """The place of the numbers if they are in another file, and long to read; else ""."""
        ...

    def numpy(self) -> AnyArray: ...


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Loaded:
    """Data that is already in memory. If `is_shared` it is also another's, who may make it writeable again.

    `file` is the path of the file that the array was mapped from, if it was.
    """

    array: AnyArray
    is_shared: bool = False
    file: str = ""

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def where(self) -> str:
        return ""

    def numpy(self) -> AnyArray:
        return self.array


class Var:
    """A value of a program, known by identity.

    `sizes` is known for an integer vector or scalar that holds sizes (the output of Shape, say): one Dim an element.
    """

    __slots__ = ("hint", "sizes", "type")

    def __init__(self, type: Type, hint: str = "", sizes: tuple[Dim, ...] | None = None) -> None:
        self.type = type
        self.hint = hint
        self.sizes = sizes

    def __repr__(self) -> str:
        return in_one_line(f"Var({self.hint or '_'}: {self.type})")


Role = Literal["", "weight", "param", "statistic"]


class Const:
    """A value that is part of the program.

    A `role` marks a weight, whose numbers training may change, or a statistic of the data that a model was fitted to:
    its name is the hint. Files keep it under that name, and no pass or rule looks at the numbers, so that what is
    derived from it stays computed from it. Weights of a loaded model are told apart by identity, those of `ps.param` by
    name, since each path of a function constructs its own.
    """

    __slots__ = ("data", "hint", "place", "role", "type")

    def __init__(self, data: AnyArray | Data, hint: str = "", place: Place | None = None, *, role: Role = "") -> None:
        self.data: Data = _loaded(data) if isinstance(data, np.ndarray | np.generic) else data
        self.type = Type(self.data.dtype, self.data.shape)
        self.hint = hint
        self.place = place
        self.role: Role = role

    @property
    def sizes(self) -> tuple[Dim, ...] | None:
        """The elements of a short integer vector or scalar, else None."""
        shape = self.data.shape
        if len(shape) > 1 or self.type.dtype.kind not in "iu" or (shape and shape[0] > SMALL):
            return None
        return tuple(int(v) for v in self.numpy().reshape(-1))

    @property
    def is_param(self) -> bool:
        """Whether `ps.param` named the array."""
        return self.role == "param"

    @property
    def is_weight(self) -> bool:
        """Whether the numbers may change: nothing in a program may depend on what they are."""
        return self.role != ""

    @property
    def is_short(self) -> bool:
        """Whether there are at most SMALL elements."""
        return math.prod(self.data.shape) <= SMALL

    @property
    def is_small(self) -> bool:
        """Whether a rule may look at the value: it has few elements and is no weight."""
        return not self.is_weight and self.is_short

    @property
    def key(self) -> tuple[Any, ...]:
        """A key, equal for short constants that are equal bit by bit, and for shared data; no two weights are equal."""
        is_told = self.is_short and self.role in {"", "param"} and self.type.dtype.kind != "O"
        content = self.numpy().tobytes() if is_told else id(self.data)
        return (self.type.key, content, self.hint if self.is_weight else "")

    @property
    def is_pattern(self) -> bool:
        """Whether the array is in memory and holds only 0, 1 and -1: a mask, an identity matrix, signs."""
        return isinstance(self.data, Loaded) and bool(np.isin(self.numpy(), (-1, 0, 1)).all())

    @property
    def number(self) -> np.generic | None:
        """The number that all elements are, bit by bit; None if they differ, if there are none, and for a weight.

        Numbers that lie in another file are not read for it, unless they are few.
        """
        if self.is_weight or not (isinstance(self.data, Loaded) or self.is_short):
            return None
        flat = self.numpy().reshape(-1)
        if not flat.size or flat.dtype.kind == "O":
            return None
        if flat.size > 1 and (flat[0].tobytes() != flat[-1].tobytes() or not _is_uniform(flat)):
            return None
        number: np.generic = flat[0]
        return number

    def numpy(self) -> AnyArray:
        return self.data.numpy()

    def __repr__(self) -> str:
        return f"Const({self.type})"


def _is_uniform(flat: AnyArray) -> bool:
    raw = np.ascontiguousarray(flat).view(np.uint8).reshape(flat.size, -1)
    return bool((raw == raw[0]).all())


def _frozen(array: AnyArray | np.generic) -> AnyArray:
    """Return the array, or a copy if anybody could still write to it, through a view or its base."""
    result = np.asarray(array)
    owner: object = result
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            result = result.copy()
            result.flags.writeable = False
            return result
        owner = owner.base
    return result


def _loaded(array: AnyArray | np.generic) -> Loaded:
    frozen = _frozen(array)
    return Loaded(frozen, is_shared=np.may_share_memory(frozen, array), file=_mapped_file(array))


def _mapped_file(array: AnyArray | np.generic) -> str:
    """Return the path of the file of an array that is mapped into memory, or is a view of such an array."""
    base: object = array
    while base is not None and not isinstance(base, np.memmap):
        base = getattr(base, "base", None)
    return "" if base is None or base.filename is None else os.fspath(base.filename)


SAMPLE = 1024
"""The elements of a long array by which another one of the same bits is sought."""

_met: WeakValueDictionary[Any, Loaded] = WeakValueDictionary()


def data_of(array: AnyArray, name: str = "") -> AnyArray | Data:
    """Return the data for a Const of an array; a long array of the same bits and name gets the same data.

    What a loop reads in each of its steps, or a function constructs in each of its calls, is then written to a file
    once. One whose owner may write to it again shares data with other views of that memory alone, and one that is
    mapped from a file with arrays of that file alone.
    """
    if array.size <= SMALL or array.dtype.itemsize not in {1, 2, 4, 8} or array.dtype.kind == "O":
        return array
    some = np.asarray(array.flat[:: -(-array.size // SAMPLE)]).tobytes()
    key = (array.shape, array.dtype, name, _mapped_file(array), some)
    known = _met.get(key)
    if known is not None and (known.array is array or (_may_stay(known, array) and _same_bits(known.array, array))):
        return known
    made = _met[key] = _loaded(array)
    return made


def _may_stay(known: Loaded, array: AnyArray) -> bool:
    """Whether nobody may write to these data again, but for the owner of the array, if it is the same memory."""
    return not known.is_shared or np.may_share_memory(known.array, array)


def owner_of(array: AnyArray) -> AnyArray:
    """Return the array that owns the memory of this one, or through which NumPy sees the memory of another."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


@dataclass(frozen=True, slots=True)
class Converted(Loaded):
    """Data converted to another dtype. It keeps its source alive, so that no other object takes the source's id.

    A file holds the source, if it holds it anyway or that takes fewer bytes, and converts it.
    """

    source: Data = field(kw_only=True)


_conversions: WeakValueDictionary[tuple[int, np.dtype[Any]], Converted] = WeakValueDictionary()


def converted(const: Const, dtype: np.dtype[Any]) -> AnyArray | Data:
    """Return the data for a Const of these numbers in another dtype.

    Converting the same data again gives the same data.
    """
    if math.prod(const.data.shape) < 2:
        return const.numpy().astype(dtype)
    key = id(const.data), dtype
    known = _conversions.get(key)
    if known is None:
        known = _conversions[key] = Converted(_frozen(const.numpy().astype(dtype)), source=const.data)
    return known


def _same_bits(a: AnyArray, b: AnyArray) -> bool:
    bits = f"u{a.dtype.itemsize}"
    return bool((a.view(bits) == b.view(bits)).all())


Value = Var | Const


def same_array(a: AnyArray, b: AnyArray) -> bool:
    """Whether the arrays are equal bit by bit: -0.0 is not 0.0, and a NaN equals itself."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return a.tolist() == b.tolist() if a.dtype.kind == "O" else a.tobytes() == b.tobytes()


def same_values(a: Value | None, b: Value | None) -> bool:
    """Whether the values are one, or constants that rules may look at, of the same bits."""
    return a is b or (isinstance(a, Const) and isinstance(b, Const) and a.is_small and b.is_small and a.key == b.key)


def same_data(a: Const, b: Const) -> bool:
    """Whether the constants are equal bit by bit."""
    return a.type == b.type and (a.data is b.data or same_array(a.numpy(), b.numpy()))

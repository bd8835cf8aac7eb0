"""Which arrays from before a statement the values are that its sides give: numbers, which an If gives with the values.

After `if c: a, b = b, a` each name is one of the two arrays that there were. A write to it is one to that array, which
other names may show too: see `views.Choice`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from primsplit import tracing, trees
from primsplit.array import Array
from primsplit.ir import Const
from primsplit.joins.holders import bases_of
from primsplit.nested import same_everywhere
from primsplit.numpy.complex.handle import ComplexArray
from primsplit.numpy.ufuncs import plain_out
from primsplit.ops import op
from primsplit.views import Choice

MOST = 64
"""Of how many arrays what is written to may be one; each such write is a choice for every one of them."""
_NEW = -1
"""The number of an array that a side made."""
Before = Callable[[Any], Any]


class Number(NamedTuple):
    """What an array is after a run of a side: the numbers that it may have, and that which it has, if that is known."""

    all: frozenset[int]
    now: Array | None


class Known(Array):
    """An array of known numbers from before: it is read anew where Python wrote to it, and holds no traced values."""

    __slots__ = ("held",)

    def __init__(self, held: npt.NDArray[Any], recording: tracing.Recording) -> None:
        super().__init__(tracing.constant(held.copy()))
        self.held, self._recording = held, recording

    def see_bases(self) -> None:
        if isinstance(self._value, Const) and self._value.numpy().tobytes() != self.held.tobytes():
            self._value = tracing.constant(self.held.copy())
            self.version += 1

    def assign(self, new: Array) -> None:
        """Refused with a DtypeError that has the function run again, with a traced array in its place."""
        raise plain_out("a traced value is written into a NumPy array", self.held)


class Pointers:
    """The arrays from before that the values of a statement may be, by their numbers, and the number of each value."""

    def __init__(self) -> None:
        self.recording = tracing.current()
        self.arrays: list[Array] = []
        self.met: dict[str, list[Number | None]] = {}

    def given(self, values: Mapping[str, Any], before: Before) -> dict[str, Any]:
        """Note that a side gives these values; return the numbers that it gives with them.

        `before` tells the array from before that one is, if it is one.
        """
        found = {}
        for name, value in values.items():
            for k, leaf in enumerate(parted(trees.flatten(value)[0])):
                if _has_elements(leaf):
                    number = self._number(leaf, before)
                    self.met.setdefault(_key(name, k), []).append(number)
                    found[_key(name, k)] = _constant(_NEW) if number is None or number.now is None else number.now
        return found

    def _number(self, array: Any, before: Before) -> Number | None:
        """The number of an array; None for another view of one from before."""
        array = array.held if isinstance(array, Known) else array
        old = before(array)
        if isinstance(array, np.ndarray):
            return _one(_NEW if old is None else self._of_known(array))
        view = array.view_of if old is None else old.view_of
        if isinstance(view, Choice) and not (view.owns and old is not None):
            return self._of_choice(view, before)
        if old is not None:
            return _one(self._of(old))
        return _one(_NEW) if all(before(base) is None for base in bases_of(array)) else None

    def _of(self, array: Array) -> int:
        for k, known in enumerate(self.arrays):
            if known is array:
                return k
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _of_known(self, array: npt.NDArray[Any]) -> int:
        for k, known in enumerate(self.arrays):
            if isinstance(known, Known) and known.held is array:
                return k
        self.arrays.append(Known(array, self.recording))
        return len(self.arrays) - 1

    def _of_choice(self, choice: Choice, before: Before) -> Number | None:
        numbers = [self._number(base, before) for base in choice.bases]
        known = [n for n in numbers if n is not None]
        if len(known) < len(numbers):
            return None
        found = frozenset().union(*(n.all for n in known))
        now = [n.now for n in known if n.now is not None]
        if choice.choose is None or len(now) < len(known):
            return Number(found, None)
        which = now[0]
        for k, number in enumerate(now[1:], 1):
            which = op.Where(choice.is_one(k), number, which)
        return Number(found, which)

    def settled(self, name: str, found: Mapping[str, Any]) -> Any:
        """The value of a name after the If, whose arrays are those from before that they may be.

        None where one may be another view of one from before. `found` is what the If gives.
        """
        leaves, spec = trees.flatten(found[name])
        parts = parted(leaves)
        met = [self.met.get(_key(name, k), []) for k in range(len(parts))]
        numbers = [[n for n in each if n is not None] for each in met]
        if any(len(known) < len(each) for known, each in zip(numbers, met, strict=True)):
            return None
        rows = enumerate(zip(parts, numbers, strict=True))
        made = iter([self._one_of(x, n, found.get(_key(name, k))) for k, (x, n) in rows])
        wholes = [ComplexArray(next(made), next(made)) if _is_complex(x) else next(made) for x in leaves]
        return trees.unflatten(spec, wholes)

    def _one_of(self, leaf: Any, numbers: Sequence[Number], which: Any) -> Any:
        """The array that is one of those of which the numbers tell."""
        places = sorted(frozenset().union(*(n.all for n in numbers)), reverse=True)  # a new array is the last
        if not places or places == [_NEW]:
            return leaf
        if len(places) == 1:
            (only,) = (self.arrays[k] for k in places)
            return only.held if isinstance(only, Known) else only
        arrays = [leaf.own() if k == _NEW else self.arrays[k] for k in places]
        is_known = len(arrays) <= MOST and all(n.now is not None for n in numbers)
        is_alike = all(a.dtype == leaf.dtype and same_everywhere(a.shape, leaf.shape) for a in arrays)

        def is_one(k: int) -> Array:
            return op.Equal(which, _constant(places[k]))

        return leaf.being(Choice(arrays, is_one, np.where if is_known and is_alike else None, owns=_NEW in places))


def parted(leaves: Iterable[Any]) -> list[Any]:
    """The leaves, two real arrays for each complex one that may be written to."""
    return [part for leaf in leaves for part in ((leaf.real, leaf.imag) if _is_complex(leaf) else (leaf,))]


def _is_complex(leaf: Any) -> bool:
    return isinstance(leaf, ComplexArray) and not leaf.is_number()


def _has_elements(leaf: Any) -> bool:
    """True for an array that may be written to, and for one of known numbers, which the other side may give it for."""
    return not leaf.is_number() if type(leaf) is Array else type(leaf) is np.ndarray


def _key(name: str, k: int) -> str:
    return f"which array is {k} of {name}"


def _one(number: int) -> Number:
    return Number(frozenset({number}), _constant(number))


def _constant(number: int) -> Array:
    return Array(tracing.constant(np.asarray(number)))

"""Tracks which earlier array each side's value is: a number that the If returns beside the value.

After `if c: a, b = b, a` each name is one of the two arrays that there were. A write to it is one to that array, which
other names may show too: see `views.Choice`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.frontends.python.conversion.holders import bases_of, is_numpys, roots_of
from primsplit.ir import Const
from primsplit.numpy.ufuncs import plain_out
from primsplit.ops import op
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.complex_array import ComplexArray
from primsplit.tracing.handles.views import Choice, View
from primsplit.tracing.regions import same_everywhere

MOST = 64
"""Of how many arrays what is written to may be one; each such write is a choice for every one of them."""
Before = Callable[[Any], Any]


class Leaf(NamedTuple):
    """A value's array, by its position among those of the value.

    What a side made is told by the first that shows it: afterwards it is the If's for that one, also for all others.
    """

    name: str
    k: int

    @property
    def key(self) -> str:
        """What the If calls its number."""
        return f"which array is {self.k} of {self.name}"


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
        """Refuse it with a DtypeError: another run has a traced array in its place."""
        raise plain_out("a traced value is written into a NumPy array", self.held)

    def poison(self) -> None:
        """Refused likewise: what Python reads of the array would not be stopped."""
        raise plain_out("a traced value may be written into a NumPy array", self.held)


def _shown_twice(arrays: Iterable[Any]) -> set[int]:
    """The ids of what several of these arrays show, where one is a choice that owns what it shows."""
    listed = [*arrays]
    if not any(isinstance(each.view_of, Choice) and each.view_of.owns for each in listed):
        return set()
    counts = Counter(id(root) for each in listed for root in roots_of(each))
    return {key for key, count in counts.items() if count > 1}


class Pointers:
    """The arrays that the values of a statement may be, by their numbers, and the number of each value.

    They are those from before, and those that a side made. An array that is one of several counts as these where the
    statement may come to one of these otherwise: in choices of choices the ways to what is written to would double.
    """

    def __init__(self, before: Iterable[Any]) -> None:
        self.recording = tracing.current()
        self.shown_twice = _shown_twice(before)
        self.arrays: list[Array | Leaf] = []
        self.new: dict[Leaf, int] = {}
        self.made: dict[Leaf, Array] = {}
        self.met: dict[Leaf, list[Number | None]] = {}
        self.plain: set[Leaf] = set()
        """The values that some side gives as numbers, which nothing can be written to."""
        self.lent: Mapping[int, View | None] = {}
        """What the arrays that a side was lent are views of after it, by their ids."""

    def given(
        self, values: Mapping[str, Any], before: Before, lent: Sequence[tuple[Array, Array, View | None]] = ()
    ) -> dict[str, Any]:
        """Note that a side gives these values; return the numbers that it gives with them.

        `before` tells the array from before that one is, if it is one; `lent` are those that the side was lent, each
        with what it was a view of.
        """
        self.lent = {id(array): view for array, _, view in lent}
        leaves = {Leaf(n, k): leaf for n, v in values.items() for k, leaf in enumerate(_leaves(v))}
        arrays = {leaf: array for leaf, array in leaves.items() if _has_elements(array)}
        self.plain |= leaves.keys() - arrays.keys()
        shown: dict[int, Leaf] = {}
        for leaf, array in arrays.items():
            shown.setdefault(id(array), leaf)
        found = {}
        for leaf, array in arrays.items():
            number = self._number(array, before, self._newest(shown, leaf))
            self.met.setdefault(leaf, []).append(number)
            is_told = number is not None and number.now is not None
            found[leaf.key] = number.now if number is not None and is_told else _constant(_UNTOLD)
        return found

    def untold(self, given: Mapping[str, Any], more: Set[str]) -> dict[str, Any]:
        """The numbers that a side does not give with what it gives, as those are no arrays there, but in the other."""
        keys = [leaf.key for leaf in self.met if leaf in self.plain or leaf.name in more]
        return {key: _constant(_UNTOLD) for key in keys if key not in given}

    def _newest(self, shown: Mapping[int, Leaf], leaf: Leaf) -> Callable[[Any], int]:
        """The number of an array that a side made, and that the value of a leaf may be: by the first that shows it."""
        return lambda array: self._of_new(shown.get(id(array), leaf))

    def _number(self, array: Any, before: Before, new: Callable[[Any], int]) -> Number | None:
        """The number of an array; None for another view of one from before. `new` tells that of one that is new."""
        is_older = isinstance(array, Known) and array.recording is not tracing.current()
        array = array.held if isinstance(array, Known) else array
        old = array if is_older else before(array)
        if isinstance(array, np.ndarray):
            return _one(new(array) if old is None else self._of_known(array))
        view = (array if old is None else old).view_of
        if view is None and old is not None:
            view = self.lent.get(id(old))
        if isinstance(view, Choice) and not (view.owns and old is not None and self._is_whole(old, view)):
            return self._of_choice(view, before, new)
        if old is not None:
            return _one(self._of(old))
        return _one(new(array)) if all(before(base) is None for base in bases_of(array)) else None

    def _is_whole(self, array: Array, view: Choice) -> bool:
        """True for an array from before of which nothing else that the statement may come to shows a part."""
        roots = (root for base in view.bases for root in roots_of(base))
        return not any(id(root) in self.shown_twice for root in roots)

    def _of(self, array: Array) -> int:
        for k, known in enumerate(self.arrays):
            if known is array:
                return k
        self.arrays.append(array)
        return len(self.arrays) - 1

    def _of_new(self, leaf: Leaf) -> int:
        if leaf not in self.new:
            self.new[leaf] = len(self.arrays)
            self.arrays.append(leaf)
        return self.new[leaf]

    def _of_known(self, array: npt.NDArray[Any]) -> int:
        for k, known in enumerate(self.arrays):
            if isinstance(known, Known) and known.held is array:
                return k
        self.arrays.append(Known(array, self.recording))
        return len(self.arrays) - 1

    def _of_choice(self, choice: Choice, before: Before, new: Callable[[Any], int]) -> Number | None:
        numbers = [self._number(base, before, new) for base in choice.bases]
        known = [n for n in numbers if n is not None]
        if len(known) < len(numbers):
            return None
        found = frozenset().union(*(n.all for n in known))
        now = [n.now for n in known if n.now is not None]
        if choice.choose is None or len(now) < len(known):
            return Number(found, None)
        return Number(found, _renumbered(choice, now))

    def have_lost_one(self) -> bool:
        """True where two values show one array that a side made, and the first is not known to be it afterwards."""
        return any(None in self.met[leaf] and self._is_shared(leaf) for leaf in self.new)

    def _is_shared(self, leaf: Leaf) -> bool:
        """True where another value may be the array that a side made for this one."""
        return any(self.new.get(leaf) in self._all(other) for other in self.met if other != leaf)

    def _all(self, leaf: Leaf) -> set[int]:
        """The numbers that a value may have."""
        return {k for number in self.met.get(leaf, []) if number is not None for k in number.all}

    def settled(self, name: str, found: Mapping[str, Any], *, is_outdated: bool = False) -> Any:
        """The value of a name after the If, whose arrays are those that they may be.

        None where one may be another view of one from before. `found` is what the If gives; what it gives for a name
        that `is_outdated` is read anew from those arrays.
        """
        leaves, spec = trees.flatten(found[name])
        parts = {Leaf(name, k): part for k, part in enumerate(parted(leaves))}
        if any(None in self.met.get(leaf, []) for leaf in parts):
            return None
        arrays = [self._one_of(leaf, part, found) for leaf, part in parts.items()]
        for array in arrays if is_outdated else ():
            if isinstance(array, Array) and isinstance(array.view_of, Choice):
                array.being(array.view_of.outdated())
        made = iter(arrays)
        wholes = [ComplexArray(next(made), next(made)) if _is_complex(x) else next(made) for x in leaves]
        return trees.unflatten(spec, wholes)

    def _one_of(self, leaf: Leaf, given: Any, found: Mapping[str, Any]) -> Any:
        """The array that is one of those of which the numbers of a value tell; `given` is what the If gives for it."""
        is_mixed = leaf in self.met and leaf in self.plain
        if leaf in self.met and not is_mixed and type(given) is Array and given.shape == ():
            given.scalar = False
        own = self._of_new(leaf) if is_mixed else self.new.get(leaf, _UNTOLD)
        places = sorted(self._all(leaf) | ({own} if is_mixed else set()), key=lambda k: k == own)
        arrays = [self._array(k, found) for k in places]
        if len(arrays) < 2:
            (only,) = arrays or [given]
            return only.held if isinstance(only, Known) else only
        is_told = all(n is not None and n.now is not None for n in self.met[leaf])
        is_known = is_told and not is_mixed and len(arrays) <= MOST
        is_alike = all(a.dtype == given.dtype and same_everywhere(a.shape, given.shape) for a in arrays)

        owns = own in places and not self._is_shared(leaf)
        choose = np.where if is_known and is_alike else None
        return given.being(Choice(arrays, choose, number=found[leaf.key], numbers=places, owns=owns))

    def _array(self, number: int, found: Mapping[str, Any]) -> Array:
        """The array of a number; of one that a side made, what the If gives for the value that shows it."""
        array = self.arrays[number]
        if isinstance(array, Array):
            return array
        if array not in self.made:
            given = _leaves(found[array.name])[array.k]
            self.made[array] = given if self._all(array) == {number} else given.own()
        return self.made[array]


def _renumbered(choice: Choice, new: Sequence[Array]) -> Array:
    """The new number of the array that a choice is; it may be one of many, so that known ones are looked up."""
    known = [each.known() for each in new]
    told = [int(k) for k in known if k is not None]
    number: Array = choice.number
    if told == choice.numbers:
        return number
    if len(told) == len(new):
        table = np.full(max(choice.numbers) + 1, told[0])
        table[choice.numbers] = told
        return op.Gather(table, number)
    which = new[0]
    for k, other in enumerate(new[1:], 1):
        which = op.Where(choice.is_one(k), other, which)
    return which


def _leaves(value: Any) -> list[Any]:
    return parted(trees.flatten(value)[0])


def parted(leaves: Iterable[Any]) -> list[Any]:
    """The leaves, two real arrays for each complex one that may be written to."""
    return [part for leaf in leaves for part in ((leaf.real, leaf.imag) if _is_complex(leaf) else (leaf,))]


def _is_complex(leaf: Any) -> bool:
    return isinstance(leaf, ComplexArray) and not leaf.is_number()


def _has_elements(leaf: Any) -> bool:
    """True for an array that may be written to, and for one of known numbers, which the other side may give it for."""
    return not leaf.is_number() if type(leaf) is Array else is_numpys(leaf)


def _one(number: int) -> Number:
    return Number(frozenset({number}), _constant(number))


_UNTOLD = -1
"""What is given as the number of an array of which nobody knows it."""


def _constant(number: int) -> Array:
    return Array(tracing.constant(np.asarray(number)))

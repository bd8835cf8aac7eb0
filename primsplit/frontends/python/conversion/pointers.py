"""Tracks which earlier array the value of each side is: a number that the If returns beside the value.

    if c:                           # a is array 1 or array 0, b is array 0 or array 1
        a, b = b, a
    a += 1                          # writes to both: each is old + 1 where the number of `a` selects it

A write to such a name is a write to the selected array, which other names may show too: see `views.Choice`.
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
"""The most arrays among which a written one may be; each such write is a selection for every one of them."""
Before = Callable[[Any], Any]


class Leaf(NamedTuple):
    """One array of a value, by its position among the value's arrays.

    An array that a side created is identified by the first leaf that holds it; after the If, it is that leaf's output.
    """

    name: str
    k: int

    @property
    def key(self) -> str:
        """The name of the If's output for the number of the array."""
        return f"which array is {self.k} of {self.name}"


class Number(NamedTuple):
    """The numbers that an array may have after a run of a side, and the number that it has, if known."""

    all: frozenset[int]
    now: Array | None


class Known(Array):
    """An earlier array of known numbers: it is read again after Python wrote to it, and cannot hold traced values."""

    __slots__ = ("held",)

    def __init__(self, held: npt.NDArray[Any], recording: tracing.Recording) -> None:
        super().__init__(tracing.constant(held.copy()))
        self.held, self._recording = held, recording

    def see_bases(self) -> None:
        if isinstance(self._value, Const) and self._value.numpy().tobytes() != self.held.tobytes():
            self._value = tracing.constant(self.held.copy())
            self.version += 1

    def assign(self, new: Array) -> None:
        """Raise a DtypeError: another run has a traced array in its place."""
        raise plain_out("a traced value is written into a NumPy array", self.held)

    def poison(self) -> None:
        """Raise a DtypeError, as poisoning the array cannot stop Python code that reads it."""
        raise plain_out("a traced value may be written into a NumPy array", self.held)


def _shown_twice(arrays: Iterable[Any]) -> set[int]:
    """Return the ids of the arrays that several of these show, if one of them is a choice that owns its arrays."""
    listed = [*arrays]
    if not any(isinstance(each.view_of, Choice) and each.view_of.owns for each in listed):
        return set()
    counts = Counter(id(root) for each in listed for root in roots_of(each))
    return {key for key, count in counts.items() if count > 1}


class Pointers:
    """The arrays that the values of a statement may be, each with a number, and the number of each value.

    They are earlier arrays and arrays that a side created. A choice among several arrays is replaced by these if the
    statement can reach one of them in another way: otherwise nested choices would double the paths to an array.
    """

    def __init__(self, before: Iterable[Any]) -> None:
        self.recording = tracing.current()
        self.shown_twice = _shown_twice(before)
        self.arrays: list[Array | Leaf] = []
        self.new: dict[Leaf, int] = {}
        self.made: dict[Leaf, Array] = {}
        self.met: dict[Leaf, list[Number | None]] = {}
        self.plain: set[Leaf] = set()
        """The leaves that some side sets to numbers, which nothing can write to."""
        self.lent: Mapping[int, View | None] = {}
        """The views that the arrays lent to a side are after it, by their ids."""

    def given(
        self, values: Mapping[str, Any], before: Before, lent: Sequence[tuple[Array, Array, View | None]] = ()
    ) -> dict[str, Any]:
        """Note the values that a side outputs; return the numbers of their arrays as further outputs.

        `before` returns the earlier array that an array is, or None; `lent` are the arrays lent to the side, each with
        the view that it was.
        """
        self.lent = {id(array): view for array, _, view in lent}
        leaves = {Leaf(n, k): leaf for n, v in values.items() for k, leaf in enumerate(_leaves(v))}
        arrays = {leaf: array for leaf, array in leaves.items() if _has_elements(array)}
        self.plain |= leaves.keys() - arrays.keys()
        shown: dict[int, Leaf] = {}
        for leaf, array in arrays.items():
            shown.setdefault(id(array), leaf)
        outputs = {}
        for leaf, array in arrays.items():
            number = self._number(array, before, self._newest(shown, leaf))
            self.met.setdefault(leaf, []).append(number)
            is_told = number is not None and number.now is not None
            outputs[leaf.key] = number.now if number is not None and is_told else _constant(_UNTOLD)
        return outputs

    def untold(self, given: Mapping[str, Any], more: Set[str]) -> dict[str, Any]:
        """Return numbers as placeholders for the values that are arrays on the other side only."""
        keys = [leaf.key for leaf in self.met if leaf in self.plain or leaf.name in more]
        return {key: _constant(_UNTOLD) for key in keys if key not in given}

    def _newest(self, shown: Mapping[int, Leaf], leaf: Leaf) -> Callable[[Any], int]:
        """Return a function from an array that a side created to its number, by the first leaf that holds it."""
        return lambda array: self._of_new(shown.get(id(array), leaf))

    def _number(self, array: Any, before: Before, new: Callable[[Any], int]) -> Number | None:
        """Return the number of an array; None for another view of an earlier one. `new` numbers new arrays."""
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
        """Whether the statement can reach the memory of an earlier array by no other array."""
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
        possible = frozenset().union(*(n.all for n in known))
        now = [n.now for n in known if n.now is not None]
        if choice.choose is None or len(now) < len(known):
            return Number(possible, None)
        return Number(possible, _renumbered(choice, now))

    def have_lost_one(self) -> bool:
        """Whether two values show one array that a side created, and the output of the first may be another view."""
        return any(None in self.met[leaf] and self._is_shared(leaf) for leaf in self.new)

    def _is_shared(self, leaf: Leaf) -> bool:
        """Whether another value may be the array that a side created for this one."""
        return any(self.new.get(leaf) in self._all(other) for other in self.met if other != leaf)

    def _all(self, leaf: Leaf) -> set[int]:
        """Return the numbers that a value may have."""
        return {k for number in self.met.get(leaf, []) if number is not None for k in number.all}

    def settled(self, name: str, found: Mapping[str, Any], *, is_outdated: bool = False) -> Any:
        """Return the value of a name after the If, with each array as a choice among those that it may be.

        Returns None if one may be another view of an earlier array. `found` are the outputs of the If. The output for a
        name that `is_outdated` is read again from those arrays.
        """
        leaves, spec = trees.flatten(found[name])
        parts = {Leaf(name, k): part for k, part in enumerate(parted(leaves))}
        if any(None in self.met.get(leaf, []) for leaf in parts):
            return None
        arrays = [self._one_of(leaf, part, found) for leaf, part in parts.items()]
        for array in arrays if is_outdated else ():
            if isinstance(array, Array) and isinstance(array.view_of, Choice):
                array.being(array.view_of.outdated())
        settled_arrays = iter(arrays)
        wholes = [
            ComplexArray(next(settled_arrays), next(settled_arrays)) if _is_complex(x) else next(settled_arrays)
            for x in leaves
        ]
        return trees.unflatten(spec, wholes)

    def _one_of(self, leaf: Leaf, given: Any, found: Mapping[str, Any]) -> Any:
        """Return the output `given` of a leaf as a choice among the arrays that it may be.

        If it can be only one array, return that one.
        """
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
        """Return the array of a number; for one that a side created, the If's output for the leaf that holds it."""
        array = self.arrays[number]
        if isinstance(array, Array):
            return array
        if array not in self.made:
            output = _leaves(found[array.name])[array.k]
            self.made[array] = output if self._all(array) == {number} else output.own()
        return self.made[array]


def _renumbered(choice: Choice, new: Sequence[Array]) -> Array:
    """Return this statement's number for the array that a choice selects; known numbers become a table lookup."""
    known = [each.known() for each in new]
    known_numbers = [int(k) for k in known if k is not None]
    number: Array = choice.number
    if known_numbers == choice.numbers:
        return number
    if len(known_numbers) == len(new):
        table = np.full(max(choice.numbers) + 1, known_numbers[0])
        table[choice.numbers] = known_numbers
        return op.Gather(table, number)
    which = new[0]
    for k, other in enumerate(new[1:], 1):
        which = op.Where(choice.is_one(k), other, which)
    return which


def _leaves(value: Any) -> list[Any]:
    return parted(trees.flatten(value)[0])


def parted(leaves: Iterable[Any]) -> list[Any]:
    """Return the leaves, with each complex array that can be written to as its two real ones."""
    return [part for leaf in leaves for part in ((leaf.real, leaf.imag) if _is_complex(leaf) else (leaf,))]


def _is_complex(leaf: Any) -> bool:
    return isinstance(leaf, ComplexArray) and not leaf.is_number()


def _has_elements(leaf: Any) -> bool:
    """Whether a leaf is an array that may be written to, or one of known numbers, which a side may return too."""
    return not leaf.is_number() if type(leaf) is Array else is_numpys(leaf)


def _one(number: int) -> Number:
    return Number(frozenset({number}), _constant(number))


_UNTOLD = -1
"""The number of an array that is unknown."""


def _constant(number: int) -> Array:
    return Array(tracing.constant(np.asarray(number)))

"""Records the changes of one side to lists, dictionaries, objects and arrays, and undoes them after the side."""

import inspect
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.frontends.python.conversion.holders import is_numpys, is_users_object, written_with
from primsplit.ir.scoped import Scoped
from primsplit.numpy.ufuncs import plain_out
from primsplit.tracing.array import Array
from primsplit.tracing.branching.paths import NotJoined
from primsplit.tracing.complex_array import ComplexArray
from primsplit.tracing.handles.views import Choice, View
from primsplit.tracing.undo_log import contents, note, note_all_attributes, note_cell, undone_otherwise

Content = dict[Any, Any]
"""What a list holds by position, a dictionary by key, an object by attribute; of a traced array, its elements."""


ShownWith = Callable[[Array], Sequence[Array]]


class Change(NamedTuple):
    """What one list, dictionary, object or array held before a side and after it."""

    owner: Any
    before: Content
    after: Content

    def values(self) -> list[tuple[int, Any]]:
        """What is another object after the side, by its position."""
        before = [*self.before.values()]
        after = enumerate(self.after.values())
        return [(k, v) for k, v in after if k >= len(before) or not self._is_same(v, before[k])]

    def _is_same(self, value: Any, other: Any) -> bool:
        return value is other or (type(self.owner) is Array and value.value is other.value)


class Journal:
    """What one run of a side, which is recorded now, has changed.

    `is_known` tells of an array of known numbers whether it was there before, `shown_with` of a traced one from before
    which arrays the side may come to that show its elements, or none where that is not known.
    """

    def __init__(self, at: tuple[str, int], is_known: Callable[[Any], bool], shown_with: ShownWith) -> None:
        self.at, self.is_known, self.shown_with = at, is_known, shown_with
        self.recording = tracing.current()
        self.noted: dict[int, tuple[Any, Content]] = {}
        self.lent: list[tuple[Array, Array, View | None]] = []
        """The arrays from before that the side writes to, each with what it held and what it was a view of."""
        self.changes: list[Change] = []

    def note(self, owner: Any, attribute: str | None = None) -> None:
        """Remember what an owner holds, of which an element or an attribute is about to be another one.

        Raises NotJoined for what may do more than to hold it.
        """
        if isinstance(owner, ComplexArray) and attribute is None:
            for part in (owner.real, owner.imag):
                self.note(part)
            return
        if type(owner) is Array and attribute is None:
            self._lend(written_with(owner))
            return
        if isinstance(owner, int | float | complex | str | tuple | np.generic) and attribute is None:
            return
        if is_numpys(owner) and attribute is None:
            if self.is_known(owner):
                raise plain_out("a NumPy array is written to in one branch", owner)
            return
        if not (_is_container(owner) if attribute is None else _only_holds(owner, attribute)):
            raise NotJoined(self.at, "it writes to what is no traced array, list, dictionary or plain object")
        self.keep(owner)

    def keep(self, owner: Any) -> None:
        """Remember what an owner holds, as it was at first."""
        if type(owner) is Array:
            self._lend(owner)
        else:
            self.noted.setdefault(id(owner), (owner, content(owner)))

    def _lend(self, array: Array) -> None:
        """Let the side write to an array from before, if it may: else writing raises TraceError."""
        is_sides = array.recording is self.recording or self.recording is not tracing.current()
        if is_sides or array.is_number() or not tracing.is_open(array.recording):
            return
        shown = [v for v in self.shown_with(array) if v.recording is not self.recording]
        lent = [(v, content(v)[_ELEMENTS], v.view_of) for v in shown]
        for v, before, _ in lent:
            v.holding(before.value, self.recording)
        if len(shown) == 1 and isinstance(array.view_of, Choice):
            array.being(None)  # the side sees none of those that it may be
        self.lent += lent

    def take_back(self) -> None:
        """Give the arrays from before what they held. What shows them in the side shows that too from now on."""
        for array, before, view in self.lent:
            array.holding(before.value, before.recording).being(view)
        self.lent.clear()

    def note_values(self, owner: Any, attribute: str | None) -> None:
        """Note also what the owner holds that `+=` changes in place."""
        held = content(owner) if attribute is not None or _is_container(owner) else {}
        for name, value in held.items():
            if attribute in (None, name) and any(hasattr(type(value), m) for m in _IN_PLACE):
                self.note(value)

    def undo(self) -> None:
        """Give all but arrays what they held before. What nothing else holds was made by the side, and is gone."""
        changes = [Change(owner, before, content(owner)) for owner, before in self.noted.values()]
        self.noted.clear()
        for k in range(len(changes)):
            put(changes[k].owner, changes[k].before)
        self.changes = [c for c in changes if sys.getrefcount(c[0]) > _ALONE]
        wholes = ((array, before) for array, before, _ in self.lent if array.view_of is None)
        self.changes += [Change(array, {_ELEMENTS: before}, content(array)) for array, before in wholes]


_journals = Scoped[tuple[Journal, ...]](tuple)
"""The journals of the sides that this thread is in."""
_IN_PLACE = ("__iadd__", "__isub__", "__imul__", "__itruediv__", "__ior__", "__iand__")
_ALONE = 2
"""How many references there are to what only a tuple holds: the tuple's, and that of the count."""


@contextmanager
def journal(at: tuple[str, int], is_known: Callable[[Any], bool], shown_with: ShownWith) -> Iterator[Journal]:
    """A journal of what is done inside, which is undone afterwards; then it tells the changes.

    Arrays are what they have become until the journal takes them back, or something is raised.
    """
    made = Journal(at, is_known, shown_with)
    try:
        try:
            with _journals.set_to((*_journals.value, made)), undone_otherwise():
                yield made
        finally:
            made.undo()
    except BaseException:
        made.take_back()
        raise


def open_at() -> tuple[str, int] | None:
    """The place of the statement of which a side is run; None outside of sides."""
    return _journals.value[-1].at if _journals.value else None


def changing(owner: Any, attribute: str | None = None, *, in_place: bool = False) -> Any:
    """The owner of an element or attribute that is set next, `in_place` by `+=`, where a side is run noted."""
    if _journals.value:
        _journals.value[-1].note(owner, attribute)
        if in_place:
            _journals.value[-1].note_values(owner, attribute)
    return owner


def sharing(name: Callable[[], Any]) -> None:
    """Note the one name that a function reads, which others read too, and which is given another value next."""
    if _journals.value:
        (cell,) = name.__closure__ or ()
        _journals.value[-1].keep(cell)


def filling(owner: Any) -> Any:
    """The owner of a method that changes lists and dictionaries, where a side is run noted."""
    if _journals.value and not _is_container(owner):
        raise NotJoined(_journals.value[-1].at, "it calls a method that may change more than a list or dictionary")
    return changing(owner)


_SHARED, _ELEMENTS = "a shared name", "the elements"


def content(owner: Any) -> Content:
    """What a list, dictionary, object, shared name or array holds."""
    if type(owner) is Array:
        return {_ELEMENTS: owner.own().holding(owner.value, owner.recording)}
    if type(owner) is list:
        return dict(enumerate(owner))
    if isinstance(owner, types.CellType):
        return dict(zip([_SHARED], contents(owner), strict=False))
    return dict(owner) if type(owner) is dict else dict(vars(owner))


def put(owner: Any, held: Content) -> None:
    """Let a list, dictionary, object, shared name or array hold this instead."""
    if type(owner) is Array:
        owner.assign(held[_ELEMENTS])
    elif type(owner) is list:
        owner[:] = held.values()
    elif isinstance(owner, types.CellType):
        if held:
            owner.cell_contents = held[_SHARED]
        elif contents(owner):
            del owner.cell_contents
    else:
        names = owner if type(owner) is dict else vars(owner)
        names.clear()
        names.update(held)


def hold(owner: Any, held: Content) -> None:
    """Let a list, dictionary, object or array hold this from now on, also where a side is run noted."""
    if _journals.value:
        _journals.value[-1].keep(owner)
    elif isinstance(owner, types.CellType):
        note_cell(owner)
    elif _is_container(owner):
        note(owner)
    elif type(owner) is not Array:
        note_all_attributes(owner)
    put(owner, held)


def _is_container(owner: Any) -> bool:
    return type(owner) is list or type(owner) is dict


def _only_holds(owner: Any, attribute: str) -> bool:
    """True for an object of the user's that holds what it is given as an attribute, and does nothing else."""
    kind = type(owner)
    if not is_users_object(owner) or isinstance(owner, type | types.ModuleType) or not hasattr(owner, "__dict__"):
        return False
    if any(getattr(kind, m) is not getattr(object, m) for m in ("__setattr__", "__getattribute__")):
        return False
    return not hasattr(type(inspect.getattr_static(kind, attribute, None)), "__set__")

"""Records the writes of one side to lists, dictionaries, objects and arrays, and undoes them after the side.

```
held = [1.0]
if c:                           # before: {0: 1.0}, after: {0: 2.0}
    held[0] = 2.0               # the list holds 1.0 again when the other side runs
```
"""

import inspect
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.frontends.python.conversion.holders import is_numpys, is_users_object, written_with
from primsplit.ir.scoped import Scoped, as_block
from primsplit.numpy.ufuncs import plain_out
from primsplit.tracing.array import Array
from primsplit.tracing.branching.paths import NotJoined
from primsplit.tracing.complex_array import ComplexArray
from primsplit.tracing.handles.views import Choice, View
from primsplit.tracing.saved_state import contents
from primsplit.tracing.undo_log import note, note_all_attributes, note_cell, undone_otherwise

Content = dict[Any, Any]
"""The elements of a list by position, of a dictionary by key, of an object by attribute; an array is one element."""


ShownWith = Callable[[Array], Sequence[Array]]


class Change(NamedTuple):
    """The content of one list, dictionary, object or array before a side and after it."""

    owner: Any
    before: Content
    after: Content

    def values(self) -> list[tuple[int, Any]]:
        """Return the values that are other objects after the side than before, by their position."""
        before = [*self.before.values()]
        after = enumerate(self.after.values())
        return [(k, v) for k, v in after if k >= len(before) or not self._is_same(v, before[k])]

    def _is_same(self, value: Any, other: Any) -> bool:
        return value is other or (type(self.owner) is Array and value.value is other.value)


class Journal:
    """The changes by the run of a side that is being recorded.

    `is_known` tells whether an array of known numbers existed before the side. `shown_with` returns the earlier arrays
    that show elements of a traced one and that the side may reach; none if that is unknown.
    """

    def __init__(self, at: tuple[str, int], is_known: Callable[[Any], bool], shown_with: ShownWith) -> None:
        self.at, self.is_known, self.shown_with = at, is_known, shown_with
        self.recording = tracing.current()
        self.noted: dict[int, tuple[Any, Content]] = {}
        self.lent: list[tuple[Array, Array, View | None]] = []
        """The earlier arrays that the side writes to, each with its earlier content and the view that it was."""
        self.changes: list[Change] = []

    def note(self, owner: Any, attribute: str | None = None) -> None:
        """Note the content of an owner before an element or attribute of it is set.

        Raises NotJoined if setting it may have other effects.
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
        if not (is_container(owner) if attribute is None else _only_holds(owner, attribute)):
            raise NotJoined(self.at, "it writes to what is no traced array, list, dictionary or plain object")
        self.keep(owner)

    def keep(self, owner: Any) -> None:
        """Note the content of an owner, unless it is noted already."""
        if type(owner) is Array:
            self._lend(owner)
        else:
            self.noted.setdefault(id(owner), (owner, content(owner)))

    def _lend(self, array: Array) -> None:
        """Let the side write to an earlier array, if that is possible; otherwise the write itself raises TraceError."""
        is_sides = array.recording is self.recording or self.recording is not tracing.current()
        if is_sides or array.is_number() or not tracing.is_open(array.recording):
            return
        shown = [v for v in self.shown_with(array) if v.recording is not self.recording]
        lent = [(v, content(v)[_ELEMENTS], v.view_of) for v in shown]
        for v, before, _ in lent:
            v.holding(before.value, self.recording)
        if len(shown) == 1 and isinstance(array.view_of, Choice):
            array.being(None)  # the side shows none of the arrays of the choice
        self.lent += lent

    def take_back(self) -> None:
        """Restore the content of the earlier arrays, which views of them that the side created then show too."""
        for array, before, view in self.lent:
            array.holding(before.value, before.recording).being(view)
        self.lent.clear()

    def note_values(self, owner: Any, attribute: str | None) -> None:
        """Note also the parts of the owner that `+=` would change in place."""
        held = content(owner) if attribute is not None or is_container(owner) else {}
        for name, value in held.items():
            if attribute in (None, name) and any(hasattr(type(value), m) for m in _IN_PLACE):
                self.note(value)

    def undo(self) -> None:
        """Restore the content of all owners but arrays, and keep the changes.

        An owner with no other reference was created by the side, and its changes are dropped.
        """
        changes = [Change(owner, before, content(owner)) for owner, before in self.noted.values()]
        self.noted.clear()
        for k in range(len(changes)):
            put(changes[k].owner, changes[k].before)
        self.changes = [c for c in changes if sys.getrefcount(c[0]) > _ALONE]
        wholes = ((array, before) for array, before, _ in self.lent if array.view_of is None)
        self.changes += [Change(array, {_ELEMENTS: before}, content(array)) for array, before in wholes]


_journals = Scoped[tuple[Journal, ...]](tuple)
"""The journals of the sides that this thread is recording, outermost first."""
_IN_PLACE = ("__iadd__", "__isub__", "__imul__", "__itruediv__", "__ior__", "__iand__")
_ALONE = 2
"""The reference count of an object that only a tuple holds: the tuple's, and one for the call that counts."""


@as_block
def journal(at: tuple[str, int], is_known: Callable[[Any], bool], shown_with: ShownWith) -> Iterator[Journal]:
    """Yield a journal of the changes inside, which are undone at the end; then it lists them.

    Arrays keep their new content until the journal takes them back, or an error is raised.
    """
    opened = Journal(at, is_known, shown_with)
    try:
        try:
            with _journals.set_to((*_journals.value, opened)), undone_otherwise(opened.note):
                yield opened
        finally:
            opened.undo()
    except BaseException:
        opened.take_back()
        raise


def open_at() -> tuple[str, int] | None:
    """Return the place of the statement of which a side is being recorded; None outside of sides."""
    return _journals.value[-1].at if _journals.value else None


def outermost_at() -> tuple[str, int] | None:
    """Return the place of the outermost statement of which a side is being recorded; None outside of sides."""
    return _journals.value[0].at if _journals.value else None


def changing(owner: Any, attribute: str | None = None, *, in_place: bool = False) -> Any:
    """Return the owner of an element or attribute that is set next, after noting it if a side is being recorded.

    `in_place` is true for `+=`.
    """
    if _journals.value:
        _journals.value[-1].note(owner, attribute)
        if in_place:
            _journals.value[-1].note_values(owner, attribute)
    return owner


def sharing(name: Callable[[], Any]) -> None:
    """Note the cell of the one variable that `name` reads, which other functions share and which is assigned next."""
    if _journals.value:
        (cell,) = name.__closure__ or ()
        _journals.value[-1].keep(cell)


_SHARED, _ELEMENTS = "a shared name", "the elements"


def content(owner: Any) -> Content:
    """Return the content of a list, dictionary, object, shared name or array."""
    if type(owner) is Array:
        return {_ELEMENTS: owner.own().holding(owner.value, owner.recording)}
    if type(owner) is list:
        return dict(enumerate(owner))
    if isinstance(owner, types.CellType):
        return dict(zip([_SHARED], contents(owner), strict=False))
    return dict(owner) if type(owner) is dict else dict(vars(owner))


def put(owner: Any, held: Content) -> None:
    """Set the content of a list, dictionary, object, shared name or array."""
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
    """Set the content of a list, dictionary, object or array, and note the old content for the side or the run."""
    if _journals.value:
        _journals.value[-1].keep(owner)
    elif isinstance(owner, types.CellType):
        note_cell(owner)
    elif is_container(owner):
        note(owner)
    elif type(owner) is not Array:
        note_all_attributes(owner)
    put(owner, held)


def is_container(owner: Any) -> bool:
    """Whether an object is a list or a dictionary of Python's own."""
    return type(owner) is list or type(owner) is dict


def _only_holds(owner: Any, attribute: str) -> bool:
    """Whether setting the attribute of a user's object stores the value, and does nothing else."""
    kind = type(owner)
    if not is_users_object(owner) or isinstance(owner, type | types.ModuleType) or not hasattr(owner, "__dict__"):
        return False
    if any(getattr(kind, m) is not getattr(object, m) for m in ("__setattr__", "__getattribute__")):
        return False
    return not hasattr(type(inspect.getattr_static(kind, attribute, None)), "__set__")

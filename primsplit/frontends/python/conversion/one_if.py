"""Records both sides of a statement as one If that assigns the names their values."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.python.conversion.either import holding, if_gives, may_be_told
from primsplit.frontends.python.conversion.harmless import (
    UNKNOWN,
    Callers,
    files_to_note,
    is_harmless,
    meaning,
    what_does_more,
)
from primsplit.frontends.python.conversion.holders import (
    bases_of,
    hides,
    is_numpys,
    is_shown_whole,
    reached,
    roots_of,
    seen,
    shows_memory,
)
from primsplit.frontends.python.conversion.identity import note_joined
from primsplit.frontends.python.conversion.journal import Journal, content, journal
from primsplit.frontends.python.conversion.kinds import Kinds
from primsplit.frontends.python.conversion.missing import NotAssigned, is_missing
from primsplit.frontends.python.conversion.places import Places
from primsplit.frontends.python.conversion.plainer import RESULT
from primsplit.frontends.python.conversion.pointers import Pointers, parted
from primsplit.frontends.python.conversion.records import fields_of, is_record
from primsplit.frontends.python.conversion.rewriting import Join
from primsplit.ir import walk
from primsplit.ir.errors import DtypeError, NumberAsked, PrimsplitError, TraceError
from primsplit.numpy.converted_run import is_converted, made_at
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.branching.conditions import scalar_condition
from primsplit.tracing.branching.paths import INDEX, NotJoined
from primsplit.tracing.branching.raising import raising_op
from primsplit.tracing.complex_array import ComplexArray
from primsplit.tracing.control.branching import choose
from primsplit.tracing.handles.views import Choice

_OLD = "what was "
"""What an If gives of a name beside its value: the array that it had before."""
Side = Callable[..., tuple[Any, ...]]


class Statement:
    """A statement that is joined: what its names hold before it, and what each run of a side gives them."""

    def __init__(self, join: Join, frame: FrameType, given: Sequence[Any], true: Side, false: Side) -> None:
        self.join, self.given = join, given
        self.sides = {True: true, False: false}
        self.runs: list[tuple[Sequence[Any], Sequence[Any]]] = []
        self.wholes: list[Sequence[Any]] = []
        """What the names hold after each run, where they may be several things."""
        self.values: dict[bool, dict[str, Any]] = {}
        self.places, self.kinds = Places(), Kinds(join.at)
        self.last: Journal | None = None
        """That of the run of a side that came last."""
        self.found: dict[tuple[int, ...], Any] = {}
        names = frame.f_locals
        unknown = join.effects.assigned | join.effects.inner

        def lookup(name: str) -> Any:
            return UNKNOWN if name in unknown else names.get(name, meaning(name, frame.f_globals))

        def given_or_meant(name: str) -> Any:
            value = names.get(name, meaning(name, frame.f_globals))
            return UNKNOWN if is_missing(value) else value

        read_before = map(given_or_meant, join.effects.read - {*join.names})
        self.read = [value for value in read_before if value is not UNKNOWN]
        callers = Callers(harmless={})
        if (read := what_does_more(join.effects, given_or_meant, callers)) is not None:
            raise self._does_more(f"it reads {read}")
        for callee in sorted(join.effects.calls):
            if not is_harmless(callee, lookup, callers):
                raise self._does_more(f"it calls {'.'.join(callee).lstrip('.')}")
        before = reached((v for v in (*self.given, *self.read) if not is_missing(v)), seen)
        self.pointers = Pointers(part for part in before if type(part) is Array)
        self.own = self._with_own_handles()

    def refusal(self, why: str) -> NotJoined:
        return NotJoined(self.join.at, why)

    def _does_more(self, why: str) -> NotJoined:
        before = (value for value in (*self.given, *self.read) if not is_missing(value))
        return NotJoined(self.join.at, why, files_to_note(before))

    def _with_own_handles(self) -> set[str]:
        """The names whose arrays a side may write to as its own; one that is shown elsewhere is lent to it (`Journal`).

        Raises NotJoined where nobody knows whether one is.
        """
        written = {n: v for n, v in zip(self.join.names, self.given, strict=True) if n in self.join.effects.written}
        arrays = {n: v for n, v in written.items() if _is_array(v)}
        if not arrays:
            return set()
        others = [v for n, v in zip(self.join.names, self.given, strict=True) if n not in arrays]
        parts = [*reached([v for v in (*others, *self.read) if not is_missing(v)], seen)]
        if any(map(hides, parts)):
            raise self.refusal("it writes to an array that other names may show")
        shown = [id(root) for v in (*parts, *arrays.values()) if _is_array(v) for root in roots_of(v)]
        return {n for n, v in arrays.items() if all(shown.count(id(root)) == 1 for root in roots_of(v))}

    def joined(self, test: Array) -> tuple[Any, ...]:
        """Record the If; return what the names hold after it."""
        into = tracing.current()
        before = len(into.ops)
        sides = [self._run(test, False), self._run(test, True)]
        try:
            found = choose(scalar_condition(test), sides, (), besides=self._besides)
        except Exception as error:
            if isinstance(error, NotJoined) or _is_of_known_numbers(error):
                raise
            raised = f"a side raises {type(error).__name__}: {error}"
            why = error.what if isinstance(error, PrimsplitError) else raised
            index_at = error.place if isinstance(error, NumberAsked) and error.what.startswith(INDEX) else None
            raise NotJoined(self.join.at, why, index_at=index_at) from error
        finally:
            self._take_back()
        blocks = (block for made in into.ops[before:] for block in made.blocks())
        if raising_op(itertools.chain.from_iterable(map(walk, blocks))) is not None:
            raise self.refusal("a side may raise")  # what a `try` around the statement may catch
        self._check_shown_once()
        for k, given in enumerate(self.given):
            if self._is_written_array(k):
                self.found[tuple(id(own[k]) for own, _ in self.runs)] = given

        def chosen(name: str, made: Sequence[Any]) -> Any:
            is_told = self.kinds.is_told(name, found) and not all(is_same(made[0], other) for other in made[1:])
            if is_told and name not in self.kinds.most:
                return self.kinds.after(name, _told(name), found, lambda: self._chosen(name, made, found))
            return self._chosen(name, made, found)

        self.places.settle(chosen, arrays=True)  # first, as what shows them is read now
        for k, name in enumerate(self.join.names):
            if self._is_written_array(k):
                self.given[k].assign(found.get(_OLD + name, found[name]))
        names = tuple(self._after(k, name, found) for k, name in enumerate(self.join.names))
        self.places.settle(chosen, arrays=False)
        return names

    def _besides(self, which: int, given: Mapping[str, Any]) -> Mapping[str, Any]:
        self._take_back()
        if self.places.have_other_keys():
            why = "a list, a dictionary or an object has another length after one of its sides"
            raise NotJoined(self.join.at, why, grows=True)
        left, told = self._left_by(bool(which))
        others, _ = self._left_by(not which)
        numbers = self.pointers.given(left, lambda array: array)
        written = self.places.as_written(bool(which), left, given)
        untold = self.kinds.untold({**given, **written, **told}, {**self.values[not which], **others})
        more = {**written, **told, **numbers, **untold}
        return {**more, **self.pointers.untold({**given, **more}, untold.keys())}

    def _left_by(self, which: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a side leaves as it was, of what the other changes, and the numbers of what Python tells apart."""
        left, told = self.kinds.given(self.places.before(which), _may_be_placed)
        return {name: value for name, value in left.items() if not may_be_told(value)}, told

    def _check_shown_once(self) -> None:
        """Two names or places show one array only where they do so whichever side is run, or where that is followed.

        An array from before is followed (`Pointers`), and one that a side made where they show it as it is; views of
        them are not.
        """
        chosen = (k for k, name in enumerate(self.join.names) if self._is_chosen(name))
        named = [[made[k] for _, made in self.runs] for k in chosen]
        named = [row for row in named if not (_is_container(row[0]) and all(v is row[0] for v in row))]
        rows = {tuple(map(id, row)): row for row in (*named, *self.places.rows().values())}
        for k, (own, made) in enumerate(self.runs):
            left = [own[name] for name in self._rebound() if made[name] is not own[name]]
            leaves = parted(trees.leaves_or_none([*left, *(row[k] for row in rows.values())]))
            arrays = [v for v in leaves if _is_array(v) or is_numpys(v)]
            roots = [id(root) for v in arrays for root in roots_of(v)]
            made_here = {id(root): root for v in arrays for root in self._not_followed(v, own)}
            shared = [root for root in made_here.values() if roots.count(id(root)) > 1]
            if not all(is_shown_whole(root, arrays) for root in shared) or self.pointers.have_lost_one():
                raise self.refusal("two names show one array")

    def _not_followed(self, value: Any, own: Sequence[Any]) -> list[Any]:
        """The roots of an array but those that were there before a run of a side, or stand for one that was."""
        if isinstance(value, np.ndarray):
            return [] if self._is_known(value) else roots_of(value)
        if tracing.is_open(value.recording) or any(value is each for each in own):
            return []
        if isinstance(value.view_of, Choice):
            return [root for base in value.view_of.bases for root in self._not_followed(base, own)]
        return roots_of(value)

    def _run(self, test: Any, which: bool) -> Callable[[], dict[str, Any]]:
        """The side as a function of nothing: the values of its names that are numbers or arrays."""

        def side() -> dict[str, Any]:
            self._take_back()
            own = [v.own() if self._is_written_array(k) else v for k, v in enumerate(self.given)]
            with journal(self.join.at, self._is_known, self._shown_with) as changed, holding(test, which):
                self.wholes.append(self.sides[which](*own))
                whole = dict(zip(self.join.names, self.wholes[-1], strict=True))
                held, numbers = self.kinds.given({n: v for n, v in whole.items() if self._is_chosen(n)}, self._may_give)
                made = [*{**whole, **held}.values()]
                values = {n: _copied(v) for n, v in held.items() if self._may_give(n, v)}
                old = {_OLD + self.join.names[k]: own[k] for k in self._rebound()}
            self.last = changed
            self.runs.append((own, made))
            mine = [id(v) for v in made if _is_container(v) and not self._is_known(v)]
            changes = [c for c in changed.changes if id(c.owner) not in mine]
            placed, told = self.kinds.given(self.places.given(which, changes), _may_be_placed)
            numbers |= told
            values |= {n: v for n, v in placed.items() if _is_value(v)}
            self.values[which] = values
            pointed = self.pointers.given(values, lambda array: self._before(array, own, changed), changed.lent)
            return {**values, **old, **numbers, **pointed}

        side.__name__ = "then" if which else "else"
        return side

    def _before(self, array: Any, own: Sequence[Any], changed: Journal) -> Any:
        """The array from before that this one is in a side that is being run; None for another."""
        if isinstance(array, np.ndarray):
            return array if self._is_known(array) else None
        for given, mine in zip(self.given, own, strict=True):
            if array is mine and type(given) is Array:
                return given
        is_lent = any(array is lent for lent, *_ in changed.lent)
        return array if is_lent or array.recording is not tracing.current() else None

    def _is_known(self, value: Any) -> bool:
        """True where what was there before the statement may show a list, a dictionary or an array of known numbers."""
        (value,) = roots_of(value) if is_numpys(value) else (value,)
        if not isinstance(value, np.ndarray | list | dict):
            return True
        before = (other for other in (*self.given, *self.read) if not is_missing(other))
        return any(part is value or hides(part) or shows_memory(part, value) for part in reached(before, seen))

    def _shown_with(self, array: Array) -> list[Array]:
        """The arrays that are lent to a side with this one: what shows it, all that those show, and so on.

        The array alone where what was there before the statement shows no other; none where that is not known.
        """
        parts = [*reached((v for v in (*self.given, *self.read) if not is_missing(v)), seen)]
        if any(map(hides, parts)):
            return []
        found, roots = {id(array): array}, {*map(id, roots_of(array))}
        shown = {id(part): {*map(id, roots_of(part))} for part in parts if _is_array(part)}
        if not any(roots & theirs for key, theirs in shown.items() if key != id(array)):
            return [array]
        while more := [p for p in parts if id(p) in shown and id(p) not in found and shown[id(p)] & roots]:
            found |= {id(part): part for part in more}
            roots = roots.union(*(shown[id(part)] for part in more))
        found |= {id(base): base for part in [*found.values()] for base in bases_of(part)}
        may_be = (type(v) is Array and (v.view_of is None or v.view_of.write is not None) for v in found.values())
        return [*found.values()] if all(may_be) else []

    def _take_back(self) -> None:
        """Let the arrays that the last run wrote to be what they were."""
        if self.last is not None:
            self.last.take_back()

    def _is_written_array(self, k: int) -> bool:
        """True for a name with an array to which a side may write: it has a handle of its own."""
        return self.join.names[k] in self.own

    def _rebound(self) -> list[int]:
        """The names with an array to which a side may write, and that a side may give another array."""
        names = enumerate(self.join.names)
        return [k for k, n in names if n in self.join.effects.bound and self._is_written_array(k)]

    def _may_give(self, name: str, value: Any) -> bool:
        """True for what the If may give the name; of lists and dictionaries, those of numbers that the side made."""
        if name in self.join.effects.written and _is_container(value):
            return all(map(_is_number, content(value).values())) and not self._is_known(value)
        return _is_value(value)

    def _is_chosen(self, name: str) -> bool:
        """False for a name that may be without a value after the statement."""
        return name in self.join.always or not is_missing(self.given[self.join.names.index(name)])

    def _after(self, k: int, name: str, found: Mapping[str, Any]) -> Any:
        made = [after[k] for _, after in self.runs]
        given = self.given[k]
        if not self._is_chosen(name):
            return NotAssigned(self.join.at)
        if self._is_written_array(k) and all(after[k] is own[k] for own, after in self.runs):
            return given
        wholes = [whole[k] for whole in self.wholes]
        if all(is_same(wholes[0], other) for other in wholes[1:]):
            return wholes[0]
        if self.kinds.is_list(name, wholes):
            return self.kinds.list_after(name, found)
        if self.kinds.is_told(name, found):
            return self.kinds.after(name, _told(name), found, lambda: self._chosen(name, made, found))
        if name not in found or name in self.kinds.others or name in self.kinds.most:
            return NotAssigned(self.join.at, f"{_told(name)} is no number or array")
        return self._chosen(name, made, found)

    def _chosen(self, name: str, made: Sequence[Any], found: Mapping[str, Any]) -> Any:
        """What a name or place holds that holds one of `made` after each run of a side."""
        if all(is_same(made[0], other) for other in made[1:]):
            return made[0]
        if name not in found:
            raise self.refusal(f"{_told(name)} is no number or array")
        row = tuple(map(id, made))
        if row not in self.found:
            self.found[row] = self._unaliased(name, made, found)
            note_joined(self.found[row], [thing for each in made for thing in if_gives(each)], self.join.at)
        return self.found[row]

    def _unaliased(self, name: str, made: Sequence[Any], given: Mapping[str, Any]) -> Any:
        """The chosen array; where a side gave the name a view of one from before, writing to either is refused."""
        found = given[name]
        leaves = parted(trees.leaves_or_none([v for v in made if not may_be_told(v)]))
        old = {id(base): base for base in map(self._from_before, leaves) if base is not None}
        is_outdated = name in self.places.outdated
        if (followed := self.pointers.settled(name, given, is_outdated=is_outdated)) is not None:
            return followed
        if is_outdated:
            raise self.refusal(f"{_told(name)} shows an array that is written to")
        (base, *others) = old.values() or [None]
        if others or not isinstance(base, Array) or type(found) is not Array:
            raise self._several(name, None if others else base)
        return found.viewing(base, lambda _: found, None)

    def _several(self, name: str, base: Any) -> TraceError:
        """The error for a name that may hold an array from before; one of known numbers is traced in another run."""
        why = f"{_told(name)} is one of several arrays, which may be written to later"
        place = made_at(base)
        if not is_numpys(base) or (is_converted() and place is None):
            return self.refusal(why)
        error = TraceError(why, place=tracing.user_place(), cure=f"Give it one of its own: {name} = {name}.copy().")
        error.again, error.made_at = True, place
        return error

    def _from_before(self, value: Any) -> Any:
        """The array from before the statement that this one is, or a view of; None for any other."""
        if not _is_array(value):
            return value if is_numpys(value) and self._is_known(value) else None
        shown = (array for array in (value, *bases_of(value)) if tracing.is_open(array.recording))
        return next(shown, None)


def _is_of_known_numbers(error: Exception) -> bool:
    """True for a write to an array of known numbers, which another run may have as a traced one."""
    return isinstance(error, DtypeError) and error.again and (error.made_at is not None or not is_converted())


def _told(name: str) -> str:
    """What an error calls a name."""
    return "what it returns" if name == RESULT else name


def _is_container(value: Any) -> bool:
    return type(value) is list or type(value) is dict


def _may_be_placed(_: str, value: Any) -> bool:
    return _is_value(value)


def _copied(value: Any) -> Any:
    return value.copy() if _is_container(value) else value


def _is_array(value: Any) -> bool:
    """True for a traced array that can be written to."""
    return type(value) is Array and not value.is_number()


def _is_number(value: Any) -> bool:
    return type(value) is Array or isinstance(value, int | float | complex | np.generic | ComplexArray)


def _is_value(value: Any) -> bool:
    """True for what an If may give."""
    if type(value) is tuple or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return all(map(_is_value, value))
    if is_record(value):
        return all(map(_is_value, fields_of(value)))
    return _is_number(value) or is_numpys(value)


def is_same(value: Any, other: Any) -> bool:
    """True for one object, and for equal constants of Python's."""
    if value is other:
        return True
    return type(value) is type(other) and type(value) in {int, bool, str, float, complex} and repr(value) == repr(other)

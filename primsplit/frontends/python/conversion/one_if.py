"""Records both sides of a statement as one If, whose outputs become the values of the assigned names.

```
if c:                           x = If(c, then: Mul(x, 2.0), else: Neg(x))
    x = 2.0 * x
else:
    x = -x
```
"""

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
from primsplit.frontends.python.conversion.journal import Content, Journal, content, journal, outermost_at
from primsplit.frontends.python.conversion.kinds import Kinds
from primsplit.frontends.python.conversion.missing import NotAssigned, is_missing
from primsplit.frontends.python.conversion.places import Places
from primsplit.frontends.python.conversion.pointers import Pointers, parted
from primsplit.frontends.python.conversion.rewriting import Join
from primsplit.frontends.python.conversion.side_values import (
    are_of_one_type,
    copied,
    is_array,
    is_container,
    is_number,
    is_output,
    is_same,
    label,
    of_two_kinds,
)
from primsplit.frontends.python.conversion.unknown import joins_one_type
from primsplit.ir import walk
from primsplit.ir.errors import DtypeError, NumberAsked, PrimsplitError, TraceError
from primsplit.numpy.converted_run import is_converted, made_at
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.branching.conditions import scalar_condition
from primsplit.tracing.branching.paths import PLACES, NotJoined
from primsplit.tracing.branching.raising import raising_op
from primsplit.tracing.control.branching import choose
from primsplit.tracing.handles.views import Choice

FLAGS = ("_joined_ended", "_joined_caught", "_joined_skipped")
"""Prefixes of the truth values that a rewrite adds. The user's code never asks whether one is a `bool` or NumPy's."""
_OLD = "what was "
"""The prefix of the If's outputs for the earlier array of a name, beside its new value."""
Side = Callable[..., tuple[Any, ...]]


class Statement:
    """A joined statement: the values of its names before it, and after each run of a side."""

    def __init__(self, join: Join, frame: FrameType, given: Sequence[Any], true: Side, false: Side) -> None:
        self.join, self.given = join, given
        self.sides = {True: true, False: false}
        self.runs: list[tuple[Sequence[Any], Sequence[Any]]] = []
        self.wholes: list[Sequence[Any]] = []
        """The values of the names after each run of a side; they may be `Either`s."""
        self.values: dict[bool, dict[str, Any]] = {}
        self.places, self.kinds = Places(), Kinds(join.at)
        self.last: Journal | None = None
        """The journal of the last run of a side."""
        self.found: dict[tuple[int, ...], Any] = {}
        names = frame.f_locals
        unknown = join.effects.assigned | join.effects.inner

        def lookup(name: str) -> Any:
            return UNKNOWN if name in unknown else names.get(name, meaning(name, frame.f_globals))

        def given_or_meant(name: str) -> Any:
            value = names.get(name, meaning(name, frame.f_globals))
            return UNKNOWN if is_missing(value) else value

        read_before = {name: given_or_meant(name) for name in join.effects.read - {*join.names}}
        self.known = {name: value for name, value in read_before.items() if value is not UNKNOWN}
        """The values of the names that the statement reads and does not assign."""
        self.read = [*self.known.values()]
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
        """Return the names whose arrays a side may write to by a handle of its own.

        An array that other names show too is lent to the side instead, by its `Journal`. Raises NotJoined if it is
        unknown whether another name shows the array.
        """
        written = {n: v for n, v in zip(self.join.names, self.given, strict=True) if n in self.join.effects.written}
        arrays = {n: v for n, v in written.items() if is_array(v)}
        if not arrays:
            return set()
        others = [v for n, v in zip(self.join.names, self.given, strict=True) if n not in arrays]
        parts = [*reached([v for v in (*others, *self.read) if not is_missing(v)], seen)]
        if any(map(hides, parts)):
            raise self.refusal("it writes to an array that other names may show")
        shown = [id(root) for v in (*parts, *arrays.values()) if is_array(v) for root in roots_of(v)]
        return {n for n, v in arrays.items() if all(shown.count(id(root)) == 1 for root in roots_of(v))}

    def joined(self, test: Array) -> tuple[Any, ...]:
        """Record the If; return the values of the names after it."""
        into = tracing.current()
        before = len(into.ops)
        sides = [self._run(test, False), self._run(test, True)]
        try:
            outputs = choose(scalar_condition(test), sides, (), besides=self._besides)
        except Exception as error:
            if isinstance(error, NotJoined) or _is_of_known_numbers(error):
                raise
            raised = f"a side raises {type(error).__name__}: {error}"
            why = error.what if isinstance(error, PrimsplitError) else raised
            index_at = error.place if isinstance(error, NumberAsked) and error.what.startswith(PLACES) else None
            raise NotJoined(self.join.at, why, index_at=index_at) from error
        finally:
            self._take_back()
        blocks = (block for made in into.ops[before:] for block in made.blocks())
        if raising_op(itertools.chain.from_iterable(map(walk, blocks))) is not None:
            raise self.refusal("a side may raise")  # a `try` around the statement may catch that
        self._check_shown_once()
        for k, given in enumerate(self.given):
            if self._is_written_array(k):
                self.found[tuple(id(own[k]) for own, _ in self.runs)] = given

        def chosen(name: str, made: Sequence[Any]) -> Any:
            is_told = self._may_be_told(name, outputs) and not all(is_same(made[0], other) for other in made[1:])
            if is_told and name not in self.kinds.most:
                return self.kinds.after(name, label(name), outputs, lambda: self._chosen(name, made, outputs))
            return self._chosen(name, made, outputs)

        self.places.settle(chosen, arrays=True)  # first, as the views of these arrays are read below
        for k, name in enumerate(self.join.names):
            if self._is_written_array(k):
                self.given[k].assign(outputs.get(_OLD + name, outputs[name]))
        names = tuple(self._after(k, name, outputs) for k, name in enumerate(self.join.names))
        self.places.settle(chosen, arrays=False)
        return names

    def _besides(self, which: int, given: Mapping[str, Any]) -> Mapping[str, Any]:
        self._take_back()
        if (found := self.places.with_other_keys()) is not None:
            raise NotJoined(self.join.at, self._of_two_lengths(*found), grows=True)
        left, numbers_told = self._left_by(bool(which))
        others, _ = self._left_by(not which)
        numbers = self.pointers.given(left, lambda array: array)
        written = self.places.as_written(bool(which), left, given)
        untold = self.kinds.untold({**given, **written, **numbers_told}, {**self.values[not which], **others})
        more = {**written, **numbers_told, **numbers, **untold}
        return {**more, **self.pointers.untold({**given, **more}, untold.keys())}

    def _of_two_lengths(self, owner: Any, first: Content, second: Content) -> str:
        """Return the words for a container or an object that has other keys on one side than on the other."""
        named = {**self.known, **dict(zip(self.join.names, self.given, strict=True))}
        name = next((name for name, value in named.items() if value is owner), f"a {type(owner).__name__}")
        if type(owner) is list:
            return f"{name} has {len(first)} elements on one side and {len(second)} on the other"
        keys = sorted({*map(str, first)} ^ {*map(str, second)})
        return f"{name} has {keys[0] if keys else 'its keys in another order'} on one side alone"

    def _left_by(self, which: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the values of places that only the other side changes, and the numbers of those that are no arrays."""
        left, numbers = self.kinds.given(self.places.before(which), _may_be_placed)
        return {name: value for name, value in left.items() if not may_be_told(value)}, numbers

    def _check_shown_once(self) -> None:
        """Check that two names or places show one array on both sides, or on neither, or that `Pointers` track it.

        An earlier array is tracked, and so is one that a side created if names hold the array itself; views are not.
        Raises NotJoined.
        """
        chosen = (k for k, name in enumerate(self.join.names) if self._is_chosen(name))
        named = [[after[k] for _, after in self.runs] for k in chosen]
        named = [row for row in named if not (is_container(row[0]) and all(v is row[0] for v in row))]
        rows = {tuple(map(id, row)): row for row in (*named, *self.places.rows().values())}
        for k, (own, after) in enumerate(self.runs):
            left = [own[name] for name in self._rebound() if after[name] is not own[name]]
            leaves = parted(trees.leaves_or_none([*left, *(row[k] for row in rows.values())]))
            arrays = [v for v in leaves if is_array(v) or is_numpys(v)]
            roots = [id(root) for v in arrays for root in roots_of(v)]
            made_here = {id(root): root for v in arrays for root in self._not_followed(v, own)}
            shared = [root for root in made_here.values() if roots.count(id(root)) > 1]
            if not all(is_shown_whole(root, arrays) for root in shared) or self.pointers.have_lost_one():
                raise self.refusal("two names show one array")

    def _not_followed(self, value: Any, own: Sequence[Any]) -> list[Any]:
        """Return the roots of an array that `Pointers` do not track: those that a run of a side created."""
        if isinstance(value, np.ndarray):
            return [] if self._is_known(value) else roots_of(value)
        if tracing.is_open(value.recording) or any(value is each for each in own):
            return []
        if isinstance(value.view_of, Choice):
            return [root for base in value.view_of.bases for root in self._not_followed(base, own)]
        return roots_of(value)

    def _run(self, test: Any, which: bool) -> Callable[[], dict[str, Any]]:
        """Return the side as a function without arguments that returns its outputs by name."""

        def side() -> dict[str, Any]:
            self._take_back()
            own = [v.own() if self._is_written_array(k) else v for k, v in enumerate(self.given)]
            with journal(self.join.at, self._is_known, self._shown_with) as changed, holding(test, which):
                self.wholes.append(self.sides[which](*own))
                whole = dict(zip(self.join.names, self.wholes[-1], strict=True))
                held, numbers = self.kinds.given({n: v for n, v in whole.items() if self._is_chosen(n)}, self._may_give)
                after = [*{**whole, **held}.values()]
                values = {n: copied(v) for n, v in held.items() if self._may_give(n, v)}
                old = {_OLD + self.join.names[k]: own[k] for k in self._rebound()}
            self.last = changed
            self.runs.append((own, after))
            mine = [id(v) for v in after if is_container(v) and not self._is_known(v)]
            changes = [c for c in changed.changes if id(c.owner) not in mine]
            placed, numbers_of_places = self.kinds.given(self.places.given(which, changes), _may_be_placed)
            numbers |= numbers_of_places
            values |= {n: v for n, v in placed.items() if is_output(v)}
            self.values[which] = values
            pointed = self.pointers.given(values, lambda array: self._before(array, own, changed), changed.lent)
            return {**values, **old, **numbers, **pointed}

        side.__name__ = "then" if which else "else"
        return side

    def _before(self, array: Any, own: Sequence[Any], changed: Journal) -> Any:
        """Return the earlier array that an array is, in the side that is being run; None if the side created it."""
        if isinstance(array, np.ndarray):
            return array if self._is_known(array) else None
        for earlier, mine in zip(self.given, own, strict=True):
            if array is mine and type(earlier) is Array:
                return earlier
        is_lent = any(array is lent for lent, *_ in changed.lent)
        return array if is_lent or array.recording is not tracing.current() else None

    def _is_known(self, value: Any) -> bool:
        """Whether values from before the statement may show a list, a dictionary or an array of known numbers."""
        (value,) = roots_of(value) if is_numpys(value) else (value,)
        if not isinstance(value, np.ndarray | list | dict):
            return True
        before = (other for other in (*self.given, *self.read) if not is_missing(other))
        return any(part is value or hides(part) or shows_memory(part, value) for part in reached(before, seen))

    def _shown_with(self, array: Array) -> list[Array]:
        """Return the arrays that are lent to a side with this one: those that show its elements, and theirs in turn.

        The array stands alone if no other value from before the statement shows it; the list is empty if that is
        unknown.
        """
        parts = [*reached((v for v in (*self.given, *self.read) if not is_missing(v)), seen)]
        if any(map(hides, parts)):
            return []
        lent, roots = {id(array): array}, {*map(id, roots_of(array))}
        shown = {id(part): {*map(id, roots_of(part))} for part in parts if is_array(part)}
        if not any(roots & theirs for key, theirs in shown.items() if key != id(array)):
            return [array]
        while more := [p for p in parts if id(p) in shown and id(p) not in lent and shown[id(p)] & roots]:
            lent |= {id(part): part for part in more}
            roots = roots.union(*(shown[id(part)] for part in more))
        lent |= {id(base): base for part in [*lent.values()] for base in bases_of(part)}
        may_be = (type(v) is Array and (v.view_of is None or v.view_of.write is not None) for v in lent.values())
        return [*lent.values()] if all(may_be) else []

    def _take_back(self) -> None:
        """Restore the arrays that the last run wrote to."""
        if self.last is not None:
            self.last.take_back()

    def _is_written_array(self, k: int) -> bool:
        """Whether a name holds an array that a side may write to, by a handle of its own."""
        return self.join.names[k] in self.own

    def _rebound(self) -> list[int]:
        """Return the positions of names with an array that a side may write to, and that a side may also rebind."""
        names = enumerate(self.join.names)
        return [k for k, n in names if n in self.join.effects.bound and self._is_written_array(k)]

    def _may_give(self, name: str, value: Any) -> bool:
        """Whether the If can output the value for the name. A list or dictionary must be new and hold only numbers."""
        if name in self.join.effects.written and is_container(value):
            return all(map(is_number, content(value).values())) and not self._is_known(value)
        return is_output(value)

    def _is_chosen(self, name: str) -> bool:
        """Whether a name certainly has a value after the statement."""
        return name in self.join.always or not is_missing(self.given[self.join.names.index(name)])

    def _after(self, k: int, name: str, outputs: Mapping[str, Any]) -> Any:
        outcomes = [after[k] for _, after in self.runs]
        before = self.given[k]
        if not self._is_chosen(name):
            return NotAssigned(self.join.at)
        if self._is_written_array(k) and all(after[k] is own[k] for own, after in self.runs):
            return before
        wholes = [whole[k] for whole in self.wholes]
        if all(is_same(wholes[0], other) for other in wholes[1:]):
            return wholes[0]
        if self.kinds.is_list(name, wholes):
            if joins_one_type():
                raise self._of_two_types(name)
            return self.kinds.list_after(name, outputs)
        if self._may_be_told(name, outputs):
            return self.kinds.after(name, label(name), outputs, lambda: self._chosen(name, outcomes, outputs))
        if name not in outputs or name in self.kinds.others or name in self.kinds.most:
            return NotAssigned(self.join.at, of_two_kinds(name, outcomes))
        return self._chosen(name, outcomes, outputs)

    def _may_be_told(self, name: str, outputs: Mapping[str, Any]) -> bool:
        """Whether the run knows which of several things a name is. Raises NotJoined if only one type is joined."""
        is_told = self.kinds.is_told(name, outputs)
        if is_told and joins_one_type():
            raise self._of_two_types(name)
        return is_told

    def _of_two_types(self, name: str) -> NotJoined:
        """Refuse the outermost statement around: followed path by path, it may be joined with others of two types."""
        return NotJoined(outermost_at() or self.join.at, f"its sides give {label(name)} values of two types")

    def _chosen(self, name: str, outcomes: Sequence[Any], outputs: Mapping[str, Any]) -> Any:
        """Return the value of a name or place that holds one of `outcomes` after each run of a side."""
        if all(is_same(outcomes[0], other) for other in outcomes[1:]):
            return outcomes[0]
        if name not in outputs:
            raise self.refusal(of_two_kinds(name, outcomes))
        is_asked = name not in self.join.unread and not name.startswith(FLAGS)
        if joins_one_type() and is_asked and not are_of_one_type(outcomes):
            raise self._of_two_types(name)
        row = tuple(map(id, outcomes))
        if row not in self.found:
            self.found[row] = self._unaliased(name, outcomes, outputs)
            note_joined(self.found[row], [thing for each in outcomes for thing in if_gives(each)], self.join.at)
        return self.found[row]

    def _unaliased(self, name: str, outcomes: Sequence[Any], outputs: Mapping[str, Any]) -> Any:
        """Return the If's output as a new array, as a view of an earlier one, or as a choice among several.

        Raises NotJoined or TraceError if a later write would have to reach an array that is not tracked.
        """
        output = outputs[name]
        leaves = parted(trees.leaves_or_none([v for v in outcomes if not may_be_told(v)]))
        old = {id(base): base for base in map(self._from_before, leaves) if base is not None}
        is_outdated = name in self.places.outdated
        if (followed := self.pointers.settled(name, outputs, is_outdated=is_outdated)) is not None:
            return followed
        if is_outdated:
            raise self.refusal(f"{label(name)} shows an array that is written to")
        (base, *others) = old.values() or [None]
        if others or not isinstance(base, Array) or type(output) is not Array:
            raise self._several(name, None if others else base)
        return output.viewing(base, lambda _: output, None)

    def _several(self, name: str, base: Any) -> TraceError:
        """Return the error for a name that may hold an earlier array.

        If that array holds known numbers, the error asks for another run in which it is traced.
        """
        why = f"{label(name)} is one of several arrays, which may be written to later"
        place = made_at(base)
        if not is_numpys(base) or (is_converted() and place is None):
            return self.refusal(why)
        error = TraceError(why, place=tracing.user_place(), cure=f"Give it one of its own: {name} = {name}.copy().")
        error.again, error.made_at = True, place
        return error

    def _from_before(self, value: Any) -> Any:
        """Return the array from before the statement that a value is, or is a view of; None for any other value."""
        if not is_array(value):
            return value if is_numpys(value) and self._is_known(value) else None
        shown = (array for array in (value, *bases_of(value)) if tracing.is_open(array.recording))
        return next(shown, None)


def _is_of_known_numbers(error: Exception) -> bool:
    """Whether an error is a write to an array of known numbers, which another run may trace instead."""
    return isinstance(error, DtypeError) and error.again and (error.made_at is not None or not is_converted())


def _may_be_placed(_: str, value: Any) -> bool:
    return is_output(value)

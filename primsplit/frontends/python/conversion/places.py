"""Tracks what the sides of a joined statement change in containers and arrays, and updates these after the If."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from primsplit.frontends.python.conversion.holders import roots_of
from primsplit.frontends.python.conversion.journal import Change, hold
from primsplit.tracing import trees
from primsplit.tracing.array import Array

Place = tuple[int, int]
"""The id of an owner, and a position among what it holds."""


class Places:
    """The elements and attributes that runs of the sides have changed; of an array all elements are one."""

    def __init__(self) -> None:
        self.owners: dict[int, Change] = {}
        self.runs: list[tuple[bool, dict[int, Change]]] = []
        self.changed: dict[bool, dict[Place, None]] = {False: {}, True: {}}
        """The places that each side changes, in their order."""
        self.outdated: set[str] = set()
        """The places that a side leaves as they were, with an array to whose base it wrote."""

    def given(self, which: bool, changes: Sequence[Change]) -> dict[str, Any]:
        """Remember what a run of a side has changed; return the values, by name."""
        found = {id(change.owner): change for change in changes}
        self.runs.append((which, found))
        self.owners |= {key: change for key, change in found.items() if key not in self.owners}
        values = {(key, k): v for key, change in found.items() for k, v in change.values()}
        self.changed[which] |= dict.fromkeys(values)
        return {self._name(place): v for place, v in values.items()}

    def have_other_keys(self) -> bool:
        """True where a list, dictionary or object has other keys after one side than after another."""
        return any([*after] != [*contents[0]] for contents in map(self._after, self.owners) for after in contents[1:])

    def as_written(self, which: bool, before: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """What a side leaves as it was, of what the other changes, from the values `before`.

        An array from before that the side has written to is among what it has `given`.
        """
        written = {key: given[self._name((key, k))] for key, k in self.changed[which] if self._is_array(key)}

        def as_it_is(value: Any) -> Any:
            if isinstance(value, tuple):
                leaves, spec = trees.flatten(value)
                return trees.unflatten(spec, [written.get(id(leaf), leaf) for leaf in leaves])
            return written.get(id(value), value)

        for name, value in before.items():
            left = (leaf for leaf in trees.flatten(value)[0] if id(leaf) not in written)
            if any(id(root) in written for leaf in left for root in roots_of(leaf)):
                self.outdated.add(name)
        return {name: as_it_is(value) for name, value in before.items()}

    def before(self, which: bool) -> dict[str, Any]:
        """What the places held, by name, that the other side changes, and not this one."""
        left = [place for place in self.changed[not which] if place not in self.changed[which]]
        return {self._name(p): [*self.owners[p[0]].before.values()][p[1]] for p in left}

    def rows(self) -> dict[Place, list[Any]]:
        """What each place that is changed holds after each run."""
        held = {key: [[*after.values()] for after in self._after(key)] for key in self.owners}
        return {(key, k): [values[k] for values in held[key]] for key, k in self.changed[False] | self.changed[True]}

    def settle(self, chosen: Callable[[str, Sequence[Any]], Any], *, arrays: bool) -> None:
        """Let each array, or else each other owner, hold what is chosen, by name, of what it holds after the runs."""
        rows = self.rows()
        for key, change in self.owners.items():
            if self._is_array(key) is not arrays:
                continue
            held = dict(self._after(key)[0])
            for k, name in enumerate(held):
                if (key, k) in rows:
                    held[name] = chosen(self._name((key, k)), rows[key, k])
            hold(change.owner, held)

    def _is_array(self, key: int) -> bool:
        return type(self.owners[key].owner) is Array

    def _after(self, key: int) -> list[dict[Any, Any]]:
        """What an owner holds after each run."""
        return [changes[key].after if key in changes else self.owners[key].before for _, changes in self.runs]

    def _name(self, place: Place) -> str:
        """What the If calls the place: its key, and the number of its owner."""
        key, k = place
        name = [*self.owners[key].after][k]
        return f"{name if isinstance(name, str | int) else k} of {[*self.owners].index(key)}"

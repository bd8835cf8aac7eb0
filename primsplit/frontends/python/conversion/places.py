"""Tracks what the sides of a joined statement change in containers and arrays, and updates these after the If.

```
if c:                           # held[0] = If(c, then: a, else: what held[0] was)
    held[0] = a
```
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from primsplit.frontends.python.conversion.holders import roots_of
from primsplit.frontends.python.conversion.journal import Change, Content, hold
from primsplit.tracing import trees
from primsplit.tracing.array import Array

Place = tuple[int, int]
"""The `id` of an owner, and a position in its content."""


class Places:
    """The elements and attributes that runs of the sides have changed; all elements of an array are one place."""

    def __init__(self) -> None:
        self.owners: dict[int, Change] = {}
        self.runs: list[tuple[bool, dict[int, Change]]] = []
        self.changed: dict[bool, dict[Place, None]] = {False: {}, True: {}}
        """The places that each side changes, in the order of the changes."""
        self.outdated: set[str] = set()
        """The places that a side leaves unchanged and that hold a view of an array it wrote to."""

    def given(self, which: bool, changes: Sequence[Change]) -> dict[str, Any]:
        """Note the changes by a run of a side; return the new values by the names of the If's outputs."""
        by_owner = {id(change.owner): change for change in changes}
        self.runs.append((which, by_owner))
        self.owners |= {key: change for key, change in by_owner.items() if key not in self.owners}
        values = {(key, k): v for key, change in by_owner.items() for k, v in change.values()}
        self.changed[which] |= dict.fromkeys(values)
        return {self._name(place): v for place, v in values.items()}

    def with_other_keys(self) -> tuple[Any, Content, Content] | None:
        """Return a list, dictionary or object that has other keys after one side than after the other, and both."""
        for key, change in self.owners.items():
            first, *others = self._after(key)
            different = next((after for after in others if [*after] != [*first]), None)
            if different is not None:
                return change.owner, first, different
        return None

    def as_written(self, which: bool, before: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values that a side leaves in the places that only the other side changes.

        `before` are the values before the statement. An earlier array that the side wrote to is replaced by its value
        in `given`.
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
        """Return the values before the statement, by name, of the places that only the other side changes."""
        left = [place for place in self.changed[not which] if place not in self.changed[which]]
        return {self._name(p): [*self.owners[p[0]].before.values()][p[1]] for p in left}

    def rows(self) -> dict[Place, list[Any]]:
        """Return the values that each changed place holds after each run."""
        held = {key: [[*after.values()] for after in self._after(key)] for key in self.owners}
        return {(key, k): [values[k] for values in held[key]] for key, k in self.changed[False] | self.changed[True]}

    def settle(self, chosen: Callable[[str, Sequence[Any]], Any], *, arrays: bool) -> None:
        """Set the content of each array, or else of each other owner, to the values that `chosen` selects by name."""
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
        """Return the content of an owner after each run."""
        return [changes[key].after if key in changes else self.owners[key].before for _, changes in self.runs]

    def _name(self, place: Place) -> str:
        """Return the name of the If's output for a place: its key, and the position of its owner."""
        key, k = place
        name = [*self.owners[key].after][k]
        return f"{name if isinstance(name, str | int) else k} of {[*self.owners].index(key)}"

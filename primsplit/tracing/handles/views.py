"""Views of traced arrays: what a view remembers of its base, or of the several arrays that it may be.

```
v = x[0]        # View of x: read x[0], write x = ScatterND(x, [[0]], new)
v += 1          # writes to x; other views of x are read again at their next use
```
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from primsplit import tracing
from primsplit.ir.errors import Place, TraceError


class Writes(threading.local):
    """The number of writes to arrays, and of changes of a view's base, in this thread.

    What is up to date stays so while the count is the same: views of views of one array are checked once.
    """

    count = 0


writes = Writes()


def bases_first(array: Any) -> Iterator[Any]:
    """Yield the bases of a view, their bases and so on, each after its own bases; last the array itself.

    What is up to date is left out; the caller brings each up to date before it takes the next.
    """
    begun: set[int] = set()
    left = [array]
    while left:
        last = left[-1]
        if last.seen_at == writes.count:
            left.pop()
        elif last.view_of is None or id(last) in begun:
            yield left.pop()
        else:
            begun.add(id(last))
            left += last.view_of.bases


def bases_of(array: Any) -> Iterator[Any]:
    """Yield the bases of a traced array, their bases, and so on, each once."""
    seen: set[int] = set()
    left = [array]
    while left:
        view = left.pop().view_of
        new = [] if view is None else [base for base in view.bases if id(base) not in seen]
        seen.update(map(id, new))
        left += new
        yield from new


def unknown_base(place: Place) -> TraceError:
    """Return the error for a read of an array that may have been written to, through a view of it, at a place."""
    return TraceError(
        "whether an array that is read later sees what is written here depends on its memory layout",
        place=place,
        cure="Write to a copy, view = x.reshape(...).copy() say, and read that; of a function, its result.",
    )


def unknown_view() -> TraceError:
    """Return the error for a read of an array that may be a view of one that was written to."""
    return TraceError(
        "whether this view sees the write to its base depends on the memory layout",
        place=tracing.user_place(),
        cure="Take the view after the write, or .copy() it before.",
    )


class View:
    """The base of a view, how to read it again, and how to write through it.

    `write` is None if NumPy might have made a copy instead, which depends on the memory layout.
    """

    __slots__ = ("base", "read", "seen", "write")

    def __init__(
        self,
        base: Any,
        read: Callable[[Any], Any],
        write: Callable[[Any, Any], Any] | None,
    ) -> None:
        self.base = base
        self.read = read
        self.write = write
        self.seen = base.version

    @property
    def bases(self) -> Sequence[Any]:
        """The arrays that it may be a view of."""
        return (self.base,)

    def is_current(self) -> bool:
        """Whether nothing was written since it was read, if the base is up to date."""
        return bool(self.seen == self.base.version)

    def read_anew(self) -> Any:
        """Return its current value."""
        self.seen = self.base.version
        return self.read(self.base)

    def pass_on(self, write: Callable[[Any, Any], Any], new: Any) -> None:
        """Write the view's new value to its base."""
        self.base.assign(write(self.base, new))
        self.seen = self.base.version


class Choice(View):
    """A view of one of several arrays; a number that the run knows selects it.

    `number` is that number, and `numbers` are its values for the arrays. `choose(flag, a, b)` is an array that is `a`
    where the flag is true; without it, no write to any of the arrays can be followed. If it `owns`, nothing else shows
    the last of them.
    """

    __slots__ = ("_bases", "_versions", "choose", "number", "numbers", "owns")

    def __init__(
        self,
        bases: Sequence[Any],
        choose: Callable[[Any, Any, Any], Any] | None,
        *,
        number: Any,
        numbers: Sequence[int],
        owns: bool,
    ) -> None:
        self._bases, self.choose, self.owns = bases, choose, owns
        self.number, self.numbers = number, numbers
        super().__init__(bases[0], self._chosen, None if choose is None else lambda _, new: new)
        self._look_anew()

    @property
    def bases(self) -> Sequence[Any]:
        """The arrays that it may be."""
        return self._bases

    def is_one(self, k: int) -> Any:
        """Return a traced flag: whether it is the k-th of the arrays."""
        return self.number == self.numbers[k]

    def _look_anew(self) -> None:
        for base in self._bases:
            base.refresh()
        self._versions = self._now()

    def _now(self) -> list[int]:
        return [base.version for base in self._bases]

    def outdated(self) -> "Choice":
        """Return the choice itself, to be read again."""
        self._versions = []
        return self

    def _chosen(self, first: Any) -> Any:
        if self.choose is None:
            return first
        found = first
        for k, base in enumerate(self._bases[1:], 1):
            found = self.choose(self.is_one(k), base, found)
        return found

    def is_current(self) -> bool:
        """Whether nothing was written to any of them since it was read, if they are up to date."""
        return self._versions == self._now()

    def read_anew(self) -> Any:
        """Return its current value."""
        self._versions = self._now()
        return self._chosen(self.base)

    def pass_on(self, write: Callable[[Any, Any], Any], new: Any) -> None:
        """Write the new value to the array that it is."""
        for k, base in enumerate(self._bases):
            if self.choose is not None:
                base.assign(self.choose(self.is_one(k), write(base, new), base))
        self._look_anew()

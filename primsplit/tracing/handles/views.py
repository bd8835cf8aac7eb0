"""What a traced array that is a view remembers of its base, or of the arrays of which it is one."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from primsplit import tracing
from primsplit.ir.errors import Place, TraceError


class Writes(threading.local):
    """How often this thread has written to an array, or changed of which arrays one is a view.

    What is up to date stays so until the count is another: views of views of one array are looked at once.
    """

    count = 0


writes = Writes()


def bases_first(array: Any) -> Iterator[Any]:
    """What a view is a view of, or may be one of, and what those are views of, each behind its own; at last itself.

    What is up to date is left out, if the one that asks has made those that came before it so.
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
    """What a traced array is a view of, or may be one of, what those are views of, and so on, each once."""
    seen: set[int] = set()
    left = [array]
    while left:
        view = left.pop().view_of
        new = [] if view is None else [base for base in view.bases if id(base) not in seen]
        seen.update(map(id, new))
        left += new
        yield from new


def unknown_base(place: Place) -> TraceError:
    """The error for what is read of which a view was written to at a place, if it is one."""
    return TraceError(
        "whether an array that is read later sees what is written here depends on its memory layout",
        place=place,
        cure="Write to a copy, view = x.reshape(...).copy() say, and read that; of a function, its result.",
    )


def unknown_view() -> TraceError:
    """The error for what is read that was taken from an array which was written to, if it is a view of it."""
    return TraceError(
        "whether this view sees the write to its base depends on the memory layout",
        place=tracing.user_place(),
        cure="Take the view after the write, or .copy() it before.",
    )


class View:
    """What a view was taken from, how to read it anew, and how to write through it.

    `write` is None where NumPy might have made a copy instead, which only the memory layout tells.
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
        """The arrays that it may show."""
        return (self.base,)

    def is_current(self) -> bool:
        """True where nothing was written since it was read; the base is up to date."""
        return bool(self.seen == self.base.version)

    def read_anew(self) -> Any:
        """What it shows now."""
        self.seen = self.base.version
        return self.read(self.base)

    def pass_on(self, write: Callable[[Any, Any], Any], new: Any) -> None:
        """Write what the view holds now to its base."""
        self.base.assign(write(self.base, new))
        self.seen = self.base.version


class Choice(View):
    """What is one of several arrays, of which a number of the run tells.

    `number` is the number, and `numbers` those that stand for the arrays. `choose(flag, a, b)` is an array that is `a`
    where the flag is true. Without it nobody knows which array it is, once one of them has been written to. Where it
    `owns`, the last of them is shown by nothing else.
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
        """The arrays that it may show."""
        return self._bases

    def is_one(self, k: int) -> Any:
        """A flag of the run: true where it is the k-th of the arrays."""
        return self.number == self.numbers[k]

    def _look_anew(self) -> None:
        for base in self._bases:
            base.refresh()
        self._versions = self._now()

    def _now(self) -> list[int]:
        return [base.version for base in self._bases]

    def outdated(self) -> "Choice":
        """The choice itself, to be read anew from what it is."""
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
        """True where nothing was written to any of them since it was read; they are up to date."""
        return self._versions == self._now()

    def read_anew(self) -> Any:
        """What it shows now."""
        self._versions = self._now()
        return self._chosen(self.base)

    def pass_on(self, write: Callable[[Any, Any], Any], new: Any) -> None:
        """Write what is shown to the one that it is."""
        for k, base in enumerate(self._bases):
            if self.choose is not None:
                base.assign(self.choose(self.is_one(k), write(base, new), base))
        self._look_anew()

"""Record a function once per signature, and use it as one op, forward pass and pullback, in many programs: `cached`."""

import operator
import os
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from primsplit import tracing
from primsplit.ir import Block, Var
from primsplit.ir.caching.counters import Counters
from primsplit.ir.caching.fingerprint import fingerprint
from primsplit.ir.caching.limited import Limited, Recent
from primsplit.ir.caching.once import Turns
from primsplit.ir.errors import SpecError
from primsplit.ir.notation.encoding import Unstorable
from primsplit.programs.compiled import Compiled, Place
from primsplit.programs.known import Known, Statistics
from primsplit.programs.looks import look_of
from primsplit.programs.program import Program
from primsplit.programs.storing import Recorded, Store
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import Primitive, is_for_every_use
from primsplit.tracing.calls.recorded import StandIn
from primsplit.tracing.functionlike import remade
from primsplit.tracing.registering import Epoch
from primsplit.transforms.boundaries import Bounded

Function = Callable[..., Any]


class Signature(NamedTuple):
    """The properties that a recording of a cached function depends on."""

    structure: Any
    types: tuple[Any, ...]
    static: tuple[Any, ...]
    function: Any
    rules: int
    branches: bool


REASONS = {
    "structure": "the arguments are nested differently",
    "types": "an array has another dtype, shape or kind",
    "static": "a static argument has another value",
    "function": "the function, or something that it reads, has changed",
    "rules": "a derivative rule was registered",
    "branches": "branches are explored in the one trace and refused in the other",
}
UNKEPT = "it reads traced values around it, makes sizes of data, or follows the branches of given arrays"


LOOKS = 256
"""The number of signatures of array calls that are remembered, to find their programs quickly."""
REMEMBERED = 4096
"""The number of signatures that are remembered, to distinguish forgotten ones from new ones."""


@dataclass
class CacheStatistics(Statistics):
    """The number of uses that hit a recording, that had to record, and that read a recording from the store."""

    read: int = 0


class CacheInfo(NamedTuple):
    """The result of `cache_info`, as for `functools.lru_cache`. `currsize` is the number of recordings kept."""

    hits: int
    misses: int
    maxsize: int | None
    currsize: int


class _Runs(Compiled):
    """The programs with which a cached function runs on arrays.

    They trace a call of it, which is not counted as a trace.

    A program is kept as long as its recording, and a call that finds it counts as a use of that recording.
    """

    counted = False

    def __init__(self, of: "Cached", record: Function, function: Function, most: int) -> None:
        super().__init__(record, function)
        self.cached = of
        self.programs: Recent[Place, Program] = Recent(most)
        self.recording_of: dict[Place, Signature | None] = {}
        """The recording of each program; None for a program of several, or of none."""
        self.places: tuple[Known | None, Limited[Any, Place]] = (None, Limited(LOOKS))
        """The values that the function read, and the places of programs of calls while these values stay the same."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        if tracing.is_recording() or self.is_guarded:
            return super().__call__(*args, **named)
        leaves, look = look_of(args, named)
        known = self._known()
        if self.places[0] is not known:
            self.places = known, Limited(LOOKS)
        places = self.places[1]
        place = places.get(look)
        program = None if place is None else self._found(place)
        if program is not None:
            with self.lock:
                self.statistics.hits += 1
            return program.run_leaves(leaves)
        place = self._place(args, named, known)
        result = self._program(place, args, named)(*args, **named)
        if look is not None:
            places[look] = (0, *place)
        return result

    def _found(self, key: Place) -> Program | None:
        program = super()._found(key)
        return program if program is not None and self.cached.is_used(self.recording_of.get(key)) else None

    def _keep(self, key: Place, made: Program, args: Any, named: dict[str, Any]) -> None:
        super()._keep(key, made, args, named)
        with self.lock:
            self.recording_of[key] = self.cached.latest.signature
            self.recording_of = {place: of for place, of in self.recording_of.items() if place in self.programs}

    def forget_all_but(self, recordings: Collection[Signature]) -> None:
        """Forget the programs of other recordings than these."""
        with self.lock:
            for place, of in list(self.recording_of.items()):
                if of is not None and of not in recordings:
                    del self.recording_of[place]
                    self.programs.pop(place, None)

    def clear(self) -> None:
        """Forget every program."""
        super().clear()
        self.recording_of.clear()
        self.places = (None, Limited(LOOKS))


class _Latest(threading.local):
    signature: Signature | None = None


class Cached(Primitive):
    """A function that is traced once per signature; see `cached`. `statistics` count uses in traces and on arrays.

    Threads may use it at the same time: one of them traces a signature, and the others wait for it.
    """

    def __init__(
        self,
        function: Function,
        name: str = "",
        maxsize: int | None = 256,
        store: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(function, name, Bounded)
        self.maxsize = _checked(maxsize)
        most = sys.maxsize if self.maxsize is None else self.maxsize
        self.store = None if store is None else Store(store, function, self.name)
        self.statistics = CacheStatistics()
        self.recordings: Recent[Signature, Recorded] = Recent(most)
        self.kept: Limited[Signature, None] = Limited(REMEMBERED)
        """The signatures that have been recorded, forgotten or not."""
        self.latest = _Latest()
        """The recording that this thread used last; None for one that is not kept."""
        self.compiled = _Runs(self, super().__call__, function, most)
        self.lock = threading.Lock()
        self.turns = Turns()
        self._missed = "nothing was recorded yet"

    def __call__(self, *args: Any, **static: Any) -> Any:
        """Become part of the program being traced, or run on arrays by onnxruntime."""
        return self.compiled(*args, **static)

    def clear(self, *, store: bool = False) -> None:
        """Forget every recording; with `store`, remove the files of functions of this name from the store too."""
        with self.lock:
            self.recordings.clear()
            self.kept.clear()
        self.compiled.clear()
        if store and self.store is not None:
            self.store.clear()

    def cache_info(self) -> CacheInfo:
        """Return hits, misses, `maxsize` and the number of recordings, as for `functools.lru_cache`.

        A recording read from the store is neither a hit nor a miss.
        """
        with self.lock:
            told = self.statistics
            return CacheInfo(told.hits, told.misses, self.maxsize, len(self.recordings))

    def cache_clear(self) -> None:
        """Forget every recording and all counts, as a function of `functools.lru_cache` does."""
        self.clear()
        with self.lock:
            self.statistics.hits = self.statistics.misses = self.statistics.read = 0

    def is_used(self, signature: Signature | None) -> bool:
        """Count a use of a recording, or of a program without a kept recording; return False for a forgotten one."""
        with self.lock:
            if signature is not None and self.recordings.used(signature) is None:
                return False
            self.statistics.hits += 1
            return True

    def explain_miss(self) -> str:
        """Return why the last recording was made: which part of the signature no earlier one had."""
        return self._missed

    def _body(
        self, leaves: Sequence[Any], arrays: Sequence[Array | None], spec: trees.TreeSpec
    ) -> tuple[Block, list[Var], trees.TreeSpec]:
        key = self._signature(leaves, arrays, spec)
        with self.turns.turn(key):
            known = self._known(key)
            found = self._recorded(key, leaves, arrays, spec) if known is None else (known[0], [], known[1])
        self.latest.signature = key if key in self.recordings else None
        return found

    def _known(self, key: Signature) -> Recorded | None:
        """Return the recording of a signature, if there is one."""
        with self.lock:
            found = self.recordings.used(key)
            if found is not None:
                self.statistics.hits += 1
        return found

    def _recorded(
        self, key: Signature, leaves: Sequence[Any], arrays: Sequence[Array | None], spec: trees.TreeSpec
    ) -> tuple[Block, list[Var], trees.TreeSpec]:
        """Return the result of `_body` for an unknown signature: read from the store, or else traced."""
        path, unstorable = self._path(key)
        found = None if self.store is None or path is None else self.store.read(path)
        if found is not None:
            self._keep(key, found)
            with self.lock:
                self.statistics.read += 1
            return found[0], [], found[1]
        with self.lock:
            self.statistics.misses += 1
            Counters.traces += 1
            self._missed = self._difference(key)
        body, outer, result_spec = self._traced(leaves, arrays, spec)
        if not is_for_every_use(body, outer):
            self._missed += f"; {UNKEPT}, and is recorded at every use"
            return body, outer, result_spec
        self._keep(key, (body, result_spec))
        if self.store is not None and path is not None:
            unstorable = self._write(path, (body, result_spec))
        if unstorable:
            self._missed += f"; the store does not keep it: {unstorable}"
        return body, outer, result_spec

    def _keep(self, key: Signature, recorded: Recorded) -> None:
        with self.lock:
            self.recordings[key] = recorded
            self.kept[key] = None
            recordings = {*self.recordings}
        self.compiled.forget_all_but(recordings)

    def _path(self, key: Signature) -> tuple[str | None, str]:
        """Return the file of a recording in the store, if there is one; else the reason."""
        try:
            parts = (key.types, key.static, key.branches)
            return (None if self.store is None else self.store.path(key.structure, parts)), ""
        except Unstorable as error:
            return None, error.what

    def _write(self, path: str, recorded: Recorded) -> str:
        """Write a recording to the store. Return the reason if that is not possible."""
        try:
            if self.store is not None:
                self.store.write(path, recorded)
        except Unstorable as error:
            return error.what
        return ""

    def _signature(self, leaves: Sequence[Any], arrays: Sequence[Array | None], spec: trees.TreeSpec) -> Signature:
        pairs = list(zip(leaves, arrays, strict=True))
        types = tuple(None if a is None else (a.type.key, StandIn.of(a).kind) for _, a in pairs)
        static = tuple(fingerprint(x) for x, a in pairs if a is None)
        function = fingerprint(self.function)
        return Signature(spec, types, static, function, Epoch.count, tracing.current().explores)

    def _difference(self, key: Signature) -> str:
        """Return the difference of a signature from the known one that has most in common with it."""
        if not self.recordings:
            return "nothing was recorded yet"
        if key in self.kept:
            return f"it was recorded before, and forgotten for others: more than maxsize={self.recordings.most}"
        nearest = max(self.recordings, key=lambda known: sum(a == b for a, b in zip(known, key, strict=True)))
        parts = [
            REASONS[field] + _told(field, getattr(nearest, field), getattr(key, field))
            for field in Signature._fields
            if _asks(field, getattr(nearest, field)) != _asks(field, getattr(key, field))
        ]
        return "; ".join(parts)


def _asks(field: str, part: Any) -> Any:
    """Return the part of a signature that is compared: of the types only those of arrays."""
    return [t for t in part if t is not None] if field == "types" else part


def _told(field: str, before: Any, after: Any) -> str:
    """Return the types that differ, if any."""
    if field != "types" or len(before) != len(after):
        return ""
    pairs = [(a, b) for a, b in zip(before, after, strict=True) if a != b and a is not None and b is not None]
    told = [f"{_type(b)} where {_type(a)} was" for a, b in pairs]
    return f" ({', '.join(told)})" if told else ""


def _type(part: tuple[tuple[str, Any], bool]) -> str:
    (dtype, sizes), weak = part
    shape = "[...]" if sizes is None else f"[{','.join(map(str, sizes))}]"
    return f"{'a Python number' if weak else dtype}{shape if sizes != () else ''}"


def cached(
    function: Function | None = None,
    *,
    name: str = "",
    maxsize: int | None = 256,
    store: str | os.PathLike[str] | None = None,
) -> Any:
    """Return `function` recorded once for each signature: dtypes, shapes, static arguments and what it reads.

    In other functions' traces each use is one op; its derivative is split once, and stays a pair of calls, which a file
    of the form "functions" keeps as model-local functions. On arrays it runs in onnxruntime. `maxsize` is that of
    `functools.lru_cache`: the least recently used recordings beyond it are forgotten, with the programs that run them
    on arrays; None keeps all. `.cache_info()` and `.statistics` count uses in traces and calls on arrays,
    `.explain_miss()` returns why the last one was recorded, `.clear()` forgets all recordings. `name` is its name in
    listings and files. Raises SpecError for a `maxsize` that is not an integer.

    With `store`, a folder, recordings are kept there for other processes, which read them instead of tracing the
    function, as long as its code, what it reads, the rules and the versions are the same. Processes may share a folder.
    A damaged file is reported with a StoreWarning and written again. The folder holds data: reading it runs none of it.
    May be used as a decorator, with or without arguments. Raises what the function raises when it is traced.

    >>> energy = ps.cached(lambda x: np.sum(x**2))
    >>> [float(energy(np.ones(n))) for n in (2, 3, 2)], energy.statistics.misses
    ([2.0, 3.0, 2.0], 2)
    """
    return (
        (lambda given: _cached(given, name, maxsize, store))
        if function is None
        else _cached(function, name, maxsize, store)
    )


@remade
def _cached(function: Function, name: str, maxsize: int | None, store: str | os.PathLike[str] | None) -> Cached:
    return Cached(function, name, maxsize, store)


def _checked(maxsize: Any) -> int | None:
    """Return the limit, 0 for negative ones, as in `functools.lru_cache`. Raises SpecError if it is not an integer."""
    if maxsize is None:
        return None
    try:
        return max(0, operator.index(maxsize))
    except TypeError:
        told = f"maxsize is a whole number, or None for no limit, not {maxsize!r}"
        raise SpecError(told, place=tracing.user_place()) from None

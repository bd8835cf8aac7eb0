"""`cached`: a function recorded once per signature, which many programs use as one op, forward pass and pullback."""

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from primsplit import tracing, trees
from primsplit.array import Array
from primsplit.caching.counters import Counters
from primsplit.caching.fingerprint import fingerprint
from primsplit.caching.limited import Limited, Recent
from primsplit.caching.once import Turns
from primsplit.calls.boundaries import Bounded
from primsplit.calls.primitive import Primitive, is_for_every_use
from primsplit.calls.recorded import StandIn
from primsplit.functionlike import remade
from primsplit.ir import Block, Var
from primsplit.notation.encoding import Unstorable
from primsplit.programs.compiled import Compiled, Statistics
from primsplit.programs.storing import Recorded, Store
from primsplit.rules.table import Epoch

Function = Callable[..., Any]


class Signature(NamedTuple):
    """What a recording of a cached function depends on."""

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


REMEMBERED = 4096
"""How many signatures are remembered, to tell what was forgotten from what is new."""


@dataclass
class CacheStatistics(Statistics):
    """How often a use found its recording, how often it was made, and how often it was read from the store."""

    read: int = 0


class _Runs(Compiled):
    """The programs by which a cached function runs on arrays. They trace a call of it, which counts as no trace."""

    counted = False


class Cached(Primitive):
    """A function that is traced once per signature; see `cached`. `statistics` count its uses in traces.

    Threads may use it at the same time: one of them traces a signature, and the others wait for it.
    """

    def __init__(
        self, function: Function, name: str = "", maxsize: int = 256, store: str | os.PathLike[str] | None = None
    ) -> None:
        super().__init__(function, name, Bounded)
        self.store = None if store is None else Store(store, function, self.name)
        self.statistics = CacheStatistics()
        self.recordings: Recent[Signature, Recorded] = Recent(maxsize)
        self.kept: Limited[Signature, None] = Limited(REMEMBERED)
        """The signatures of which there was a recording, forgotten or not."""
        self.compiled = _Runs(super().__call__, function)
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

    def explain_miss(self) -> str:
        """Why the last recording was made: which part of the signature no earlier one had."""
        return self._missed

    def _body(
        self, leaves: Sequence[Any], arrays: Sequence[Array | None], spec: trees.TreeSpec
    ) -> tuple[Block, list[Var], trees.TreeSpec]:
        key = self._signature(leaves, arrays, spec)
        with self.turns.turn(key):
            known = self._known(key)
            if known is not None:
                return known[0], [], known[1]
            return self._recorded(key, leaves, arrays, spec)

    def _known(self, key: Signature) -> Recorded | None:
        """The recording of a signature that was made before, if there is one."""
        with self.lock:
            found = self.recordings.used(key)
            if found is not None:
                self.statistics.hits += 1
        return found

    def _recorded(
        self, key: Signature, leaves: Sequence[Any], arrays: Sequence[Array | None], spec: trees.TreeSpec
    ) -> tuple[Block, list[Var], trees.TreeSpec]:
        """What `_body` returns for a signature that is not known: read from the store, or else traced."""
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

    def _path(self, key: Signature) -> tuple[str | None, str]:
        """The file of a recording in the store, where there is one; else why not."""
        try:
            parts = (key.types, key.static, key.branches)
            return (None if self.store is None else self.store.path(key.structure, parts)), ""
        except Unstorable as error:
            return None, error.what

    def _write(self, path: str, recorded: Recorded) -> str:
        """Keep a recording in the store. Returns why that cannot be, where it cannot."""
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
        """What sets a signature apart from the known one that has most in common with it."""
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
    """What is compared of a part: of the types those of arrays, as what else is given is in the other parts."""
    return [t for t in part if t is not None] if field == "types" else part


def _told(field: str, before: Any, after: Any) -> str:
    """The types that differ, where those do."""
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
    maxsize: int = 256,
    store: str | os.PathLike[str] | None = None,
) -> Any:
    """`function`, recorded once for each signature: dtypes, shapes, static arguments and what it reads.

    In other functions' traces each use is one op; its derivative is split once, and stays a pair of calls, which a file
    of the form "functions" keeps as model-local functions. On arrays it runs in onnxruntime. The least recently used
    recordings beyond `maxsize` are forgotten; `.statistics` and `.explain_miss()` tell of them, `.clear()` forgets all.
    `name` is what listings and files call it.

    With `store`, a folder, recordings are kept there for other processes, which read them rather than trace the
    function, as long as its code, what it reads, the rules and the versions are the same. Processes may share a folder.
    A damaged file is told with a StoreWarning and written again. What the folder holds is data: reading it runs none
    of it. May be used as a decorator, with or without arguments. Raises what the function raises when it is traced.

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
def _cached(function: Function, name: str, maxsize: int, store: str | os.PathLike[str] | None) -> Cached:
    return Cached(function, name, maxsize, store)

"""`cached`: a function recorded once per signature, which many programs use as one op, forward pass and pullback."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from primsplit import trees
from primsplit.array import Array
from primsplit.boundaries import bounded
from primsplit.compiled import Compiled, Statistics
from primsplit.fingerprint import fingerprint
from primsplit.ir import Block, Var
from primsplit.primitive import Primitive
from primsplit.rules.table import Epoch

Function = Callable[..., Any]


class Signature(NamedTuple):
    """What a recording of a cached function depends on."""

    structure: Any
    types: tuple[Any, ...]
    static: tuple[Any, ...]
    function: Any
    rules: int


REASONS = {
    "structure": "the arguments are nested differently",
    "types": "an array has another dtype, shape or kind",
    "static": "a static argument has another value",
    "function": "the function, or something that it reads, has changed",
    "rules": "a derivative rule was registered",
}


class Cached(Primitive):
    """A function that is traced once per signature; see `cached`. `statistics` count its uses in traces."""

    def __init__(self, function: Function, name: str = "", maxsize: int = 256) -> None:
        super().__init__(function, name, bounded)
        self.maxsize = maxsize
        self.statistics = Statistics()
        self.recordings: OrderedDict[Signature, tuple[Block, trees.TreeSpec]] = OrderedDict()
        self.compiled = Compiled(super().__call__, function)
        self._missed = "nothing was recorded yet"

    def __call__(self, *args: Any, **static: Any) -> Any:
        """Become part of the program being traced, or run on arrays by onnxruntime."""
        return self.compiled(*args, **static)

    def clear(self) -> None:
        """Forget every recording."""
        self.recordings.clear()
        self.compiled.programs.clear()

    def explain_miss(self) -> str:
        """Why the last recording was made: which part of the signature no earlier one had."""
        return self._missed

    def _body(
        self, leaves: Sequence[Any], arrays: Sequence[Array | None], spec: trees.TreeSpec
    ) -> tuple[Block, list[Var], trees.TreeSpec]:
        key = self._signature(leaves, arrays, spec)
        known = self.recordings.get(key)
        if known is not None:
            self.statistics.hits += 1
            self.recordings.move_to_end(key)
            return known[0], [], known[1]
        self.statistics.misses += 1
        self._missed = self._difference(key)
        self.bodies.clear()
        body, outer, result_spec = super()._body(leaves, arrays, spec)
        if self.bodies:
            self.recordings[key] = (body, result_spec)
            if len(self.recordings) > self.maxsize:
                self.recordings.popitem(last=False)
        else:
            self._missed += "; it reads traced values around it, or makes sizes of data, and is recorded at every use"
        return body, outer, result_spec

    def _signature(self, leaves: Sequence[Any], arrays: Sequence[Array | None], spec: trees.TreeSpec) -> Signature:
        pairs = list(zip(leaves, arrays, strict=True))
        types = tuple(None if a is None else (a.type.key, a.weak) for _, a in pairs)
        static = tuple(fingerprint(x) for x, a in pairs if a is None)
        return Signature(spec, types, static, fingerprint(self.function), Epoch.count)

    def _difference(self, key: Signature) -> str:
        """What sets a signature apart from the known one that has most in common with it."""
        if not self.recordings:
            return "nothing was recorded yet"
        nearest = max(self.recordings, key=lambda known: sum(a == b for a, b in zip(known, key, strict=True)))
        parts = [
            REASONS[field] + _told(field, getattr(nearest, field), getattr(key, field))
            for field in Signature._fields
            if getattr(nearest, field) != getattr(key, field)
        ]
        return "; ".join(parts)


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


def cached(function: Function | None = None, *, name: str = "", maxsize: int = 256) -> Any:
    """`function`, recorded once for each signature: dtypes, shapes, static arguments and what it reads.

    In other functions' traces each use is one op; its derivative is split once, and stays a pair of calls, which a file
    of the form "functions" keeps as model-local functions. On arrays it runs in onnxruntime. The least recently used
    recordings beyond `maxsize` are forgotten; `.statistics`, `.clear()` and `.explain_miss()` tell of them. May be used
    as a decorator, with or without arguments.
    """
    if function is None:
        return lambda given: Cached(given, name, maxsize)
    return Cached(function, name, maxsize)

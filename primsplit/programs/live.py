"""Read large arrays that a function holds at each call, rather than compare them with what was recorded.

An array of a closure is part of the program: each call must find out whether it still holds the same numbers, which for
400 MB takes five times as long as the run. Where the function only joins it with what depends on arguments, as in
`X @ w`, a second program takes it as an input, and reads what it holds now. It is used where provably nothing else
depends on the numbers: the function is recorded without them, once and without other ways through it, and the result of
the first call is that of the first program.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Any

import numpy as np

from primsplit.ir import Block, Var, walk
from primsplit.ir.caching.fingerprint import objects_met, watched_fingerprint
from primsplit.ir.caching.limited import Limited
from primsplit.ir.caching.unchanged import Unchanged
from primsplit.ops.traits import traits
from primsplit.programs.program import Program
from primsplit.programs.trace_program import trace_program
from primsplit.tracing import trees
from primsplit.tracing.hooks import HOOKS
from primsplit.tracing.registering import Epoch

LEAST = 2**22
"""The bytes of an array that is worth a second program."""
LOOKS = 64
Function = Callable[..., Any]
Run = Callable[[Sequence[Any]], Any]


@dataclass(slots=True)
class Live:
    """Programs that read arrays of a function at each call, by the looks of calls, as long as it is `unchanged`."""

    arrays: Sequence[Any] = ()
    unchanged: Unchanged = field(default_factory=Unchanged)
    rules: int = field(default_factory=lambda: Epoch.count)
    programs: Limited[Any, Run] = field(default_factory=lambda: Limited(LOOKS))

    def run(self, look: Any) -> Run | None:
        """Return the function that runs calls of this look; None if there is none, or something has changed."""
        run = self.programs.get(look)
        return run if run is not None and self.rules == Epoch.count and self.unchanged else None

    def reads(self, arrays: Sequence[Any]) -> bool:
        """Whether these are its arrays, and nothing else has changed."""
        is_same = len(arrays) == len(self.arrays) and all(map(is_, arrays, self.arrays))
        return is_same and self.rules == Epoch.count and bool(self.unchanged)


NEVER = Live()
"""That of a function that has no such arrays, or may read them in another way."""


def live_with(
    live: Live, of: Function, record: Function, look: Any, call: tuple[tuple[Any, ...], dict[str, Any]], result: Any
) -> Live:
    """Return a Live with a program for calls of this look, such as `call` with its result; NEVER if that is not sure.

    `record` is recorded, and is a transform of the user's function `of`.
    """
    found = _live_run(record, large_arrays(of), *call)
    if found is None or not agrees(found[0](trees.flatten(call)[0]), result):
        return NEVER
    run, read = found
    if not live.reads(read):
        live = Live(read, watched_fingerprint(of, frozenset(map(id, read)))[1])
    live.programs[look] = run
    return live


def large_arrays(function: Any) -> list[Any]:
    """Return the large arrays that a function holds."""
    return [
        m
        for m in objects_met(function)
        if type(m) is np.ndarray and m.nbytes >= LEAST and m.flags.c_contiguous and m.dtype.kind in "fiu"
    ]


def _live_run(
    record: Function, arrays: Sequence[Any], args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Run, Sequence[Any]] | None:
    """Return a function that runs on the leaves of calls like this one, and the arrays that it reads.

    None if the function may read them in another way.
    """
    while arrays:
        program = _recorded(record, arrays, args, named)
        if program is None:
            return None
        kept = [a for a, is_live in zip(arrays, _only_joined(program.block, len(arrays)), strict=True) if is_live]
        if len(kept) == len(arrays):
            leaves = trees.flatten(((tuple(arrays), *args), named))[0]
            return _joined(program.runner(leaves), kept), kept
        arrays = kept
    return None


def _joined(run: Run, arrays: Sequence[Any]) -> Run:
    return lambda leaves: run([*arrays, *leaves])


def agrees(a: Any, b: Any) -> bool:
    """Whether two results are the same but for rounding."""
    (mine, spec), (others, other) = trees.flatten(a), trees.flatten(b)
    return bool(spec == other and all(map(_is_close, mine, others)))


def _is_close(a: Any, b: Any) -> bool:
    if not isinstance(a, np.ndarray | np.generic) or a.dtype.kind != "f":
        return bool(np.all(a == b))
    finite = np.abs(np.asarray(b)[np.isfinite(b)])
    allowed = {"float32": 1e-4, "float64": 1e-10}.get(a.dtype.name, 0.0) * np.max(finite, initial=0.0)
    return a.shape == b.shape and np.allclose(a, b, rtol=0.0, atol=allowed, equal_nan=True)


def _recorded(record: Function, arrays: Sequence[Any], args: tuple[Any, ...], named: dict[str, Any]) -> Program | None:
    """Return the program that takes these arrays first; None if the function may read them in another way."""
    reading = HOOKS.with_live_arrays(record, arrays)
    if reading is None:
        return None
    runs = 0

    def call(held: Any, *args: Any, **named: Any) -> Any:
        nonlocal runs
        runs += 1
        with reading(held) as run:
            return run(*args, **named)

    try:
        made = trace_program(call, (tuple(arrays), *args), named, branches="error", counted=False)
    except Exception:  # noqa: BLE001  # whatever it is, the recording with the arrays' numbers tells
        return None
    return made if runs == 1 and not made.states and not made.complex_inputs else None


def _only_joined(block: Block, count: int) -> list[bool]:
    """Tell of each of the first inputs whether all that is computed of it depends on the others too, but for moves."""
    arrays = {p: {i} for i, p in enumerate(block.params[:count])}
    others = set(block.params[count:])
    alone: dict[Var, set[int]] = dict(arrays)
    spoiled: set[int] = set()
    for op in block.ops:
        read = [v for v in op.inputs if isinstance(v, Var)]
        of = set().union(*(alone.get(v, set()) for v in read))
        if any(v in others for v in read):
            others.update(op.outputs)
        elif of:
            if not traits(op.kind).moves and op.kind != "Shape":
                spoiled |= of
            alone.update((v, of) for v in op.outputs if op.kind != "Shape")
    inner = {v for op in block.ops for b in op.blocks() for o in walk(b) for v in o.inputs if isinstance(v, Var)}
    read_directly = {v for op in block.ops for v in op.inputs if isinstance(v, Var)}
    spoiled |= set().union(*(alone[v] for v in alone if v in inner or v in set(block.results)))
    used = {i for p, of in arrays.items() if p in read_directly for i in of}
    return [i in used and i not in spoiled for i in range(count)]

"""Python branches on traced values: the function is run once for each path, and the paths become one tree of Ifs.

A condition that only the run knows is answered first with True; the function is then run again with the other answer,
until every path has been recorded. What two paths record before they part is the same, and is kept once.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any, NamedTuple

import numpy as np

from primsplit import dims, tracing, trees
from primsplit.array import Array, implements
from primsplit.dims import Dim, Size
from primsplit.errors import ConcretizationError, DtypeError, Place, PrimsplitError, ShapeError, TraceError
from primsplit.ir import Block, Const, Op, Renaming, Type, Value, Var, rename, same_data
from primsplit.lifting import as_array
from primsplit.nested import emit_if, record
from primsplit.ops import op
from primsplit.raising import OTHER_WAY, raise_at_run_time

LIMIT = 64
"""The most paths of one function that are recorded."""

WAYS_OUT = (
    "Write it with ps.cond, or np.where for a choice by elements; a loop with ps.while_loop, ps.fori_loop or ps.scan;\n"
    "  or pass what it depends on as a static Python argument."
)


class Decision(NamedTuple):
    """A condition that a path answered: after how many ops, which value, and what the answer was.

    A settled one was answered by the arrays that the function is recorded for; the other way is not recorded.
    """

    position: int
    condition: Value
    outcome: bool
    place: Place | None
    settled: bool = False


@dataclass
class Path:
    """One way through the function: the answers given to its conditions, and what it recorded."""

    answers: tuple[bool, ...]
    taken: list[Decision] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    results: list[Array] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    spec: trees.TreeSpec | None = None
    failure: Exception | None = None
    failed_at: Place | None = None
    renaming: Renaming = field(default_factory=dict)
    sizes: dict[str, Dim] = field(default_factory=dict)
    known: dict[Any, bool] = field(default_factory=dict)

    def decide(self, condition: Value, place: Place | None) -> bool:
        """The answer of this path to a condition; the one it gave before to the same condition."""
        recorded = tracing.current().ops
        key = _meaning(condition, {v: o for o in recorded for v in o.outputs}, 8)
        if key in self.known:
            return self.known[key]
        index = len(self.taken)
        if index >= LIMIT:
            raise _endless(place)
        told = tracing.value_for_example(condition)
        outcome = self.answers[index] if index < len(self.answers) else True if told is None else bool(told)
        self.taken.append(Decision(len(recorded), condition, outcome, place, settled=told is not None))
        self.known[key] = outcome
        return outcome


def _meaning(value: Value | None, made_by: dict[Var, Op], depth: int) -> Any:
    """Equal for conditions that are computed alike, as far as `depth` ops back."""
    if isinstance(value, Const):
        return (value.type.key, value.numpy().tobytes()) if value.is_small else id(value)
    made = made_by.get(value) if isinstance(value, Var) else None
    if value is None or made is None or depth == 0 or made.attributes or len(made.outputs) > 1:
        return id(value)
    return (made.kind, *(_meaning(v, made_by, depth - 1) for v in made.inputs))


def _endless(place: Place | None) -> ConcretizationError:
    return ConcretizationError(
        f"the function branches on traced values without end: this condition asks again after {LIMIT} paths",
        place=place,
        cure=WAYS_OUT,
    )


@implements("condition")
def scalar_condition(value: Any) -> Value:
    """A predicate as a bool without axes. Raises ShapeError for one with several elements."""
    array = as_array(value)
    if array.dtype != np.bool_:
        array = op.Cast(array, to=np.bool_)
    if array.shape == ():
        return array.value
    if all(dims.is_one(d) for d in array.shape):
        return op.Reshape(array, np.zeros(0, np.int64)).value
    raise ShapeError(
        f"a condition must be one truth value, not {array.type}",
        place=tracing.user_place(),
        cure="Reduce it with np.all or np.any, or choose by elements with np.where.",
    )


Run = Callable[[], tuple[Sequence[Array], trees.TreeSpec]]


def explored(run: Run) -> tuple[list[Array], trees.TreeSpec]:
    """What `run` returns, recorded in the current recording, whatever its branches depend on.

    `run` makes its own handles of the arguments, calls the function, and returns the leaves of the result and their
    structure. It is called once for each path. Raises ConcretizationError where the paths do not end or `branches` is
    "error", TraceError where paths give results of another structure.
    """
    into = tracing.current()
    before = list(into.ops), dict(into.known), dict(into.sources)
    paths: list[Path] = []
    pending: list[tuple[bool, ...]] = [()]
    while pending:
        path = Path(pending.pop())
        into.ops, into.known, into.sources = list(before[0]), dict(before[1]), dict(before[2])
        _follow(path, run)
        paths.append(path)
        answers = [d.outcome for d in path.taken]
        unknown = [i for i, d in enumerate(path.taken) if i >= len(path.answers) and not d.settled]
        pending += [(*answers[:i], False) for i in unknown]
        if len(paths) + len(pending) > LIMIT:
            raise _endless(path.taken[-1].place)
    if len(paths) == 1 and (not paths[0].taken or paths[0].failure is not None):
        return _only(paths[0])
    into.ops, into.known, into.sources = list(before[0]), dict(before[1]), dict(before[2])
    return _Tree(paths, len(before[0])).record()


def _only(path: Path) -> tuple[list[Array], trees.TreeSpec]:
    if path.failure is not None:
        raise path.failure
    if path.spec is None:
        raise TraceError("the function was not run")
    return path.results, path.spec


def _follow(path: Path, run: Run) -> None:
    """Run the function along a path. An error that the function itself raises belongs to the path."""
    into = tracing.current()
    into.path = path if into.explores else None
    try:
        results, path.spec = run()
        path.results = [as_array(r) for r in results]
        path.values = [a.value for a in path.results]
    except PrimsplitError:
        raise
    except (AssertionError, ValueError, ArithmeticError, RuntimeError) as error:
        if not path.taken or not _is_users(error.__traceback__):
            raise
        path.failure = error
        path.failed_at = _last_place(error.__traceback__)
    finally:
        into.path = None
    path.ops = into.ops


def _last_place(trace: TracebackType | None) -> Place | None:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return None
    code = trace.tb_frame.f_code
    return Place(code.co_filename, trace.tb_lineno, code.co_name)


def _is_users(trace: TracebackType | None) -> bool:
    """True for an error raised on a line of the user's."""
    place = _last_place(trace)
    return place is not None and not tracing.is_library(place.filename)


class _Tree:
    """The paths of one function, which become nested Ifs."""

    def __init__(self, paths: Sequence[Path], begin: int) -> None:
        self.paths = paths
        self.begin = begin
        ended = [p for p in paths if p.failure is None]
        if not ended:
            raise next(p.failure for p in paths if p.failure is not None)
        self.model = ended[0]
        self.spec = ended[0].spec
        for path in ended[1:]:
            self._check_structure(path)
        self.dtypes = [self._dtype(leaves) for leaves in zip(*(p.results for p in ended), strict=True)]
        self.weak = [all(a.weak for a in leaves) for leaves in zip(*(p.results for p in ended), strict=True)]

    def _check_structure(self, path: Path) -> None:
        if path.spec == self.spec:
            ranks = [(a.type.rank, b.type.rank) for a, b in zip(path.results, self.model.results, strict=True)]
            if all(a == b for a, b in ranks):
                return
        told = (_told(self.model), _told(path))
        raise TraceError(
            "the paths of the function return results of another structure or number of axes",
            place=path.taken[-1].place,
            because=told,
            cure="Return the same containers of arrays with as many axes on every path.",
        )

    def _dtype(self, leaves: Sequence[Array]) -> np.dtype[Any]:
        """The dtype of a result on every path; Python numbers give way."""
        strong = {a.dtype for a in leaves if not a.weak}
        if len(strong) > 1:
            raise DtypeError(
                f"the paths of the function return {' and '.join(sorted(map(str, strong)))}",
                place=self.model.taken[-1].place,
                cure="Convert one of them with .astype, so that every path gives the same dtype.",
            )
        return strong.pop() if strong else np.result_type(*(a.dtype for a in leaves))

    def record(self) -> tuple[list[Array], trees.TreeSpec]:
        """Record the tree; return the results and their structure."""
        values = self._part(self.paths, 0, self.begin)
        if self.spec is None:
            raise TraceError("the function was not run")
        return [Array(v, weak=w) for v, w in zip(values, self.weak, strict=True)], self.spec

    def _part(self, group: Sequence[Path], depth: int, begin: int) -> list[Value]:
        """Record what the paths of a group have in common from op `begin` on, and then the If that parts them."""
        lead = group[0]
        is_whole = depth == len(lead.taken)
        end = len(lead.ops) if is_whole else lead.taken[depth].position
        for position in range(begin, end):
            self._step(group, position)
        if is_whole:
            return self._results(lead)
        decision = lead.taken[depth]
        condition = _read(lead, decision.condition)
        sides = [[p for p in group if p.taken[depth].outcome is outcome] for outcome in (True, False)]
        blocks = [
            self._side(side, depth + 1, end) if side else self._not_recorded(condition, decision.place)
            for side in sides
        ]
        into = tracing.current()
        into.place = decision.place
        found = emit_if(condition, blocks[0], blocks[1])
        into.place = None
        return found

    def _side(self, group: Sequence[Path], depth: int, begin: int) -> Block:
        with tracing.recording() as inner:
            values = self._part(group, depth, begin)
        return tracing.close("path", [], inner, values)

    def _not_recorded(self, condition: Value, place: Place | None) -> Block:
        """The side of a settled condition that the arrays did not take."""

        def values() -> list[Value]:
            types = [Type(d, m.type.shape) for m, d in zip(self.model.results, self.dtypes, strict=True)]
            return raise_at_run_time(condition, types, place, OTHER_WAY)

        return record("path", [], values)

    @staticmethod
    def _step(group: Sequence[Path], position: int) -> None:
        """Record one op of the first path; those of the others at this place are the same one."""
        lead = group[0]
        original = lead.ops[position]
        made = rename(original, lead.renaming, sizes=lead.sizes)
        tracing.append(made)
        for other in group[1:]:
            same = other.ops[position] if position < len(other.ops) else None
            if same is None or not _alike(made, same, other):
                raise TraceError(
                    "the function does something else when it is run again, so its branches cannot be explored",
                    place=original.place,
                    cure="Take random numbers, counters and other state as arguments. Or use ps.cond.",
                )
            for mine, theirs in zip(made.outputs, same.outputs, strict=True):
                other.renaming[theirs] = mine
                _learn_sizes(other.sizes, theirs.type, mine.type)

    def _results(self, path: Path) -> list[Value]:
        if path.failure is not None:
            return self._failing(path)
        found = []
        for result, dtype in zip(path.values, self.dtypes, strict=True):
            value = Array(_read(path, result))
            found.append(value.value if value.dtype == dtype else op.Cast(value, to=dtype).value)
        return found

    def _failing(self, path: Path) -> list[Value]:
        """Values that no run gets to see: computing them fails, at the line that raised."""
        told = f"raises {type(path.failure).__name__}: {path.failure}".removesuffix(": ")
        types = [Type(d, m.type.shape) for m, d in zip(self.model.results, self.dtypes, strict=True)]
        return raise_at_run_time(_read(path, path.taken[-1].condition), types, path.failed_at, told)


def _told(path: Path) -> str:
    line = path.taken[-1].place if path.taken else None
    results = ", ".join(str(a.type) for a in path.results)
    return f"after {line}: {results}"


def _read(path: Path, value: Value) -> Value:
    return path.renaming.get(value, value) if isinstance(value, Var) else value


def _learn_sizes(sizes: dict[str, Dim], theirs: Type, mine: Type) -> None:
    """Remember which symbol of this path's sizes is which of the first path's."""
    for a, b in zip(theirs.shape or (), mine.shape or (), strict=False):
        if isinstance(a, Size) and a.symbol is not None and not dims.same(a, b):
            sizes[a.symbol] = b


def _alike(made: Op, other: Op, path: Path) -> bool:
    """True for ops of two paths that are the same one."""
    if made.kind != other.kind or len(made.inputs) != len(other.inputs) or len(made.outputs) != len(other.outputs):
        return False
    for mine, theirs in zip(made.inputs, other.inputs, strict=True):
        if isinstance(mine, Const) and isinstance(theirs, Const):
            if not same_data(mine, theirs):
                return False
        elif mine is not (None if theirs is None else _read(path, theirs)):
            return False
    return made.attributes.keys() == other.attributes.keys() and all(
        _same_attribute(v, other.attributes[k], path) for k, v in made.attributes.items()
    )


def _same_attribute(mine: Any, theirs: Any, path: Path) -> bool:
    if isinstance(mine, Block):
        return isinstance(theirs, Block) and len(mine.ops) == len(theirs.ops)
    if isinstance(mine, np.ndarray):
        return isinstance(theirs, np.ndarray) and mine.dtype == theirs.dtype and mine.tobytes() == theirs.tobytes()
    return callable(mine) or bool(mine == theirs)


def decide_size(a: Dim, relation: str, b: Dim) -> bool | None:
    """The answer of the path to a comparison of sizes on a line of the user's; None elsewhere."""
    if not tracing.is_recording() or tracing.current().path is None or not _asked_by_user():
        return None
    left, right = as_array(a), as_array(b)
    compared = {"==": op.Equal, "<": op.Less, "<=": op.LessOrEqual}[relation](left, right)
    return bool(Array(compared.value))


def _asked_by_user() -> bool:
    """True where the innermost frame outside of `dims` and this module is the user's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in {__file__, dims.__file__}:
        frame = frame.f_back
    return frame is not None and not tracing.is_library(frame.f_code.co_filename)


Size.decide = staticmethod(decide_size)

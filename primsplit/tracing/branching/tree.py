"""Build one program from the recorded paths of a function: common ops once, and an If where paths part."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Const, Op, Type, Value, Var, dims, reads, rename, renamed, same_array, same_data
from primsplit.ir.analysis.orders import OTHER_WAY
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import DtypeError, Place, PrimsplitError, TraceError
from primsplit.ir.reasons import Reason
from primsplit.ops import op
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.branching.complex_results import meet
from primsplit.tracing.branching.joining import emit_joined_if
from primsplit.tracing.branching.paths import Path
from primsplit.tracing.branching.raising import raise_at_run_time
from primsplit.tracing.branching.repeating import not_repeatable
from primsplit.tracing.common_dtype import common_dtype
from primsplit.tracing.regions import emit_if, record


class PathTree:
    """The paths of one function, which become nested Ifs."""

    def __init__(self, paths: Sequence[Path], begin: int) -> None:
        self.paths = paths
        self.begin = begin
        self.last_reads: dict[int, dict[Value, int]] = {}
        _fail_without_result(paths)
        ended = [p for p in paths if p.failure is None]
        if not ended:
            raise next(p.failure for p in paths if p.failure is not None)
        meet(ended)
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
        told = tuple(_told(p, is_nested=path.spec != self.spec) for p in (self.model, path))
        raise TraceError(
            "the paths of the function return results of another structure or number of axes",
            place=path.taken[-1].place,
            because=told,
            cure="Return the same containers of arrays with as many axes on every path.",
        )

    def _dtype(self, leaves: Sequence[Array]) -> np.dtype[Any]:
        """Return the dtype of a result on every path."""
        found = common_dtype(leaves)
        if found is None:
            told = sorted({str(a.dtype) for a in leaves})
            raise DtypeError(
                f"the paths of the function return {' and '.join(told)}",
                place=self.model.taken[-1].place,
                cure="Convert one of them with .astype, so that every path gives the same dtype.",
            )
        return found

    def record(self) -> tuple[list[Array], trees.TreeSpec]:
        """Record the tree; return the results and their structure."""
        values = self._part(self.paths, 0, self.begin)
        if self.spec is None:
            raise TraceError("the function was not run")
        return [Array(v, weak=w) for v, w in zip(values, self.weak, strict=True)], self.spec

    def _part(self, group: Sequence[Path], depth: int, begin: int) -> list[Value]:
        """Record what the paths of a group have in common from op `begin` on, and then the If that parts them.

        If they all answer a condition as the example arrays do, what follows it up to the next condition is an If of
        its own: so many conditions do not nest deeply.
        """
        lead = group[0]
        begin = self._steps(group, begin, _position(lead, depth))
        while depth + 1 < len(lead.taken) and not _parts(group, depth):
            self._emit_checked(group, depth)
            depth, begin = depth + 1, _position(lead, depth + 1)
        if depth == len(lead.taken):
            return self._results(lead)
        decision = lead.taken[depth]
        condition = renamed(decision.condition, lead.renaming)
        sides = [[p for p in group if p.taken[depth].outcome is outcome] for outcome in (True, False)]
        blocks = [
            self._side(side, depth + 1, begin) if side else self._not_recorded(condition, decision.place)
            for side in sides
        ]
        into = tracing.current()
        into.place = decision.place
        results = emit_joined_if(condition, blocks[0], blocks[1])
        into.place = None
        return results

    def _emit_checked(self, group: Sequence[Path], depth: int) -> None:
        """Record as an If what the group does between a condition that it answers alike and the next one.

        So the next condition is evaluated only if this one has the expected value, even where it does not depend on it.
        """
        lead, place = group[0], group[0].taken[depth].place
        begin, end = _position(lead, depth), _position(lead, depth + 1)
        wanted = self._read_after(group, depth, begin, end)
        condition = renamed(lead.taken[depth].condition, lead.renaming)

        def steps() -> list[Value]:
            self._steps(group, begin, end)
            return [renamed(row[0], lead.renaming) for row in wanted]

        block = record("path", [], steps)
        types = [r.type for r in block.results]
        other = record("path", [], lambda: raise_at_run_time(condition, types, place, OTHER_WAY))
        into = tracing.current()
        into.place = place
        sides = (block, other) if lead.taken[depth].outcome else (other, block)
        outputs = emit_if(condition, *sides, types)
        into.place = None
        for row, value in zip(wanted, outputs, strict=True):
            for path, old in zip(group, row, strict=True):
                if isinstance(old, Var):
                    path.renaming[old] = value

    def _read_after(self, group: Sequence[Path], depth: int, begin: int, end: int) -> list[tuple[Value, ...]]:
        """Return the next condition, and the outputs of ops `begin` to `end` that are read later.

        A row has the value of each path.
        """
        rows = {tuple(p.taken[depth + 1].condition for p in group): None}
        outputs = [zip(*(p.ops[i].outputs for p in group), strict=True) for i in range(begin, end)]
        for row in itertools.chain.from_iterable(outputs):
            if any(self._last_reads(p).get(v, 0) >= end for p, v in zip(group, row, strict=True)):
                rows[row] = None
        return list(rows)

    def _last_reads(self, path: Path) -> dict[Value, int]:
        """Return after how many ops each value of a path is read last."""
        known = self.last_reads.get(id(path))
        if known is None:
            known = {v: i for i, made in enumerate(path.ops) for v in reads(made)}
            known.update((d.condition, max(known.get(d.condition, 0), d.position)) for d in path.taken)
            known.update((v, len(path.ops)) for v in path.values)
            self.last_reads[id(path)] = known
        return known

    def _side(self, group: Sequence[Path], depth: int, begin: int) -> Block:
        with tracing.recording() as inner:
            values = self._part(group, depth, begin)
        return tracing.close("path", [], inner, values)

    def _not_recorded(self, condition: Value, place: Place | None) -> Block:
        """Return the side of a settled condition that the arrays did not take."""

        def values() -> list[Value]:
            types = [Type(d, m.type.shape) for m, d in zip(self.model.results, self.dtypes, strict=True)]
            return raise_at_run_time(condition, types, place, OTHER_WAY)

        return record("path", [], values)

    def _steps(self, group: Sequence[Path], begin: int, end: int) -> int:
        for position in range(begin, end):
            self._step(group, position)
        return end

    @staticmethod
    def _step(group: Sequence[Path], position: int) -> None:
        """Record one op of the first path; the other paths' ops at this position are the same."""
        lead = group[0]
        original = lead.ops[position]
        made = rename(original, lead.renaming, sizes=lead.sizes)
        tracing.append(made)
        for other in group[1:]:
            same = other.ops[position] if position < len(other.ops) else None
            if same is None or not _alike(made, same, other):
                raise not_repeatable(original.place)
            for mine, theirs in zip(made.outputs, same.outputs, strict=True):
                other.renaming[theirs] = mine
                _learn_sizes(other.sizes, theirs.type, mine.type)

    def _results(self, path: Path) -> list[Value]:
        if path.failure is not None:
            return self._failing(path)
        found = []
        for result, dtype in zip(path.values, self.dtypes, strict=True):
            value = Array(renamed(result, path.renaming))
            found.append(value.value if value.dtype == dtype else op.Cast(value, to=dtype).value)
        return found

    def _failing(self, path: Path) -> list[Value]:
        """Return values whose computation fails in the run, at the line that raised."""
        failure = path.failure.numpys if isinstance(path.failure, PrimsplitError) else path.failure
        assert failure is not None
        told = Reason.of(failure)
        types = [Type(d, m.type.shape) for m, d in zip(self.model.results, self.dtypes, strict=True)]
        return raise_at_run_time(renamed(path.taken[-1].condition, path.renaming), types, path.failed_at, told)


def _fail_without_result(paths: Sequence[Path]) -> None:
    """Let a path that returns None fail if others return arrays: it falls off the end of the function.

    So `if x > 0: return a` and `elif x <= 0: return b` cover all numbers but NaN.
    """
    ended = [p for p in paths if p.failure is None]
    without = [p for p in ended if _is_nothing(p.spec)]
    if len(without) < len(ended):
        for path in without:
            path.failure, path.failed_at = TypeError("the function returns None here"), path.taken[-1].place


def _is_nothing(spec: trees.TreeSpec | None) -> bool:
    """Whether it is the structure of None, or of containers of it; the values of states may come beside."""
    return spec is not None and _holds_none_alone(_without_states(spec))


def _holds_none_alone(spec: trees.TreeSpec) -> bool:
    """Whether it is the structure of None, or of containers that hold it and nothing else."""
    children = spec.children()
    return all(map(_holds_none_alone, children)) if children else spec == trees.flatten(None)[1]


def _without_states(spec: trees.TreeSpec) -> trees.TreeSpec:
    """Return the structure of a function's result, without the values of states beside it."""
    result, *values = spec.children() if spec.num_children == 2 else (spec,)
    return result if all(v.type is list for v in values) else spec


def _position(path: Path, depth: int) -> int:
    """Return after how many ops a path tests its next condition, or ends."""
    return path.taken[depth].position if depth < len(path.taken) else len(path.ops)


def begin_alike(path: Path, other: Path, begin: int) -> bool:
    """Whether two runs of a function record the same ops from `begin` up to the first condition of the first run."""
    seen = Path(())
    for made, again in itertools.zip_longest(path.ops[begin : _position(path, 0)], other.ops[begin:]):
        if made is None:
            break
        if again is None or not _alike(made, again, seen):
            return False
        seen.renaming.update(zip(again.outputs, made.outputs, strict=True))
    return True


def _parts(group: Sequence[Path], depth: int) -> bool:
    """Whether paths answer a condition differently."""
    return len({p.taken[depth].outcome for p in group}) > 1


def _told(path: Path, *, is_nested: bool) -> str:
    """Describe what a path returns, after its last condition: its structure, or else the types."""
    line = path.taken[-1].place if path.taken else None
    if is_nested and path.spec is not None:
        return f"after {line}: {trees.brief(_without_states(path.spec))}"
    return f"after {line}: {', '.join(str(a.type) for a in path.results)}"


def _learn_sizes(sizes: dict[str, Dim], theirs: Type, mine: Type) -> None:
    """Map the symbols of this path's sizes to those of the first path's."""
    for a, b in zip(theirs.shape or (), mine.shape or (), strict=False):
        if isinstance(a, Size) and a.symbol is not None and not dims.same(a, b):
            sizes[a.symbol] = b


def _alike(made: Op, other: Op, path: Path) -> bool:
    """Whether ops of two paths are the same one. Rules of calls, derivatives and batches, follow from the rest."""
    if made.kind != other.kind or len(made.inputs) != len(other.inputs) or len(made.outputs) != len(other.outputs):
        return False
    for mine, theirs in zip(made.inputs, other.inputs, strict=True):
        if isinstance(mine, Const) and isinstance(theirs, Const):
            if not same_data(mine, theirs):
                return False
        elif mine is not renamed(theirs, path.renaming):
            return False
    return made.attributes.keys() == other.attributes.keys() and all(
        k == "batch" or _same_attribute(v, other.attributes[k]) for k, v in made.attributes.items()
    )


def _same_attribute(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, Block):
        return isinstance(theirs, Block) and len(mine.ops) == len(theirs.ops)
    if isinstance(mine, np.ndarray):
        return isinstance(theirs, np.ndarray) and same_array(mine, theirs)
    return callable(mine) or bool(mine == theirs)

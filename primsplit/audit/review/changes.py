"""List the statements that two matched files do not share, in the order of the new file."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from primsplit.audit.review.matching import Matching
from primsplit.audit.review.statements import StatementPrinter
from primsplit.ir import Block, Op, Var, walk
from primsplit.ir.errors import Place

STATUSES = SAME, CHANGED, ADDED, REMOVED = "same", "changed", "added", "removed"


@dataclass(frozen=True, slots=True)
class Listed:
    """A statement of a file: its lines, one but for a loop or a branch, the user's line, and the rule that made it."""

    lines: tuple[str, ...]
    place: Place | None
    rule: str

    def as_dict(self) -> dict[str, str]:
        """Return the statement for JSON."""
        where = ("", "") if self.place is None else (self.place.short, self.place.source)
        return {"statement": "\n".join(self.lines), "place": where[0], "source": where[1], "rule": self.rule}


@dataclass(frozen=True, slots=True)
class Change:
    """A statement that is in one file alone, or another one in both.

    `inside` are the heads of the branches and loops around it. `nodes` is how many it stands for. `line` is the place
    of the group that it is shown in: that of the new file.
    """

    status: str
    section: str
    inside: tuple[str, ...]
    before: Listed | None
    after: Listed | None
    nodes: int
    line: Place | None

    def as_dict(self) -> dict[str, Any]:
        """Return the change for JSON."""
        told = {"status": self.status, "section": self.section, "inside": [*self.inside], "nodes": self.nodes}
        sides = {"before": self.before, "after": self.after}
        return {**told, **{name: None if s is None else s.as_dict() for name, s in sides.items()}}


@dataclass(frozen=True, slots=True)
class _Spot:
    """An op in the order of a file, with its section and the heads of what is around it."""

    op: Op
    section: str
    inside: tuple[str, ...]
    is_top: bool
    """Whether no op around it is in one file alone."""


class Comparing:
    """Compares the statements of two files that were matched."""

    def __init__(self, matching: Matching) -> None:
        self.matching = matching
        self.back = {b: a for a, b in matching.ops.items()}
        self.old = StatementPrinter(matching.before.file, self._names())
        self.new = StatementPrinter(matching.after.file, {})
        self.same = {a for a, b in matching.ops.items() if matching.is_same(a, b)}
        self.begins, self.retyped = self._types()
        self.lines = {line_of(a): line_of(b) for a, b in matching.ops.items() if line_of(a) is not None}
        self.moved = sum(_number(a) != _number(b) for a, b in matching.ops.items() if a in self.same)
        self.counts: Mapping[str, Mapping[str, int]] = {}

    def _names(self) -> dict[Var, str]:
        """Return the names of the old file's values: those of their partners; no other has the name of a new value."""
        before, after = self.matching.before.file, self.matching.after.file
        taken = {name for v, name in after.names.items() if isinstance(v, Var)}
        found = {a: after.names[b] for a, b in self.matching.values.items()}
        for value, name in before.names.items():
            if isinstance(value, Var) and value not in found:
                found[value] = f"{name}_before" if name in taken else name
        return found

    @property
    def renamed(self) -> dict[str, str]:
        """The names of the user's that are others in the new file."""
        before, after = self.matching.before, self.matching.after
        named = before.named(), after.named()
        pairs = ((before.file.names[a], after.file.names[b]) for a, b in self.matching.values.items())
        return {a: b for a, b in pairs if a != b and a in named[0] and b in named[1]}

    def _types(self) -> tuple[set[Op], int]:
        """Return the ops that are the same but for the type of a result, as first ones, and how many follow them."""
        told = self.matching.before.file.told, self.matching.after.file.told
        others = {a for a, b in self.matching.values.items() if _is_other(told[0].get(a, ""), told[1].get(b, ""), a, b)}
        found = [a for a in self.same if not others.isdisjoint(a.outputs)]
        first = {a for a in found if others.isdisjoint(v for v in a.inputs if isinstance(v, Var)) and not a.blocks()}
        return first, len(found) - len(first)

    def changes(self) -> list[Change]:
        """Return the changes in the order of the new file, and count the statements of each section."""
        olds, news = [*_spots(self.old, self.matching.ops)], [*_spots(self.new, self.back)]
        order = {spot.op: i for i, spot in enumerate(news)}
        rows: list[tuple[tuple[int, int, int], Change]] = []
        counts: dict[str, Counter[str]] = {}
        for spot in news:
            status = self.status(self.back.get(spot.op))
            counts.setdefault(spot.section, Counter())[status] += 1
            if status != SAME and spot.is_top:
                rows.append(((order[spot.op], 1, 0), self.change(spot, status)))
        last = -1
        for i, spot in enumerate(olds):
            if spot.op in self.matching.ops:
                last = order[self.matching.ops[spot.op]]
                continue
            counts.setdefault(spot.section, Counter())[REMOVED] += 1
            if spot.is_top:
                rows.append(((last + 1, 0, i), self.removal(spot)))
        self.counts = {name: {s: found[s] for s in STATUSES} for name, found in counts.items()}
        return [change for _, change in sorted(rows, key=lambda row: row[0])]

    def is_begun(self, op: Op) -> bool:
        """Whether an op of either file is the same but for a type that begins at it."""
        return op in self.begins or self.back.get(op) in self.begins

    def status(self, old: Op | None) -> str:
        """Return the status of an op of the new file by its partner."""
        return ADDED if old is None else SAME if old in self.same and old not in self.begins else CHANGED

    def change(self, spot: _Spot, status: str) -> Change:
        op, old = spot.op, self.back.get(spot.op)
        if old is None:
            after = _listed(op, self.new.statement(op))
            return Change(status, spot.section, spot.inside, None, after, _count(op), line_of(op))
        is_other = old.kind != op.kind
        before, after = (
            _listed(o, printer.statement(o) if is_other else [printer.head(o, typed=old in self.begins)])
            for printer, o in ((self.old, old), (self.new, op))
        )
        return Change(status, spot.section, spot.inside, before, after, _count(op) if is_other else 1, line_of(op))

    def removal(self, spot: _Spot) -> Change:
        before = _listed(spot.op, self.old.statement(spot.op))
        line = self.lines.get(line_of(spot.op), line_of(spot.op))
        return Change(REMOVED, spot.section, spot.inside, before, None, _count(spot.op), line)


def _spots(printer: StatementPrinter, partners: Mapping[Op, Op]) -> Iterator[_Spot]:
    """Yield the ops of a file in its order, with those inside of branches and loops."""
    file = printer.file

    def is_in_both(op: Op) -> bool:
        return op in partners and partners[op].kind == op.kind

    def inside(op: Op, section: str, around: tuple[str, ...], is_top: bool) -> Iterator[_Spot]:
        yield _Spot(op, section, around, is_top)
        bodies = {name: block for name, block in op.attributes.items() if isinstance(block, Block)}
        head = printer.head(op) if bodies else ""
        for name, block in bodies.items():
            for below in block.ops:
                yield from inside(below, section, (*around, head, name), is_top and is_in_both(op))

    for section in file.sections:
        for op in section.ops:
            yield from inside(op, section.name, (), True)
    for name, block in file.functions.items():
        for op in block.ops:
            yield from inside(op, name, (), True)


def _listed(op: Op, lines: Iterator[str] | list[str]) -> Listed:
    return Listed(tuple(lines), line_of(op), op.remark)


def _count(op: Op) -> int:
    return sum(1 for _ in walk(Block("", (), (op,), ())))


def line_of(op: Op) -> Place | None:
    """Return the user's line of an op."""
    return None if op.place is None else op.place.whole_line


def _number(op: Op) -> int:
    """Return the number of the user's line; 0 for none."""
    return 0 if op.place is None else (op.place.written or op.place).line


def _is_other(old: str, new: str, a: Var, b: Var) -> bool:
    """Whether two values have other dtypes, or other sizes that both files tell."""
    if not old or not new or old == new:
        return False
    if a.type.dtype != b.type.dtype or a.type.shape is None or b.type.shape is None:
        return a.type.dtype != b.type.dtype
    sizes = zip(a.type.shape, b.type.shape, strict=False)
    return len(a.type.shape) != len(b.type.shape) or any(
        isinstance(p, int) and isinstance(q, int) and p != q for p, q in sizes
    )

"""Tell the changes of two files as statements of mathematics, each of which stands for several nodes.

```
- matmul_x = MatMul(x, w); hidden = Max(matmul_x, 0.0)    ->    - hidden = maximum(x @ w, 0)
+ matmul_x = MatMul(x, w); hidden = Tanh(matmul_x)              + hidden = tanh(x @ w)
```

A statement differs if one of its nodes was changed, added or removed and its text or line is another one. An old and a
new one are one changed statement if the values that they assign are partners, or have one name.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from primsplit.audit.review.changes import ADDED, CHANGED, REMOVED, SAME, STATUSES, Change, Comparing, Listed, line_of
from primsplit.audit.review.matching import Matching
from primsplit.audit.shown_rows import ShownRow, shown_rows
from primsplit.audit.written import Written
from primsplit.ir import Op
from primsplit.ir.errors import Place


@dataclass(frozen=True, slots=True)
class Mathematics:
    """Statements that differ, and how many of each section are the same, changed, added and removed.

    `hidden` counts nodes that differ below statements with the same text on both sides.
    """

    changes: tuple[Change, ...]
    hidden: int
    counts: Mapping[str, Mapping[str, int]]


def mathematics(compared: Comparing) -> Mathematics | None:
    """Return the changes as mathematics; None if a file has no such statements."""
    matching = compared.matching
    before, after = matching.before.file, matching.after.file
    rows = [shown_rows(file) for file in (before, after)]
    if not all(rows):
        return None
    ops = matching.ops
    olds = _Marked(before, rows[0], lambda op: compared.status(op) if op in ops else REMOVED, compared)
    news = _Marked(after, rows[1], lambda op: compared.status(compared.back.get(op)), compared)
    told = olds.told(), news.told()
    alike = Counter(s.key for s in told[0]) & Counter(s.key for s in told[1])
    old, new = (_without(side, alike) for side in told)
    partners = _Partners(old, matching)
    pairs = [(partners.take(statement), statement) for statement in new]
    changes = [_change(a, b, b.row) for a, b in pairs]
    changes += [_change(a, None, a.row) for a in partners.left]
    hidden = olds.outside + news.outside + sum(len(t) - len(s) for t, s in zip(told, (old, new), strict=True))
    return Mathematics(tuple(changes), hidden, _counts(rows[1], changes))


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement with a node that differs, its text with notes, the heads around it, and its line in the new file."""

    row: ShownRow
    text: str
    inside: tuple[str, ...]
    line: Place | None

    @property
    def key(self) -> tuple[str, Place | None, str]:
        """The section, line and text: equal for statements of which only nodes differ."""
        return self.row.section, self.line, self.text

    @property
    def target(self) -> str:
        """The name that the statement assigns; "" for none."""
        name, assigns, _ = self.row.text.partition(" = ")
        return name if assigns else ""


@dataclass(frozen=True, slots=True)
class _Marked:
    """The statements of a file, with the status of each node."""

    file: Written
    rows: Sequence[ShownRow]
    status: Callable[[Op], str]
    compared: Comparing

    @property
    def outside(self) -> int:
        """The number of nodes that differ and that no statement stands for: those of shape plumbing."""
        shown = {op for row in self.rows for op in row.ops}
        return sum(1 for op in self.file.ops() if op not in shown and self.status(op) != SAME)

    def told(self) -> list[_Statement]:
        """Return the statements with a node that differs."""
        found = []
        around: list[str] = []
        for row in self.rows:
            del around[row.depth :]
            if any(self.status(op) != SAME for op in row.ops):
                place = line_of(row.op)
                found.append(_Statement(row, self.text(row), tuple(around), self.compared.lines.get(place, place)))
            around.append(row.text)
        return found

    def text(self, row: ShownRow) -> str:
        """Return a statement with its note, and with the type that begins at it."""
        begun = next((op for op in row.ops if self.compared.is_begun(op)), None)
        told = self.file.told.get(begun.outputs[0], "") if begun is not None else ""
        return f"{row.text}{'  ' if told or row.note else ''}{', '.join(t for t in (told, row.note) if t)}"


class _Partners:
    """Finds the old statement that a new one is a change of. `left` are those that are of none."""

    def __init__(self, old: Sequence[_Statement], matching: Matching) -> None:
        self.matching = matching
        self.waiting = dict.fromkeys(old)
        self.by_op = {matching.ops[s.row.op]: s for s in old if s.row.op in matching.ops}
        self.by_value = {s.row.result: s for s in old if s.row.result is not None}
        named = Counter((s.row.section, s.row.function, s.target) for s in old if s.target)
        self.by_name = {key: s for s in old if named[key := (s.row.section, s.row.function, s.target)] == 1}

    @property
    def left(self) -> list[_Statement]:
        return [*self.waiting]

    def take(self, new: _Statement) -> _Statement | None:
        """Return the old statement, once: of a partner of its value or node, or else of its name."""
        row = new.row
        value = None if row.result is None else self.matching.back.get(row.result)
        known = (None if value is None else self.by_value.get(value), self.by_op.get(row.op))
        found = (*known, self.by_name.get((row.section, row.function, new.target)))
        return next((s for s in found if s is not None and self.waiting.pop(s, s) is None), None)


def _without(statements: Sequence[_Statement], alike: Mapping[tuple[str, Place | None, str], int]) -> list[_Statement]:
    """Return the statements without so many of each key."""
    left = Counter(alike)
    found = []
    for statement in statements:
        if left[statement.key]:
            left[statement.key] -= 1
        else:
            found.append(statement)
    return found


def _counts(rows: Sequence[ShownRow], changes: Sequence[Change]) -> dict[str, dict[str, int]]:
    """Return how many statements of each section are the same, changed, added and removed."""
    every = Counter(row.section or row.function for row in rows if row.text != "else:")
    found = {name: Counter[str]() for name in (*every, *(c.section for c in changes))}
    for change in changes:
        found[change.section][change.status] += 1
    for name, counts in found.items():
        counts[SAME] = every[name] - counts[CHANGED] - counts[ADDED]
    return {name: {status: counts[status] for status in STATUSES} for name, counts in found.items()}


def _change(old: _Statement | None, new: _Statement | None, row: ShownRow) -> Change:
    status = ADDED if old is None else REMOVED if new is None else CHANGED
    before, after = (None if s is None else Listed((s.text,), line_of(s.row.op), s.row.op.remark) for s in (old, new))
    own = new or old
    assert own is not None
    return Change(status, row.section or row.function, own.inside, before, after, len(row.ops), own.line)

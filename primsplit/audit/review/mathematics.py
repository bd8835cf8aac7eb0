"""Tell the changes of two files as statements of mathematics, each of which stands for several nodes.

```
- matmul = MatMul(x, w); hidden = Max(matmul, 0.0)    ->    - hidden = maximum(x @ w, 0)
+ matmul = MatMul(x, w); hidden = Tanh(matmul)              + hidden = tanh(x @ w)
```

A statement is shown if one of its nodes was changed, added or removed.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from primsplit.audit.review.changes import ADDED, REMOVED, SAME, Change, Comparing, Listed
from primsplit.audit.shown_rows import ShownRow, shown_rows
from primsplit.audit.written import Written
from primsplit.ir import Op
from primsplit.ir.errors import Place


@dataclass(frozen=True, slots=True)
class Mathematics:
    """Statements that differ. `hidden` counts nodes that differ below statements with the same text on both sides."""

    changes: tuple[Change, ...]
    hidden: int


def mathematics(compared: Comparing) -> Mathematics | None:
    """Return the changes as mathematics; None if a file has no such statements."""
    before, after = compared.matching.before.file, compared.matching.after.file
    rows = [shown_rows(file) for file in (before, after)]
    if not all(rows):
        return None
    ops = compared.matching.ops
    olds = _Marked(before, rows[0], lambda op: compared.status(op) if op in ops else REMOVED, compared)
    news = _Marked(after, rows[1], lambda op: compared.status(compared.back.get(op)), compared)
    told = [side.told() for side in (olds, news)]
    both = Counter(key for key, *_ in told[0]) & Counter(key for key, *_ in told[1])
    changes, nodes = [], olds.outside + news.outside
    for is_new, listed in ((True, told[1]), (False, told[0])):
        left = both.copy()
        for key, row, inside in listed:
            if left[key]:
                left[key] -= 1
                nodes += 1
            else:
                changes.append(_change(row, inside, key[2], compared, is_new=is_new))
    return Mathematics(tuple(changes), nodes)


Key = tuple[str, Place | None, str]
"""The section, the user's line in the new file and the text of a statement."""


@dataclass(frozen=True, slots=True)
class _Marked:
    """The statements of a file, with the status of each node."""

    file: Written
    rows: Sequence[ShownRow]
    status: Callable[[Op], str]
    compared: Comparing

    @property
    def outside(self) -> int:
        """How many nodes differ that no statement stands for: those of shape plumbing."""
        shown = {op for row in self.rows for op in row.ops}
        return sum(1 for op in self.file.ops() if op not in shown and self.status(op) != SAME)

    def told(self) -> list[tuple[Key, ShownRow, tuple[str, ...]]]:
        """Return the statements with a node that differs, and the heads of the loops and branches around them."""
        found = []
        around: list[str] = []
        for row in self.rows:
            del around[row.depth :]
            if any(self.status(op) != SAME for op in row.ops):
                place = line_of(row.op)
                key = (row.section, self.compared.lines.get(place, place), self.text(row))
                found.append((key, row, tuple(around)))
            around.append(row.text)
        return found

    def text(self, row: ShownRow) -> str:
        """Return a statement with its note, and with the type that begins at it."""
        begun = next((op for op in row.ops if self.compared.is_begun(op)), None)
        told = self.file.told.get(begun.outputs[0], "") if begun is not None else ""
        return f"{row.text}{'  ' if told or row.note else ''}{', '.join(t for t in (told, row.note) if t)}"


def line_of(op: Op) -> Place | None:
    """Return the user's line of an op."""
    return None if op.place is None else op.place.whole_line


def _change(row: ShownRow, inside: tuple[str, ...], text: str, compared: Comparing, *, is_new: bool) -> Change:
    place = line_of(row.op)
    listed = Listed((text,), place, row.op.remark)
    section = row.section or row.function
    line = place if is_new else compared.lines.get(place, place)
    before, after = (None, listed) if is_new else (listed, None)
    return Change(ADDED if is_new else REMOVED, section, inside, before, after, len(row.ops), line)

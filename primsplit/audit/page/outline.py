"""Lay the rows of a view out in panes: heads that fold what is below them, groups under the user's lines.

```
hidden = tanh(x @ w)   # mlp.py:5    ->   pane forward    Inputs: x, w; main: hidden = tanh(x @ w)
d_w = x.T @ d_in       # mlp.py:5         pane backward   Grad of: hidden = np.tanh(x @ w): d_w = x.T @ d_in
```
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from primsplit.audit.frozen import value_text
from primsplit.audit.page.links import Links
from primsplit.audit.page.places import Lines
from primsplit.audit.sections import BACKWARD, TANGENT, part_told
from primsplit.ir import Const, Op


@dataclass(slots=True, kw_only=True)
class Row:
    """A line of a view, indented by `depth` bodies.

    `op` has its place and its remark, `ops` are the nodes that it stands for. `assigned` are the names that it defines,
    as they stand in the text. `shape` is the type or the shape of its value, `note` a remark beside it. `of` is the
    statement that it is the gradient of, if that is not the text of the line.
    """

    text: str
    op: Op
    ops: tuple[Op, ...] = ()
    section: str = ""
    depth: int = 0
    assigned: tuple[str, ...] = ()
    shape: str = ""
    note: str = ""
    of: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """An input, a constant or a result of a function, by its name in the view."""

    name: str
    type: str
    about: str = ""


MOST_SHOWN = 20
"""The most characters of a constant's numbers that are shown beside its name."""


def named_constant(name: str, const: Const) -> Named:
    """Return a constant with its type, and its numbers or their range where that is short."""
    told = value_text(const.numpy())
    return Named(name, f"{told}  {const.type}" if told and len(told) <= MOST_SHOWN else str(const.type))


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionView:
    """The graph of a file or one of its model-local functions, whose operator is `kind`; "" is the graph's.

    `results` are the texts of the results, `hidden` the number of nodes by section that no row stands for.
    """

    kind: str
    title: str
    rows: tuple[Row, ...]
    params: tuple[Named, ...] = ()
    constants: tuple[Named, ...] = ()
    results: tuple[str, ...] = ()
    hidden: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileView:
    """A file in a view: its graph, then its functions. `names` has the names of the graph's values by the file's."""

    functions: tuple[FunctionView, ...]
    names: dict[str, str] = field(default_factory=dict)


PART, ENDS, STATEMENT = "part", "ends", "statement"
LATE = frozenset({BACKWARD, TANGENT})
"""The sections that stand in the second pane."""
BODY = 2
"""The level of the rows of a section without a head of their own: below those of the section and the function."""


@dataclass(slots=True)
class Placed:
    """A row in a pane. What stands below it with a higher `level` is folded with it.

    `kind` is "part" for the head of a section or a function, "line" and "grad" for heads of groups, "ends" for inputs,
    constants and results, "statement" else. `scope` is the function whose names the text has.
    """

    kind: str
    level: int
    text: str
    scope: int = 0
    line: int | None = None
    lines: list[int] = field(default_factory=list)
    row: Row | None = None
    assigned: tuple[str, ...] = ()
    shape: str = ""
    note: str = ""
    nodes: int = 0
    depth: int = 0


class Outline:
    """The panes of a view. `late_inputs` are the inputs, by name, that the second pane shows: cotangents, tangents."""

    def __init__(self, views: Sequence[FileView], lines: Lines, late_inputs: frozenset[str]) -> None:
        self.lines = lines
        self.late_inputs = late_inputs
        self.panes: list[list[Placed]] = [[], []]
        self.is_pair = len(views) > 1
        self.has_functions = len({(line.file, line.function) for line in lines.all}) > 1
        scope = 0
        for position, view in enumerate(views):
            for function in view.functions:
                self._add(function, position, scope)
                scope += 1

    def _add(self, function: FunctionView, position: int, scope: int) -> None:
        """Place the rows of a function."""
        if function.kind:
            told = part_told(Op(function.kind, (), ()))
            pane = position if self.is_pair else int(told in LATE)
            self._part(pane, f"{function.title}({', '.join(p.name for p in function.params)})", scope)
            self._ends(pane, [(p, "input") for p in function.params], scope)
            self._rows(pane, function.rows, scope)
        else:
            self._graph(function, position, scope)
        self._results(function, position, scope)

    def _graph(self, function: FunctionView, position: int, scope: int) -> None:
        """Place the inputs, the constants and the sections of a graph."""
        late = {p.name for p in function.params} & self.late_inputs
        for pane in (0, 1):
            given = [p for p in function.params if (position if self.is_pair else int(p.name in late)) == pane]
            self._titled(pane, "Inputs", [(p, "input") for p in given], scope)
        self._titled(position, "Constants", [(c, "constant") for c in function.constants], scope)
        hidden = dict(function.hidden)
        for section, rows in groupby(function.rows, lambda row: row.section):
            pane = position if self.is_pair else int(section in LATE)
            shown = [*rows]
            self._part(pane, section.capitalize() or "Statements", scope, sum(len(r.ops) for r in shown))
            if count := hidden.pop(section, 0):
                self.panes[pane][-1].note = f"{count} more move shapes"
            self._rows(pane, shown, scope)

    def _results(self, function: FunctionView, position: int, scope: int) -> None:
        if not function.results:
            return
        has_late = not self.is_pair and not function.kind and self.panes[1]
        told = part_told(Op(function.kind, (), ())) if function.kind else ""
        pane = position if self.is_pair else int(bool(has_late) or told in LATE)
        text = f"return {', '.join(function.results)}"
        self.panes[pane].append(Placed(ENDS, BODY if function.kind else 0, text, scope))

    def _part(self, pane: int, text: str, scope: int, nodes: int = 0) -> None:
        self.panes[pane].append(Placed(PART, 0, text, scope, nodes=nodes))

    def _titled(self, pane: int, title: str, named: Sequence[tuple[Named, str]], scope: int) -> None:
        if named:
            self._part(pane, title, scope)
            self._ends(pane, named, scope)

    def _ends(self, pane: int, named: Sequence[tuple[Named, str]], scope: int) -> None:
        self.panes[pane] += [
            Placed(ENDS, BODY, n.name, scope, assigned=(n.name,), shape=n.type, note=n.about or kind)
            for n, kind in named
        ]

    def _rows(self, pane: int, rows: Sequence[Row], scope: int) -> None:
        """Place statements under heads of the user's functions and lines."""
        function: tuple[str, str] | None = None
        groups: dict[int, tuple[int | str | None, bool]] = {}
        for i, row in enumerate(rows):
            line = self.lines.of(row.op)
            own = function if line is None else (self.lines.all[line].function, self.lines.all[line].file)
            if own != function and self.has_functions and row.depth == 0 and own is not None:
                self.panes[pane].append(Placed("function", 1, f"{own[0] or own[1]}", scope, note=own[1]))
                groups = {}
            function = own
            groups = {depth: group for depth, group in groups.items() if depth <= row.depth}
            key = row.op.remark if line is None else line
            if not groups or groups[max(groups)][0] != key:
                head = self._head(rows, i, line, scope)
                self.panes[pane] += head
                groups[row.depth] = key, bool(head)
            is_below = row.depth in groups and groups[row.depth][1]
            self.panes[pane].append(self._placed(row, line, scope, BODY + 2 * row.depth + is_below))

    def _head(self, rows: Sequence[Row], i: int, line: int | None, scope: int) -> list[Placed]:
        """Return the head of a group, if it has one: always of gradients, and of several statements of one line."""
        row = rows[i]
        told = row.op.remark if line is None else row.of or self.lines.all[line].text or self.lines.all[line].where
        level = BODY + 2 * row.depth
        if told and (row.section in LATE or row.op.remark.startswith("pullback of ")):
            return [
                Placed(
                    "grad", level, f"# {told}" if line is None else f"# Grad of: {told}", scope, line, depth=row.depth
                )
            ]
        if told and line is not None and self._is_several(rows, i, line):
            return [Placed("line", level, f"# {told}", scope, line, depth=row.depth)]
        return []

    def _is_several(self, rows: Sequence[Row], i: int, line: int) -> bool:
        """Whether the next statement beside this one is of the same line."""
        depth = rows[i].depth
        following = next((row for row in rows[i + 1 :] if row.depth <= depth), None)
        return following is not None and following.depth == depth and self.lines.of(following.op) == line

    def _placed(self, row: Row, line: int | None, scope: int, level: int) -> Placed:
        return Placed(
            STATEMENT, level, row.text, scope, line, self.lines.of_all(row.ops), row,
            row.assigned, row.shape, row.note, len(row.ops), row.depth,
        )  # fmt: skip


class Linked:
    """The rows of all panes, one after the other, with links from names to the rows that define them."""

    def __init__(self, panes: Sequence[Sequence[Placed]]) -> None:
        self.rows = [row for pane in panes for row in pane]
        self.scopes: dict[int, Links] = {}
        for i, row in enumerate(self.rows):
            self.scopes.setdefault(row.scope, Links()).define(row.assigned, i)
        self.by_op = {op: i for i, row in enumerate(self.rows) if row.row is not None for op in row.row.ops}

    def defined(self, name: str, op: Op | None) -> int | None:
        """Return the row of the graph that defines a name, else the one that stands for an op."""
        found = self.scopes[0].of(name, len(self.rows)) if 0 in self.scopes else None
        return self.by_op.get(op) if found is None and op is not None else found

    def for_json(self) -> list[dict[str, Any]]:
        """Return the rows under short keys, without defaults: there may be tens of thousands."""
        return [self._row(i, row) for i, row in enumerate(self.rows)]

    def _row(self, i: int, row: Placed) -> dict[str, Any]:
        told = {
            "k": "" if row.kind == STATEMENT else row.kind,
            "m": [line for line in row.lines if line != row.line],
            "a": [] if row.kind in UNLINKED else self.scopes[row.scope].find(row.text, i, row.assigned),
            "s": row.shape,
            "n": row.note,
            "c": row.nodes,
            "d": row.depth,
        }
        line = {} if row.line is None else {"l": row.line}
        return {"t": row.text, "o": row.level, **line, **{key: value for key, value in told.items() if value}}


UNLINKED = frozenset({PART, "line", "grad", "function"})
"""The kinds of rows whose texts are not of the view."""

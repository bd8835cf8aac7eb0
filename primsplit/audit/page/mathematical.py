"""The view of a file as mathematics: a line for each value that a person would name.

```
matmul = MatMul(x, w); hidden = Tanh(matmul)   ->   hidden = tanh(x @ w)   [N, 4]
```
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from primsplit.audit.math_style import Mathematics, mathematics_of
from primsplit.audit.mathematics.printing import Printer, side_below
from primsplit.audit.mathematics.shown import Shown
from primsplit.audit.page.outline import LATE, FileView, FunctionView, Named, Row, named_constant
from primsplit.audit.trees import bound_by
from primsplit.audit.written import Written
from primsplit.ir import Block, Var, walk
from primsplit.ir.plain_text import in_one_line

TOKEN = re.compile(r"[^\W\d]\w*")


def mathematical(file: Written) -> FileView:
    """Return the view of a file. Raises PrimsplitError for a value of a dtype that NumPy lacks."""
    made = mathematics_of(file)
    kinds = ["", *file.functions]
    functions = tuple(_function(file, one, kind) for one, kind in zip(made, kinds, strict=True))
    shown = made[0].naming.of
    names = {file.names[v]: shown.get(name, name) for v, name in made[0].function.names.items()}
    return FileView(functions, names)


def _function(file: Written, made: Mathematics, kind: str) -> FunctionView:
    printer, function, of = made.printer(), made.function, made.naming.of
    rows = tuple(_rows(printer, made.lines, 0))
    told = {n: file.told.get(v, "") for v, n in function.names.items() if isinstance(v, Var)}
    read = {name for row in rows for name in TOKEN.findall(row.text)} if not kind else set()
    constants = (named_constant(of.get(n, n), c) for n, c in made.constants.items())
    return FunctionView(
        kind=kind,
        title=function.name,
        rows=rows,
        params=tuple(Named(of.get(p, p), told.get(p, "")) for p in function.params),
        constants=tuple(c for c in constants if c.name in read),
        results=tuple(in_one_line(printer.value(r)) for r in function.results),
        hidden={} if kind else _hidden(file, rows),
    )


def _hidden(file: Written, rows: Sequence[Row]) -> dict[str, int]:
    """Count the nodes of the graph by section that no row stands for: shape plumbing."""
    shown = {op for row in rows for op in row.ops}
    counts = Counter(s.name for s in file.sections for op in walk(Block("", (), s.ops, ())) if op not in shown)
    return dict(counts)


def _rows(printer: Printer, lines: Sequence[Shown], depth: int, side: str = "") -> Iterator[Row]:
    """Yield the rows of statements and of those below them."""
    inner = side
    for line in lines:
        text = in_one_line(printer.text(line))
        is_late = line.section in LATE
        if not is_late:
            printer.learn(line, text, side)
        yield Row(
            text=text,
            op=line.op,
            ops=tuple(line.ops),
            section=line.section,
            depth=depth,
            assigned=_assigned(printer, line, text),
            shape=printer.shape(line),
            note=line.note,
            of=printer.told(line, side) if is_late else "",
        )
        inner = side_below(text, inner, side)
        yield from _rows(printer, line.below, depth + 1, inner)


def _assigned(printer: Printer, line: Shown, text: str) -> tuple[str, ...]:
    """Return the names that a statement defines."""
    if line.head:
        return bound_by(text)
    return tuple(part.partition("[")[0] for part in map(printer.target, line.targets))

"""List the statements of a file as mathematics, each with the nodes that it stands for.

```
hidden = tanh(x @ w + b)      forward, mlp.py:5, of the nodes MatMul, Add and Tanh
```
"""

from collections.abc import Iterator
from dataclasses import dataclass

from primsplit.audit.math_style import mathematics_of
from primsplit.audit.mathematics.printing import Printer
from primsplit.audit.mathematics.shown import Shown
from primsplit.audit.written import Written
from primsplit.ir import Op, Var
from primsplit.ir.errors import PrimsplitError


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A statement: its text, how deep it is in loops and branches, and the nodes that it stands for.

    `op` is the one whose place and remark it has. `function` is "" for the graph. `result` is the value that it
    assigns, if it is one of the file.
    """

    text: str
    depth: int
    section: str
    function: str
    op: Op
    ops: tuple[Op, ...]
    note: str
    result: Var | None


def shown_rows(file: Written) -> list[ShownRow]:
    """Return the statements of a file in their order; none if a value has no form in NumPy."""
    try:
        made = mathematics_of(file)
    except PrimsplitError:
        return []
    functions = ("", *file.functions)
    rows = []
    for function, name in zip(made, functions, strict=True):
        printer = Printer(function.naming.of, {})
        rows += [row for line in function.lines for row in _rows(printer, line, 0, line.section, name)]
    return rows


def _rows(printer: Printer, line: Shown, depth: int, section: str, function: str) -> Iterator[ShownRow]:
    yield ShownRow(printer.text(line), depth, section, function, line.op, tuple(line.ops), line.note, line.result)
    for inner in line.below:
        yield from _rows(printer, inner, depth + 1, section, function)

"""List files as mathematics: a statement for each value that a person would name, under the user's lines.

```
matmul = MatMul(x, params.w)                 ->   forward
add = Add(matmul, params.b)                         hidden = tanh(x @ w + b)    mlp.py:5   [N, 4]
hidden = Tanh(add)
mul = Mul(hidden, hidden)                         backward
sub = Sub(1.0, mul)                                 # Grad of: hidden = tanh(x @ w + b)
mul_1 = Mul(d_hidden, sub)                          d_hidden_in = d_hidden * (1 - hidden**2)
```

Each node of a file is in one statement, or is shape plumbing, which is counted at the end. Nothing is shown that is not
in the file; what the file does in another order or in pieces is said beside its statement.
"""

import ast
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from primsplit.audit.file_report import report_file
from primsplit.audit.mathematics.constants import ShortConstants
from primsplit.audit.mathematics.control import control
from primsplit.audit.mathematics.folding import Folding
from primsplit.audit.mathematics.glossary import glossary
from primsplit.audit.mathematics.inlining import Inlining
from primsplit.audit.mathematics.joining import joined, with_checked_results, without_copies, without_unread
from primsplit.audit.mathematics.naming import Naming
from primsplit.audit.mathematics.operators import mathematical
from primsplit.audit.mathematics.ordering import grouped, in_sections, read_by
from primsplit.audit.mathematics.patterns import with_functions
from primsplit.audit.mathematics.printing import Printer
from primsplit.audit.mathematics.shown import Shown
from primsplit.audit.mathematics.simplify import renamed, text_of
from primsplit.audit.mathematics.sizes import Shape, Sizes
from primsplit.audit.mathematics.turned import with_turned
from primsplit.audit.statement_maker import statements_of
from primsplit.audit.statements import Function
from primsplit.audit.trees import names_in
from primsplit.audit.users_names import users_names
from primsplit.audit.written import Written
from primsplit.ir import Const, Op, Var
from primsplit.ir.notation.literals import bytes_text
from primsplit.ir.plain_text import counted, in_one_line

MOST_CAPTURES = 6
"""The most captures that the head of a listing names; the report has a table of all."""
ROUNDS = 3
"""The most passes that write statements into their readers. Names, and so lines, are shorter after each."""


@dataclass
class Mathematics:
    """A function of a file as statements for people, with the names of its values and what is folded away.

    `axes` has the shapes of values that are shown in other axes than the file's, `written` the values that are in their
    readers.
    """

    function: Function
    lines: list[Shown]
    naming: Naming
    plumbing: list[Op]
    sizes: Sizes
    constants: Mapping[str, Const]
    axes: Mapping[str, Shape | None]
    written: Mapping[str, ast.expr] = field(default_factory=dict)

    @property
    def every(self) -> list[Shown]:
        """The statements, with those inside of branches and loops."""
        return [line for top in self.lines for line in top.walk()]

    @property
    def count(self) -> int:
        """The number of statements; an `else` is none."""
        return sum(1 for line in self.every if line.head != "else:")

    @property
    def read(self) -> set[str]:
        """The variables and constants that statements read."""
        return {own for line in self.every for own in read_by(line)}

    @property
    def operators(self) -> list[str]:
        """The values that are named after an operator alone."""
        assigned = {target.partition("[")[0] for line in self.every for target in line.targets}
        return sorted(assigned & self.naming.operators)

    @property
    def moves(self) -> list[str]:
        """The values of statements that do nothing but move a shape, and are no variable or output of the user's."""
        return [line.target for line in self.every if line.target not in self.naming.named and _moves_shape(line)]

    def printer(self) -> Printer:
        """Return the printer of the statements."""
        shapes = {n: self.sizes.shape(v) for v, n in self.function.names.items() if isinstance(v, Var)}
        shapes.update(self.axes)
        widest = max((len(line.op.place.short) for line in self.every if line.op.place is not None), default=0)
        return Printer(self.naming.of, {n: s for n, s in shapes.items() if s is not None}, max(widest, 14))

    def text(self) -> Iterator[str]:
        """Yield the lines of the sections."""
        printer = self.printer()
        for title, lines in groupby(self.lines, lambda line: line.section):
            if title:
                yield ""
                yield title
            yield from printer.section([*lines], title)


MOVES = frozenset({"reshape", "squeeze", "expand_dims", "broadcast_to", "full", "zeros", "astype", "array"})
"""Functions of NumPy that move a shape, or convert."""


def _moves_shape(line: Shown) -> bool:
    """Whether a statement calls a function that moves a shape, of a value."""
    called = line.value.func if isinstance(line.value, ast.Call) else None
    if isinstance(called, ast.Attribute):
        return called.attr in MOVES and isinstance(called.value, ast.Name)
    return isinstance(called, ast.Name) and called.id in MOVES and not line.is_passed


def mathematics_of(file: Written, *, everything: bool = False) -> list[Mathematics]:
    """Return the graph of a file and its functions as statements for people; `everything` folds no plumbing away."""
    statements = statements_of(file, build=mathematical)
    sizes = Sizes(file, everything=everything)
    own = users_names(file)
    found = []
    for function in (statements.main, *statements.functions):
        named = function.carried.union(n for v, n in function.names.items() if isinstance(v, Var) and v in own)
        folding = Folding(function, sizes, named, control, statements.constants)
        lines = _grouped(in_sections(folding.run()))
        written: dict[str, ast.expr] = {}
        if not everything:
            lines, written = _shortened(file, folding, lines, statements.constants)
        naming = _named(file, folding, lines, statements.constants)
        for line, note in naming.notes:
            line.note = note
        lines, dropped = without_copies(lines, naming.of)
        folding.plumbing += dropped
        if not everything:
            _write_constants(lines, ShortConstants(statements.constants))
        found.append(
            Mathematics(function, lines, naming, folding.plumbing, sizes, statements.constants, folding.axes, written)
        )
    return found


def _write_constants(lines: Sequence[Shown], short: ShortConstants) -> None:
    """Write short constants where statements read them."""
    for line in (line for top in lines for line in top.walk()):
        line.value = None if line.value is None else short.in_the_place_of_names(line.value)
        line.expression = None if line.expression is None else short.in_the_place_of_names(line.expression)


def _shortened(
    file: Written, folding: Folding, lines: Sequence[Shown], constants: Mapping[str, Const]
) -> tuple[list[Shown], dict[str, ast.expr]]:
    """Return statements with functions by their names, without those that are in their readers; with their values."""
    results = frozenset(n for result in folding.function.results for n in names_in(result))

    def shape(name: str) -> Shape | None:
        if name not in constants:
            return folding.shape_of(name)
        return constants[name].type.shape

    known = with_functions(lines, folding.named, results, shape)
    lines, dropped = without_unread(known, folding.named | results)
    folding.plumbing += dropped
    lines = with_checked_results(with_turned(_grouped(lines)), folding.named | results)
    written: dict[str, ast.expr] = {}
    for _ in range(ROUNDS):
        names = _named(file, folding, lines, constants).of
        inlining = Inlining([*lines], folding.named | results, names, shape)
        lines = _grouped(inlining.run())
        written |= inlining.written
        if not inlining.written:
            break
    return joined(lines, names), written


def _grouped(lines: Sequence[Shown]) -> list[Shown]:
    """Return statements ordered by the user's lines within each run of a section."""
    return [line for _, run in groupby(lines, lambda s: s.section) for line in grouped([*run])]


def _named(file: Written, folding: Folding, lines: Sequence[Shown], constants: Mapping[str, Const]) -> Naming:
    """Return the names of what the lines show."""
    folded = {n: f.value for n, f in folding.env.items()}
    naming = Naming(file, folding.function, folding.named, folded, folding.handed_on)
    naming.run(lines, constants)
    return naming


def list_as_mathematics(file: Written, first: Written | None = None, *, everything: bool = False) -> str:
    """Return the listing of a file; `first` is the file of the first of two passes.

    `everything` also shows what only moves shapes, and each side of a choice by sizes.
    """
    made = mathematics_of(file, everything=everything)
    lines = [*_head(file, made, first)]
    lines += made[0].text()
    for function in made[1:]:
        signature = in_one_line(f"{function.function.name}({', '.join(function.function.params)})")
        lines += ["", signature, *function.text()]
    known = [*glossary(line for each in made for line in each.lines)]
    lines += ["", "functions", *(f"  {line}" for line in known)] if known else []
    arrays = [*ShortConstants(made[0].constants).told({n for each in made for n in each.read})]
    lines += ["", "constants", *(f"  {line}" for line in arrays)] if arrays else []
    return "\n".join([*lines, "", _foot(file, made)])


def _head(file: Written, made: Sequence[Mathematics], first: Written | None) -> Iterator[str]:
    """Yield the name of the file, the function with its inputs and outputs, and the counts."""
    report = report_file(file, first)
    names = made[0].naming.of
    roots = [*dict.fromkeys(name.partition(".")[0] for name in file.inputs)]
    outputs = [*dict.fromkeys(name.partition(".")[0] for name in file.outputs)]
    types = [p.type for p in file.block.params if file.told.get(p)]
    dtypes = ", ".join(dict.fromkeys(t.dtype.name for t in types if t.dtype.kind in "fc"))
    symbols = ", ".join(sorted(made[0].sizes.symbols))
    told = ", ".join(part for part in (dtypes, f"{symbols} at run time" if symbols else "") if part)
    signature = f"{file.block.name}({', '.join(roots)}) -> {', '.join(outputs)}"
    yield in_one_line(f"{os.path.basename(file.path)}  {signature}   {told}".rstrip())
    counts = report["operators"]
    sections = ", ".join(f"{count} {name}" for name, count in counts.items() if name)
    total = sum(1 for _ in file.ops())
    shown = {made[0].naming.of.get(target) for line in made[0].every for target in line.targets}
    stored = ((names.get(c["name"], c["name"]), c["bytes"]) for c in report["captures"] if c["bytes"] != "0")
    written = {own: text_of(renamed(value, made[0].naming.of)) for own, value in made[0].written.items()}
    told_captures = ((name if name in shown else written.get(name, ""), count) for name, count in stored)
    captures = [f"{name} {_bytes(count)}" for name, count in told_captures if name]
    if len(captures) > MOST_CAPTURES:
        captures[MOST_CAPTURES - 1 :] = [f"and {len(captures) - MOST_CAPTURES + 1} more"]
    held = f"   captures: {', '.join(captures)}" if captures else ""
    nodes = f"{counted(total, 'node')}{': ' + sections if sections else ''}{held}"
    yield in_one_line(f"{nodes}   sha256 {file.digest[:16]}")


def _bytes(count: str) -> str:
    return bytes_text(int(count)) if count.isdecimal() else f"{count} B"


def _foot(file: Written, made: Sequence[Mathematics]) -> str:
    count, total = sum(m.count for m in made), sum(1 for _ in file.ops())
    plumbing = len({op for m in made for op in m.plumbing})
    told = f": {plumbing} of shape plumbing (--all)" if plumbing else ""
    return f"{counted(count, 'statement')}, {counted(total, 'node')}{told}"

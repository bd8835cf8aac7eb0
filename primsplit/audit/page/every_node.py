"""The view of a file that has a line for each node: its statements of NumPy, or its listing.

```
matmul = MatMul(x, w); hidden = Tanh(matmul)   ->   matmul = np.matmul(x, w)
                                                    hidden = np.tanh(matmul)
```

A file with an operator that has no form in NumPy is shown as its nodes: `y = Gelu(x, approximate="tanh")`.
"""

import ast
from collections.abc import Iterator
from typing import Any

from primsplit.audit.file_listing import FilePrinter, is_literal
from primsplit.audit.page.outline import FileView, FunctionView, Named, Row, named_constant
from primsplit.audit.statement_maker import statements_of
from primsplit.audit.statements import Assignment, Function, Statement, Statements
from primsplit.audit.suites import SuiteWriter
from primsplit.audit.trees import bound_by
from primsplit.audit.written import Written
from primsplit.ir import Block, Const, Op, Var, walk
from primsplit.ir.errors import PrimsplitError
from primsplit.ir.notation.literals import kind_text, quoted
from primsplit.ir.plain_text import in_one_line


def every_node(file: Written) -> FileView:
    """Return the view of a file."""
    try:
        made = statements_of(file)
    except PrimsplitError:
        return _NodeView(file).view()
    kinds = ["", *file.functions]
    functions = (_function(made, f, kind) for f, kind in zip((made.main, *made.functions), kinds, strict=True))
    names = {file.names[v]: name for v, name in made.main.names.items()}
    return FileView(tuple(functions), names)


class _Text(str):
    """A line of text that knows its statement."""

    __slots__ = ("statement",)
    statement: Statement


def _text(line: str, statement: Statement) -> _Text:
    made = _Text(line)
    made.statement = statement
    return made


class _Writer(SuiteWriter):
    """Writes statements without remarks; each line knows the innermost statement that it belongs to."""

    def remark(self, statement: Statement, depth: int) -> Iterator[str]:
        return iter(())

    def statement(self, statement: Statement, depth: int) -> Iterator[str]:
        for line in super().statement(statement, depth):
            yield line if isinstance(line, _Text) else _text(line, statement)


def _function(made: Statements, function: Function, kind: str) -> FunctionView:
    writer = _Writer(made.file)
    told = {n: made.file.told.get(v, "") for v, n in function.names.items() if isinstance(v, Var)}
    counted: set[Op] = set()
    rows = [_row(made.file, line, s, told, counted) for s in function.statements for line in writer.statement(s, 0)]
    constants = () if kind else tuple(named_constant(n, c) for n, c in made.constants.items())
    results = tuple(ast.unparse(r) for r in function.results)
    params = tuple(Named(p, told.get(p, "")) for p in function.params)
    return FunctionView(
        kind=kind, title=function.name, rows=tuple(rows), params=params, constants=constants, results=results
    )


def _row(file: Written, line: str, top: Statement, told: dict[str, str], counted: set[Op]) -> Row:
    """Return the row of a line. A node is counted at the first line of its statement."""
    statement = line.statement if isinstance(line, _Text) else top
    text = line.lstrip(" ")
    note = "" if file.is_ours else in_one_line(file.nodes[statement.op])
    if note:
        text = text.removesuffix(f"  # {note}")
    assigned = _assigned(text)
    ops = tuple(op for op in statement.ops if op not in counted)
    counted.update(ops)
    return Row(
        text=in_one_line(text),
        op=statement.op,
        ops=ops,
        section=top.section,
        depth=(len(line) - len(line.lstrip(" "))) // 4,
        assigned=assigned,
        shape=told.get(assigned[0], "") if len(assigned) == 1 else "",
        note=note if isinstance(statement, Assignment) else "",
    )


def _assigned(text: str) -> tuple[str, ...]:
    """Return the names that a line of Python assigns."""
    if text.endswith(":"):
        return bound_by(text)
    target, equals, _ = text.partition(" = ")
    return tuple(part.strip("(),") for part in target.split(", ")) if equals else ()


class _NodeView:
    """Shows nodes as the listing does."""

    def __init__(self, file: Written) -> None:
        self.file = file
        self.printer = FilePrinter(file)
        self.sections = {op: s.name for s in file.sections for op in s.ops}

    def view(self) -> FileView:
        file = self.file
        blocks = [("", file.block), *file.functions.items()]
        names = {file.names[v]: text for v, text in self.printer.names.items()}
        return FileView(tuple(self.function(kind, block) for kind, block in blocks), names)

    def function(self, kind: str, block: Block) -> FunctionView:
        ordered = [op for s in self.file.sections for op in s.ops] if block is self.file.block else block.ops
        rows = (row for op in ordered for row in self.op(op, 0, self.sections.get(op, "")))
        read = dict.fromkeys(v for op in walk(block) for v in op.inputs if isinstance(v, Const))
        held = [c for c in read if c in self.file.names and not is_literal(c)]
        texts = [(c, self.printer.value(c, None)) for c in held]
        return FunctionView(
            kind=kind,
            title=in_one_line(block.name),
            rows=tuple(rows),
            params=tuple(Named(self.printer.names[p], self.file.told.get(p, "")) for p in block.params),
            constants=tuple(named_constant(in_one_line(text), c) for c, text in texts),
            results=tuple(in_one_line(self.printer.value(r, None)) for r in block.results),
        )

    def op(self, op: Op, depth: int, section: str) -> Iterator[Row]:
        """Yield the row of a node, and those of its graphs below it."""
        graphs = {name: value for name, value in op.attributes.items() if isinstance(value, Block)}
        items = [self.printer.value(v, op) for v in op.inputs]
        items += [self.attribute(n, v) for n, v in op.attributes.items() if n not in graphs]
        targets = tuple(self.printer.names[v] for v in op.outputs)
        text = f"{', '.join(targets)} = {kind_text(op.kind)}({', '.join(items)})"
        shape = self.file.told.get(op.outputs[0], "") if len(targets) == 1 else ""
        node = "" if self.file.is_ours else in_one_line(self.file.nodes[op])
        yield Row(
            text=in_one_line(text), op=op, ops=(op,), section=section, depth=depth,
            assigned=targets, shape=shape, note=node,
        )  # fmt: skip
        for name, block in graphs.items():
            yield from self.graph(op, name, block, depth + 1, section)

    def graph(self, op: Op, name: str, block: Block, depth: int, section: str) -> Iterator[Row]:
        params = tuple(self.printer.names[p] for p in block.params)
        head = in_one_line(f"{quoted(name)}({', '.join(params)}):")
        yield Row(text=head, op=op, section=section, depth=depth, assigned=params)
        for inner in block.ops:
            yield from self.op(inner, depth + 1, section)
        results = ", ".join(self.printer.value(r, None) for r in block.results)
        yield Row(text=in_one_line(f"return {results}"), op=op, section=section, depth=depth + 1)

    def attribute(self, name: str, value: Any) -> str:
        return f"{quoted(name)}={self.printer.constants.attribute(name, value)}"

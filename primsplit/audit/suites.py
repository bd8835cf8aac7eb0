"""Write statements as lines of Python, under remarks that name the user's lines."""

import ast
from collections.abc import Iterable, Iterator, Sequence

from primsplit.audit.statements import Assignment, Branch, Collected, Loop, Scan, Scanned, Statement, Suite
from primsplit.audit.trees import literal, names_in, tree, tuple_of
from primsplit.audit.written import Written
from primsplit.ir import Op
from primsplit.ir.errors import Place
from primsplit.ir.plain_text import in_one_line


def read_by(statements: Iterable[Statement]) -> set[str]:
    """Return the names that statements read, also in their bodies."""
    return {n for s in every_statement(statements) for e in expressions(s) for n in names_in(e)}


def every_statement(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Yield statements, each before those in its bodies."""
    for statement in statements:
        yield statement
        for suite in statement.suites():
            yield from every_statement(suite.statements)


def expressions(statement: Statement) -> Iterator[ast.expr]:
    """Yield the expressions of a statement, without those of the statements in its bodies."""
    match statement:
        case Assignment():
            yield statement.value
        case Branch():
            yield statement.test
        case Loop():
            yield from (e for _, e in statement.initial)
            yield from [] if statement.count is None else [statement.count]
        case Scan():
            yield from (e for _, e in statement.initial)
            yield from (s.array for s in statement.scanned)
    if isinstance(statement, Loop | Scan):
        yield from (e for c in statement.collected for e in (c.item, c.empty))
    for suite in statement.suites():
        yield from (e for _, e in suite.handed_on)


def is_gradient(op: Op) -> bool:
    """Whether an op is told under the remark `# Grad of:`."""
    return op.remark.startswith("pullback of")


SEVERAL = "pullback of several"
"""The remark of an op that adds cotangents of several lines."""


class SuiteWriter:
    """Writes the statements of a file."""

    def __init__(self, file: Written) -> None:
        self.file = file
        self.last: tuple[Place | None, str] | None = None

    def statements(self, statements: Sequence[Statement], depth: int) -> Iterator[str]:
        """Yield the lines of statements, those of one line of the user's under one remark."""
        for statement in statements:
            yield from self.remark(statement, depth)
            yield from self.statement(statement, depth)

    def remark(self, statement: Statement, depth: int) -> Iterator[str]:
        """Yield the remark on a statement if it begins a group: the user's line and its text."""
        op = statement.op
        kind = "Grad of: " if is_gradient(op) else ""
        place = None if op.place is None else op.place.whole_line
        if (place, kind) == self.last:
            return
        self.last = place, kind
        text = self.text(op, place)
        if text:
            yield f"{'    ' * depth}# {kind}{in_one_line(text)}"

    def text(self, op: Op, place: Place | None) -> str:
        if place is not None:
            return f"{place.source}  {place.short}".strip()
        if not self.file.is_ours:
            return ""
        return "several lines" if op.remark == SEVERAL else op.remark

    def statement(self, statement: Statement, depth: int) -> Iterator[str]:
        """Yield the lines of a statement."""
        match statement:
            case Assignment():
                name = "" if self.file.is_ours else self.nodes(statement)
                line = f"{'    ' * depth}{_targets(statement)} = {ast.unparse(statement.value)}"
                yield f"{line}  # {name}" if name else line
            case Branch():
                yield from self.branch(statement, depth)
            case Loop():
                yield from self.loop(statement, depth)
            case Scan():
                yield from self.scan(statement, depth)

    def nodes(self, statement: Statement) -> str:
        """Return the names of the nodes of a statement."""
        return ", ".join(in_one_line(own) for op in statement.ops if (own := self.file.nodes.get(op, "")))

    def branch(self, branch: Branch, depth: int) -> Iterator[str]:
        indent = "    " * depth
        yield f"{indent}if {ast.unparse(branch.test)}:"
        yield from self.suite(branch.sides[0], depth + 1)
        yield f"{indent}else:"
        yield from self.suite(branch.sides[1], depth + 1)

    def suite(self, suite: Suite, depth: int, collected: Sequence[Collected] = ()) -> Iterator[str]:
        """Yield the lines of a body, then what it hands on and collects."""
        before = self.last
        lines = [*self.statements(suite.statements, depth)]
        if self.last != before:
            self.last = None
        indent = "    " * depth
        lines += [f"{indent}{c.items}.append({ast.unparse(c.item)})" for c in collected]
        lines += _assigned(suite.handed_on, depth)
        yield from lines if any(not line.lstrip().startswith("#") for line in lines) else [*lines, f"{indent}pass"]

    def loop(self, loop: Loop, depth: int) -> Iterator[str]:
        indent = "    " * depth
        yield from _assigned(loop.initial, depth)
        yield from (f"{indent}{c.items} = []" for c in loop.collected)
        is_counted = loop.step in read_by([loop])
        body = [*self.suite(loop.body, depth + 1, loop.collected)]
        if loop.count is None:
            if is_counted:
                yield f"{indent}{loop.step} = np.int64(0)"
                body.append(f"{indent}    {loop.step} = {loop.step} + 1")
            yield f"{indent}while {loop.goes_on}:"
        else:
            count = ast.unparse(_number(loop.count))
            steps = f"map(np.int64, range({count}))" if is_counted else f"range({count})"
            yield f"{indent}for {loop.step} in {steps}:"
            if not _ends_by_count(loop):
                yield f"{indent}    if not {loop.goes_on}:"
                yield f"{indent}        break"
        yield from body
        yield from _stacked(loop.collected, depth)

    def scan(self, scan: Scan, depth: int) -> Iterator[str]:
        indent = "    " * depth
        yield from _assigned(scan.initial, depth)
        yield from (f"{indent}{c.items} = []" for c in scan.collected)
        arrays = ", ".join(ast.unparse(_steps(s)) for s in scan.scanned)
        names = ", ".join(s.name for s in scan.scanned)
        yield f"{indent}for {names} in {f'zip({arrays})' if len(scan.scanned) > 1 else arrays}:"
        yield from self.suite(scan.body, depth + 1, scan.collected)
        yield from _stacked(scan.collected, depth)


def _ends_by_count(loop: Loop) -> bool:
    """Whether a loop goes on as long as its count says: its condition is true, and each step hands it on as it is."""
    same = {loop.goes_on}
    for statement in loop.body.statements:
        if isinstance(statement, Assignment) and isinstance(statement.value, ast.Name) and statement.value.id in same:
            same.update(statement.targets)
    first = dict(loop.initial)[loop.goes_on]
    after = dict(loop.body.results)[loop.goes_on]
    is_kept = _is_true(after) or (isinstance(after, ast.Name) and after.id in same)
    return _is_true(first) and is_kept


def _is_true(expression: ast.expr) -> bool:
    return ast.unparse(expression) in {"True", "np.bool_(True)", "np.array(True, 'bool')"}


def _targets(statement: Assignment) -> str:
    names = ", ".join(statement.targets)
    return names if len(statement.targets) != 1 or not statement.is_several else f"({names},)"


def _assigned(pairs: Sequence[tuple[str, ast.expr]], depth: int) -> list[str]:
    """Return the lines that assign values at once: one line if a value reads a variable that is assigned."""
    assigned = {n for n, _ in pairs}
    indent = "    " * depth
    if len(pairs) < 2 or not any(names_in(e) & assigned for _, e in pairs):
        return [f"{indent}{n} = {ast.unparse(e)}" for n, e in pairs]
    values = ast.unparse(tuple_of(e for _, e in pairs))[1:-1]
    return [f"{indent}{', '.join(n for n, _ in pairs)} = {values}"]


def _number(count: ast.expr) -> ast.expr:
    return count if isinstance(count, ast.Constant) else tree("a.item()", a=count)


def _steps(scanned: Scanned) -> ast.expr:
    moved = tree("np.moveaxis(a, k, 0)", a=scanned.array, k=literal(scanned.axis)) if scanned.axis else scanned.array
    return tree("a[::-1]", a=moved) if scanned.is_reversed else moved


def _stacked(collected: Sequence[Collected], depth: int) -> Iterator[str]:
    for c in collected:
        items = tree("a[::-1]", a=tree(c.items)) if c.is_reversed else tree(c.items)
        named = {"axis": literal(c.axis)} if c.axis else {}
        value = ast.Call(tree("_stack"), [items, c.empty], [ast.keyword(k, v) for k, v in named.items()])
        yield f"{'    ' * depth}{c.target} = {ast.unparse(value)}"

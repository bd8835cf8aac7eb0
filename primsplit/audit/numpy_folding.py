"""Write values that are read once into the statements of NumPy that read them, as long as their lines stay readable.

```
matmul_x = x @ w
add_x = matmul_x + b          ->   hidden = np.tanh(x @ w + b)
hidden = np.tanh(add_x)
```

What is computed stays: an expression is written where its value is read. Values with a name of the user's have
statements, and so has what another section reads, or a loop or a branch from outside.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from primsplit.audit.statements import Assignment, Branch, Function, Loop, Scan, Statement, Statements, Suite
from primsplit.audit.suites import every_statement, expressions, is_gradient
from primsplit.audit.trees import calls_deep, fill, variable_nodes
from primsplit.audit.users_names import users_names
from primsplit.ir import Op

LONGEST = 100
"""The most characters of a statement with others in it."""
DEEPEST = 4
"""The most calls around a part of one."""
INDENT = 4


def folded(made: Statements) -> Statements:
    """Return the statements of a file with those in their readers that are read once."""
    own = users_names(made.file)
    main, *others = (
        _Folding(function, {function.names[v] for v in own if v in function.names}).function()
        for function in (made.main, *made.functions, *made.definitions)
    )
    count = len(made.functions)
    return replace(made, main=main, functions=(*others[:count],), definitions=(*others[count:],))


class _Folding:
    """Writes statements of a function into their readers; those that assign a variable in `kept` stay."""

    def __init__(self, made: Function, kept: set[str]) -> None:
        self.made = made
        self.kept = kept
        every = [*every_statement(made.statements)]
        self.reads = Counter(n.id for s in every for e in expressions(s) for n in variable_nodes(e))
        self.reads.update(n.id for r in made.results for n in variable_nodes(r))
        self.writes = Counter(n for s in every for n in _assigned(s))

    def function(self) -> Function:
        """Return the function."""
        return replace(self.made, statements=_Body(self, 1).run(self.made.statements).left())

    def may_move(self, statement: Assignment) -> bool:
        """Whether a statement assigns one value, of no name of the user's, which is read once."""
        own = statement.targets[0]
        is_once = len(statement.targets) == 1 and self.reads[own] == 1 and self.writes[own] == 1
        return is_once and own not in self.kept and not statement.is_several

    def with_bodies(self, statement: Statement, depth: int) -> Statement:
        """Return a branch or a loop whose bodies are folded, also into what they hand on."""
        bodies = [_Body(self, depth + 1).run(suite.statements) for suite in statement.suites()]
        suites = [body.suite(suite) for body, suite in zip(bodies, statement.suites(), strict=True)]
        match statement:
            case Branch():
                first, second = suites
                statement = replace(statement, sides=(first, second))
            case Loop() | Scan():
                items = [bodies[0].filled(c.item, len(c.items) + len(".append()")) for c in statement.collected]
                collected = (replace(c, item=item) for c, item in zip(statement.collected, items, strict=True))
                body = replace(suites[0], statements=bodies[0].left())
                statement = replace(statement, body=body, collected=(*collected,))
        return replace(statement, ops=(*statement.ops, *(op for body in bodies for op in body.ops)))


class _Body:
    """The statements of a body at a depth; those in `waiting` may be written into a reader behind them.

    `ops` are those of statements that are in what the body hands on.
    """

    def __init__(self, folding: _Folding, depth: int) -> None:
        self.folding = folding
        self.depth = depth
        self.found: list[Statement | None] = []
        self.waiting: dict[str, int] = {}
        self.ops: list[Op] = []

    def run(self, statements: Sequence[Statement]) -> "_Body":
        """Take the statements, each with those before it that it alone reads."""
        for each in statements:
            if isinstance(each, Assignment):
                value = self.filled(each.value, len(", ".join([*each.targets, ""])), each)
                statement: Statement = replace(each, value=value, ops=(*self.ops, *each.ops))
                self.ops = []
                if self.folding.may_move(each):
                    self.waiting[each.targets[0]] = len(self.found)
            else:
                statement = self.folding.with_bodies(each, self.depth)
            again = {n for s in every_statement([each]) for n in _assigned(s) if self.folding.writes[n] > 1}
            if again:
                self.waiting = {own: i for own, i in self.waiting.items() if not again & _read(self.found[i])}
            self.found.append(statement)
        return self

    def left(self) -> tuple[Statement, ...]:
        """Return the statements that are in no reader."""
        return tuple(s for s in self.found if s is not None)

    def suite(self, suite: Suite) -> Suite:
        """Return the body with these statements, which hands on the same."""
        results = tuple((n, self.filled(e, len(n) + len(" = "))) for n, e in suite.results)
        return replace(suite, statements=self.left(), results=results)

    def filled(self, value: ast.expr, head: int, reader: Statement | None = None) -> ast.expr:
        """Return a value that a line reads behind so many characters, with the statements that wait for it."""
        for own in [n.id for n in variable_nodes(value) if n.id in self.waiting]:
            inner = self.found[self.waiting[own]]
            assert isinstance(inner, Assignment)
            if reader is not None and _part(inner) != _part(reader):
                continue
            whole = fill(value, {own: inner.value})
            length = head + len(ast.unparse(whole)) + self.depth * INDENT
            if length <= LONGEST and calls_deep(whole) <= max(DEEPEST, calls_deep(value)):
                self.found[self.waiting.pop(own)] = None
                self.ops += inner.ops
                value = whole
        return value


def _part(statement: Statement) -> tuple[bool, str]:
    """Return whether a statement is one of a gradient, and its section."""
    return is_gradient(statement.op), statement.section


def _read(statement: Statement | None) -> set[str]:
    return set() if statement is None else {n.id for e in expressions(statement) for n in variable_nodes(e)}


def _assigned(statement: Statement) -> Iterator[str]:
    """Yield the variables that a statement assigns, without those of the statements in its bodies."""
    yield from statement.targets
    if isinstance(statement, Loop | Scan):
        yield from (n for n, _ in statement.initial)
        yield from (c.items for c in statement.collected)
    if isinstance(statement, Loop):
        yield statement.step
    if isinstance(statement, Scan):
        yield from (s.name for s in statement.scanned)
    for suite in statement.suites():
        yield from (n for n, _ in suite.handed_on)

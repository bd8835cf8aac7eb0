"""Turn a file into statements: for each node an assignment of an expression of NumPy, a branch or a loop.

```
hidden: float32[N,4] = Tanh(matmul)   # mlp.py:13   ->   hidden = np.tanh(matmul)
```

Every node of the file is in one statement, in the file's order. Styles print statements, and may fold one into its
reader: an expression is a tree of Python's `ast`.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from primsplit.audit.written import Written
from primsplit.ir import Block, Const, Op, Value

Variables = Mapping[Value, str]


@dataclass(frozen=True, slots=True)
class Suite:
    """The statements of a body, then the values that variables around it get from it, all at once."""

    statements: tuple["Statement", ...]
    results: tuple[tuple[str, ast.expr], ...]

    @property
    def handed_on(self) -> tuple[tuple[str, ast.expr], ...]:
        """The results that another variable holds, or an expression."""
        return tuple((n, e) for n, e in self.results if not (isinstance(e, ast.Name) and e.id == n))


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Some ops of a file and the variables that they assign; `op` is the one whose place and remark they have."""

    op: Op
    ops: tuple[Op, ...]
    targets: tuple[str, ...]
    section: str = ""

    def suites(self) -> tuple[Suite, ...]:
        """Return the bodies of the statement."""
        return ()

    def every_op(self) -> Iterator[Op]:
        """Yield the ops of the statement and of the statements inside it."""
        yield from self.ops
        for suite in self.suites():
            for statement in suite.statements:
                yield from statement.every_op()


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment(Statement):
    """`y = value`, or `y, z = value` where the node has several results."""

    value: ast.expr
    is_several: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch(Statement):
    """`if test: ... else: ...`, of which both sides assign the targets."""

    test: ast.expr
    sides: tuple[Suite, Suite]

    def suites(self) -> tuple[Suite, ...]:
        """Return both sides."""
        return self.sides


@dataclass(frozen=True, slots=True)
class Collected:
    """A variable that gets what a list of values, one of each step, is stacked to.

    `item` is the value of a step, `empty` the array of no steps.
    """

    target: str
    items: str
    item: ast.expr
    empty: ast.expr
    axis: int = 0
    is_reversed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop(Statement):
    """A Loop: `for step in range(count):`, `while condition:`, or both.

    `initial` are the variables that steps hand on, with their first values. `goes_on` is the one that holds the
    condition, which the body assigns at its end.
    """

    step: str
    count: ast.expr | None
    goes_on: str
    initial: tuple[tuple[str, ast.expr], ...]
    body: Suite
    collected: tuple[Collected, ...]

    def suites(self) -> tuple[Suite, ...]:
        """Return the body."""
        return (self.body,)


@dataclass(frozen=True, slots=True)
class Scanned:
    """A variable that gets the parts of an array along an axis, one in each step."""

    name: str
    array: ast.expr
    axis: int = 0
    is_reversed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan(Statement):
    """A Scan: `for x_t, y_t in zip(x, y):`, with variables that steps hand on and lists that are stacked at the end."""

    scanned: tuple[Scanned, ...]
    initial: tuple[tuple[str, ast.expr], ...]
    body: Suite
    collected: tuple[Collected, ...]

    def suites(self) -> tuple[Suite, ...]:
        """Return the body."""
        return (self.body,)


@dataclass(frozen=True, slots=True)
class Function:
    """The statements of the graph or of a model-local function, with the names of its variables.

    `carried` are the variables of loops that are called after what their steps compute.
    """

    name: str
    file: Written
    block: Block
    names: Variables
    statements: tuple[Statement, ...]
    params: tuple[str, ...]
    results: tuple[ast.expr, ...]
    carried: frozenset[str] = frozenset()

    def every_op(self) -> Iterator[Op]:
        """Yield the ops of all statements."""
        for statement in self.statements:
            yield from statement.every_op()


@dataclass(frozen=True, slots=True)
class Statements:
    """A file as statements. `constants` are the arrays that expressions read by name.

    `definitions` are functions of operators that the standard defines by others, and that expressions call.
    """

    file: Written
    main: Function
    functions: tuple[Function, ...]
    constants: Mapping[str, Const]
    definitions: tuple[Function, ...] = ()

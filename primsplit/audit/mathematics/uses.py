"""Count the readers of variables, and tell where they are."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from primsplit.audit.mathematics.idioms import shown_suites
from primsplit.audit.mathematics.shortcuts import Idiom
from primsplit.audit.mathematics.sizes import Sizes
from primsplit.audit.sections import part_of
from primsplit.audit.statements import Assignment, Branch, Loop, Scan, Statement
from primsplit.audit.trees import variable_nodes


@dataclass
class Uses:
    """The number of statements that read each variable, and the body and section of the last one.

    A function that is recognized reads a variable as often as it names it.
    """

    counts: Counter[str] = field(default_factory=Counter)
    tests: Counter[str] = field(default_factory=Counter)
    readers: dict[str, tuple[int, str]] = field(default_factory=dict)

    def count(self, statements: Sequence[Statement], sizes: Sizes, key: int = 0) -> None:
        """Count the readers among statements, and those in their bodies."""
        for statement in statements:
            names = [*_names(_read(statement))]
            for read in names if isinstance(statement, Idiom) else {*names}:  # the square of a value reads it once
                self.counts[read] += 1
                self.readers[read] = (key, part_of(statement.op, statement.section))
            if isinstance(statement, Branch) and isinstance(statement.test, ast.Name):
                self.tests[statement.test.id] += 1
            for suite, inner in shown_suites(statement, sizes):
                self.count(inner, sizes, id(suite))
                for read in _names(value for _, value in suite.results):
                    self.counts[read] += 1
                    self.readers[read] = (id(suite), part_of(statement.op, statement.section))

    def keep(self, names: Iterable[str]) -> None:
        """Count a reader outside: the values are shown."""
        for each in names:
            self.counts[each] += 1
            self.readers[each] = (-1, "")

    def count_of(self, target: str) -> int:
        """Return the number of readers."""
        return self.counts[target]

    def is_once(self, target: str, key: int, section: str) -> bool:
        """Whether a value has one reader, in this body and section."""
        return self.counts[target] == 1 and self.readers[target] == (key, section)

    def is_near(self, target: str, key: int) -> bool:
        """Whether the last reader is in this body."""
        return target in self.readers and self.readers[target][0] == key

    def is_test(self, target: str) -> bool:
        """Whether a value is read by tests of branches alone, which show it."""
        return self.tests[target] == self.counts[target] > 0


def _names(expressions: Iterable[ast.expr]) -> Iterator[str]:
    """Yield the variables of expressions."""
    for expression in expressions:
        yield from (node.id for node in variable_nodes(expression))


def _read(statement: Statement) -> Iterator[ast.expr]:
    """Yield the expressions that a statement itself reads."""
    match statement:
        case Assignment():
            yield statement.value
        case Branch():
            yield statement.test
        case Scan():
            yield from (value for _, value in statement.initial)
            yield from (scanned.array for scanned in statement.scanned)
            yield from (c.item for c in statement.collected)
        case Loop():
            yield from (value for _, value in statement.initial)
            yield from () if statement.count is None else (statement.count,)
            yield from (c.item for c in statement.collected)

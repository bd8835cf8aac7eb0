"""Write statements in the place of their only reader, as far as the reader's line stays one that people read.

```
e = exp(p) * sum(d_p, axis=1, keepdims=True); d_z = d_p - e   ->   d_z = d_p - exp(p) * sum(d_p, axis=1, keepdims=True)
shifted = 1 - h**2; a = d * shifted; b = c * shifted          ->   a = d * (1 - h**2); b = c * (1 - h**2)
```

It runs when values have names and functions are recognized, so that it measures the lines that are shown. A statement
moves behind others only where these leave what it reads.
"""

import ast
import copy
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from primsplit.audit.mathematics.ordering import read_by, targets_of
from primsplit.audit.mathematics.shown import LONGEST, Shown
from primsplit.audit.mathematics.simplify import renamed, simplified, text_of
from primsplit.audit.mathematics.sizes import Shape
from primsplit.audit.mathematics.steps import Shapes, at_step
from primsplit.audit.mathematics.terms import has_product
from primsplit.audit.sections import part_of
from primsplit.audit.trees import calls_deep, fill, variable_nodes, variables_in

DEEPEST = 4
"""The most parentheses around a part of it."""
SHORT = 24
"""The most characters of a value that is written at each of two readers."""
SIMPLE = 2
"""The most operations of such a value."""
SLACK = 4
"""The most characters by which a value makes a long line longer than its name does."""
CHEAP_CALLS = frozenset({"abs", "isnan", "sqrt"})
"""Functions that people write once more rather than name their result."""


Parts = tuple[ast.expr | None, ast.expr | None]


@dataclass
class Inlining:
    """Writes statements into their readers; those in `kept` stay.

    `names` are those that a listing shows of the variables, `shapes` returns the shape of one. `written` gets the
    values that are in their readers.
    """

    lines: list[Shown]
    kept: frozenset[str]
    names: Mapping[str, str]
    shapes: Shapes
    written: dict[str, ast.expr] = field(default_factory=dict)
    order: dict[int, int] = field(default_factory=dict)
    heads: dict[int, list[Shown]] = field(default_factory=dict)
    bodies: dict[int, list[list[Shown]]] = field(default_factory=dict)
    readers: defaultdict[str, list[Shown]] = field(default_factory=lambda: defaultdict(list))
    writers: defaultdict[str, list[Shown]] = field(default_factory=lambda: defaultdict(list))

    def run(self) -> list[Shown]:
        """Return the statements without those that are in their readers now."""
        every = []
        for line, bodies, heads in _walk(self.lines, [], []):
            every.append(line)
            self.order[id(line)] = len(self.order)
            self.heads[id(line)] = heads
            self.bodies[id(line)] = bodies
            for name in read_by(line):
                self.readers[name].append(line)
            for name in targets_of(line):
                self.writers[name].append(line)
        for line in every:
            if self.may_move(line):
                self.move(line)
        return self.lines

    def may_move(self, line: Shown) -> bool:
        """Whether a statement assigns a value without a name of the user's, once."""
        target = line.target
        return (
            line.value is not None
            and target.isidentifier()
            and target not in self.kept
            and len(self.writers[target]) == 1
            and not line.is_passed
        )

    def move(self, line: Shown) -> None:
        """Write a statement into its readers, if each of them stays readable."""
        assert line.value is not None
        readers = self.readers[line.target]
        counts = [_count(reader, line.target) for reader in readers]
        if not readers or any(self.order[id(r)] <= self.order[id(line)] for r in readers):
            return
        if not all(self.reaches(line, reader) for reader in readers):
            return
        found = [self.with_value(line, reader) for reader in readers]
        if any(f is None for f in found):
            return
        if (
            sum(counts) > 1
            and not (sum(counts) == 2 and self.is_cheap(line.value))
            and (has_product(line.value) or not self.shortens(readers, found))
        ):
            return
        for reader, pair in zip(readers, found, strict=True):
            assert pair is not None
            reader.value, reader.expression = pair
        self.written[line.target] = line.value
        self.take(line, readers)

    def shortens(self, readers: Sequence[Shown], found: Sequence[Parts | None]) -> bool:
        """Whether each reader is as short as before with a value in it: a transpose that cancels, for example."""
        pairs = zip(readers, found, strict=True)
        return all(
            len(self.text(old)) >= len(self.text(new))
            for reader, parts in pairs
            for old, new in zip((reader.value, reader.expression), parts or (), strict=False)
            if old is not None and new is not None
        )

    def take(self, line: Shown, readers: Sequence[Shown]) -> None:
        """Drop a statement whose nodes are counted at its first reader."""
        first = min(readers, key=lambda reader: self.order[id(reader)])
        first.ops = [*line.ops, *first.ops]
        first.note = first.note or line.note
        body = self.bodies[id(line)][-1]
        body[:] = [other for other in body if other is not line]
        for name in read_by_value(line):
            old = [other for other in self.readers[name] if other is not line]
            self.readers[name] = [*old, *(r for r in readers if r not in old)]
        del self.readers[line.target]

    def is_cheap(self, value: ast.expr) -> bool:
        """Whether a value is short, and takes few operations."""
        parts = [*ast.walk(value)]
        calls = [p for p in parts if isinstance(p, ast.Call)]
        counted = sum(isinstance(p, ast.BinOp | ast.Compare | ast.Subscript | ast.Call) for p in parts)
        known = all(isinstance(c.func, ast.Name) and c.func.id in CHEAP_CALLS for c in calls)
        known = known and not any(isinstance(p, ast.MatMult) for p in parts)
        return known and counted <= SIMPLE and len(self.text(value)) <= SHORT

    def reaches(self, line: Shown, reader: Shown) -> bool:
        """Whether a value is the same at its reader, and is computed there as often as before."""
        assert line.value is not None
        if part_of(line.op, line.section) != part_of(reader.op, reader.section) and not self.is_cheap(line.value):
            return False
        around, inner = self.bodies[id(line)], self.bodies[id(reader)]
        if len(inner) < len(around) or any(a is not b for a, b in zip(around, inner, strict=False)):
            return False
        at, to = self.order[id(line)], self.order[id(reader)]
        is_kept = not any(at < self.order[id(w)] < to for name in read_by(line) for w in self.writers[name])
        if len(inner) == len(around) or not is_kept:
            return is_kept
        loops = [head for head in self.heads[id(reader)][len(around) - 1 :] if head.head.startswith(("for", "while"))]
        set_there = {name for head in loops for inner_line in head.walk() for name in targets_of(inner_line)}
        return len(loops) == 1 and loops[0].head.startswith("for") and not set_there & read_by(line)

    def with_value(self, line: Shown, reader: Shown) -> Parts | None:
        """Return the value and the expression of a reader with a statement in it; None if they are hard to read."""
        assert line.value is not None
        if len(self.bodies[id(reader)]) > len(self.bodies[id(line)]):
            parts = [self.in_step(part, line) for part in (reader.value, reader.expression)]
        else:
            parts = [
                None if p is None else fill(p, {line.target: line.value}) for p in (reader.value, reader.expression)
            ]
        value, told = (None if part is None else simplified(part) for part in parts)
        shown = value or told
        if (value is None, told is None) != (reader.value is None, reader.expression is None):
            return None
        assert shown is not None
        head = f"{self.names.get(reader.target, reader.target)} = " if value is not None else reader.head
        before = reader.value or reader.expression
        assert before is not None
        length = len(self.text(shown))
        is_short = length <= max(LONGEST - len(head), len(self.text(before)) + SLACK)
        is_readable = is_short and calls_deep(shown) <= max(DEEPEST, calls_deep(before))
        return (value, told) if is_readable else None

    def in_step(self, expression: ast.expr | None, line: Shown) -> ast.expr | None:
        """Return what a step reads with its part of a value of all steps in it; None where it reads other parts."""
        shape = self.shapes(line.target)
        if expression is None or shape is None or line.value is None:
            return None
        found = _InStep(line.target, line.value, shape, self.shapes)
        changed = found.visit(copy.deepcopy(expression))
        assert isinstance(changed, ast.expr)
        return changed if found.is_done and line.target not in variables_in(changed) else None

    def text(self, value: ast.expr) -> str:
        return text_of(renamed(value, self.names))


class _InStep(ast.NodeTransformer):
    """Replaces `a[t]` by the part of a value at that step."""

    def __init__(self, target: str, value: ast.expr, shape: Shape, shapes: Shapes) -> None:
        self.target = target
        self.value = value
        self.shape = shape
        self.shapes = shapes
        self.is_done = False

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == self.target and isinstance(node.slice, ast.Name):
            found = at_step(self.value, node.slice, self.shape, self.shapes)
            self.is_done = found is not None
            return found or node
        self.generic_visit(node)
        return node


def read_by_value(line: Shown) -> set[str]:
    """Return the names in the value of a statement."""
    return set() if line.value is None else variables_in(line.value)


def _walk(
    lines: list[Shown], around: Sequence[list[Shown]], heads: Sequence[Shown]
) -> Iterator[tuple[Shown, list[list[Shown]], list[Shown]]]:
    """Yield statements with the bodies that they are in, the innermost last, and the heads of these."""
    bodies = [*around, lines]
    for line in lines:
        yield line, bodies, [*heads]
        yield from _walk(line.below, bodies, [*heads, line])


def _count(line: Shown, name: str) -> int:
    """Return how often a statement reads a variable."""
    parts = [e for e in (line.value, line.expression) if e is not None]
    return Counter(n.id for e in parts for n in variable_nodes(e))[name]

"""Changes of one place in a module: another comparison, operator, constant, condition, result, or a statement less.

if n <= 2:          ->  if n < 2:
    return a - b    ->      return a + b
"""

import ast
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Lt: ast.GtE(),
    ast.LtE: ast.Gt(),
    ast.Gt: ast.LtE(),
    ast.GtE: ast.Lt(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
}
"""A comparison and its opposite."""
BOUNDARIES: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
}
"""A comparison and the one that differs where both sides are equal."""
ARITHMETIC: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.Add(),
    ast.Div: ast.Mult(),
    ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.FloorDiv(),
    ast.Pow: ast.Mult(),
    ast.BitAnd: ast.BitOr(),
    ast.BitOr: ast.BitAnd(),
}
"""An operator of two sides and another one."""

SYMMETRIC = frozenset({"max", "min", "Add", "Mul", "And", "Or", "Xor", "Max", "Min", "Equal"})
"""Functions, and operators in any module, whose first two arguments may be swapped."""
ASKED = frozenset({"isinstance", "issubclass", "getattr", "hasattr", "setattr"})
"""Functions whose arguments are a value and types or names: changed, they fail at once."""


@dataclass(frozen=True, slots=True)
class Change:
    """One place of a text, from character `start` to `stop`, and what stands there instead."""

    kind: str
    line: int
    start: int
    stop: int
    text: str

    def of(self, source: str) -> str:
        """Return the source with the change."""
        return source[: self.start] + self.text + source[self.stop :]

    def told(self, source: str) -> str:
        """Return the changed lines as they were and as they are, in one line."""
        begin = source.rfind("\n", 0, self.start) + 1
        end = source.find("\n", self.stop)
        end = len(source) if end < 0 else end
        after = source[begin : self.start] + self.text + source[self.stop : end]
        return f"{' '.join(source[begin:end].split())}  ->  {' '.join(after.split())}"


def changes(source: str) -> list[Change]:
    """Return the changes of a text, in its order. Some give the same code as another or as the text itself."""
    return sorted(_Walk(source).of(ast.parse(source)), key=lambda c: (c.start, c.stop, c.kind, c.text))


def sample(sources: Mapping[Path, str], count: int, seed: int) -> list[tuple[Path, Change]]:
    """Return changes that give other code, at most one a line; the same ones for each seed.

    Each kind is drawn as often as another while there are any of it left.
    """
    by_kind: dict[str, list[tuple[Path, Change]]] = {}
    for path, source in sorted(sources.items()):
        for change in changes(source):
            by_kind.setdefault(change.kind, []).append((path, change))
    drawn = random.Random(seed)
    for kind in sorted(by_kind):
        drawn.shuffle(by_kind[kind])
    chosen: dict[tuple[Path, int], tuple[Path, Change]] = {}
    while len(chosen) < count and any(by_kind.values()):
        for kind in sorted(k for k in by_kind if by_kind[k]):
            path, change = by_kind[kind].pop()
            if len(chosen) < count and (path, change.line) not in chosen and _differs(change, sources[path]):
                chosen[path, change.line] = path, change
    return list(chosen.values())


def _differs(change: Change, source: str) -> bool:
    return ast.dump(ast.parse(change.of(source))) != ast.dump(ast.parse(source))


class _Walk:
    """The walk of a module. Annotations, decorators, texts, imports, `strict` of zip, and what is raised stay."""

    def __init__(self, source: str) -> None:
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.bytes = [line.encode() for line in source.splitlines(keepends=True)]

    def of(self, node: ast.AST) -> Iterator[Change]:
        """Yield the changes of a node and of what is in it."""
        if _stays(node):
            return
        if isinstance(node, ast.stmt):
            yield from self._of_statement(node)
        if isinstance(node, ast.expr):
            yield from self._of_expression(node)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ASKED:
            yield from self.of(node.args[0])
            return
        for name, part in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list", "type_params", "bases"}:
                continue
            for each in part if isinstance(part, list) else [part]:
                if isinstance(each, ast.AST):
                    yield from self.of(each)

    def _change(self, kind: str, node: ast.stmt | ast.expr, text: str) -> Change:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._place(node.lineno, node.col_offset)
        return Change(kind, node.lineno, start, self._place(node.end_lineno, node.end_col_offset), text)

    def _place(self, line: int, column: int) -> int:
        """Return the place in the text; columns of a tree count bytes."""
        return self.lines[line - 1] + len(self.bytes[line - 1][:column].decode())

    def _of_statement(self, node: ast.stmt) -> Iterator[Change]:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.Expr | ast.AugAssign | ast.Continue | ast.Break) and not is_text:
            yield self._change("statement", node, "pass")
        elif isinstance(node, ast.Return) and node.value is not None:
            yield from self._of_result(node.value)
        elif isinstance(node, ast.If | ast.While):
            yield self._change("condition", node.test, _negated(node.test))

    def _of_result(self, value: ast.expr) -> Iterator[Change]:
        if isinstance(value, ast.Tuple) and len(value.elts) == 2:
            yield self._change("result", value, ast.unparse(ast.Tuple(value.elts[::-1], ast.Load())))
        elif isinstance(value, ast.BoolOp | ast.Compare | ast.UnaryOp):
            yield self._change("result", value, _negated(value))
        elif isinstance(value, ast.IfExp):
            yield self._change("result", value, f"({ast.unparse(value.orelse)})")
        elif not (isinstance(value, ast.Constant) and value.value is None):
            yield self._change("result", value, "None")

    def _of_expression(self, node: ast.expr) -> Iterator[Change]:
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            for kind, table in (("comparison", COMPARISONS), ("boundary", BOUNDARIES)):
                if type(node.ops[0]) in table:
                    compared = ast.Compare(node.left, [table[type(node.ops[0])]], node.comparators)
                    yield self._change(kind, node, f"({ast.unparse(compared)})")
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not _is_text(node):
            other = ast.BinOp(node.left, ARITHMETIC[type(node.op)], node.right)
            yield self._change("operator", node, f"({ast.unparse(other)})")
        elif isinstance(node, ast.BoolOp):
            yield from self._of_conditions(node)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            kind = "not" if isinstance(node.op, ast.Not) else "operator"
            yield self._change(kind, node, f"({ast.unparse(node.operand)})")
        elif isinstance(node, ast.IfExp):
            yield self._change("condition", node.test, _negated(node.test))
        elif isinstance(node, ast.Call) and len(node.args) >= 2:
            yield from self._of_arguments(node)
        elif isinstance(node, ast.Constant):
            yield from self._of_constant(node)

    def _of_conditions(self, node: ast.BoolOp) -> Iterator[Change]:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield self._change("condition", node, f"({ast.unparse(ast.BoolOp(other, node.values))})")
        for i in range(len(node.values)):
            kept = [value for k, value in enumerate(node.values) if k != i]
            left = kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept)
            yield self._change("condition", node, f"({ast.unparse(left)})")

    def _of_arguments(self, node: ast.Call) -> Iterator[Change]:
        first, second, *others = node.args
        if ast.unparse(node.func).rpartition(".")[2] not in ASKED | SYMMETRIC and not any(
            isinstance(a, ast.Starred) for a in (first, second)
        ):
            swapped = ast.Call(node.func, [second, first, *others], node.keywords)
            yield self._change("arguments", node, ast.unparse(swapped))

    def _of_constant(self, node: ast.Constant) -> Iterator[Change]:
        if isinstance(node.value, bool):
            yield self._change("constant", node, str(not node.value))
        elif isinstance(node.value, int):
            yield self._change("constant", node, str(node.value + 1))
        elif isinstance(node.value, float):
            yield self._change("constant", node, repr(2 * node.value if node.value else 1.0))


def _stays(node: ast.AST) -> bool:
    """Return whether nothing in a node is changed."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test).endswith("TYPE_CHECKING")
    if isinstance(node, ast.keyword):
        return node.arg == "strict"
    return isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr)


def _negated(test: ast.expr) -> str:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return f"({ast.unparse(test.operand)})"
    return f"(not ({ast.unparse(test)}))"


def _is_text(node: ast.BinOp) -> bool:
    """Return whether one side is a text or a type: `"%d" % n`, `int | None`."""
    sides = (node.left, node.right)
    return any(isinstance(s, ast.JoinedStr) or (isinstance(s, ast.Constant) and not _is_number(s)) for s in sides)


def _is_number(node: ast.Constant) -> bool:
    return isinstance(node.value, int | float)

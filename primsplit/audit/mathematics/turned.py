"""Write a transpose of what has a name by that name: `k.mT` for `transpose(x.reshape(5, 2, 3), (1, 2, 0))`.

```
k = transpose(x.reshape(5, 2, 3), (1, 0, 2))                      ->   k = transpose(x.reshape(5, 2, 3), (1, 0, 2))
s = q @ transpose(x.reshape(5, 2, 3), (1, 2, 0))                       s = q @ k.mT
```
"""

import ast
from collections.abc import Sequence

from primsplit.audit.mathematics.axes import is_swap, transposed
from primsplit.audit.mathematics.ordering import read_by, targets_of
from primsplit.audit.mathematics.shown import Shown
from primsplit.audit.trees import call, literal, name


def with_turned(lines: Sequence[Shown]) -> list[Shown]:
    """Return statements with transposes of values with names in the place of transposes of their expressions."""
    found = [*lines]
    every = [line for line in found if line.value is not None and line.target.isidentifier()]
    set_often = _set_often(found)
    for line in every:
        assert line.value is not None
        own = transposed(line.value)
        if own is None or isinstance(own[0], ast.Name) or {line.target, *read_by(line)} & set_often:
            continue
        replacing = _Replacing(line.target, *own)
        at = next(i for i, other in enumerate(found) if other is line)
        if any(replacing.reads(other) for other in found[:at]):
            first = next(i for i, other in enumerate(found) if replacing.reads(other))
            if any(targets_of(other) & read_by(line) for other in found[first:at]):
                continue
            found.insert(first, found.pop(at))
            at = first
        for other in found[at + 1 :]:
            if other.value is not None and not other.below:
                changed = replacing.visit(other.value)
                assert isinstance(changed, ast.expr)
                other.value = changed
    return found


def _set_often(lines: Sequence[Shown]) -> set[str]:
    """Return the variables that are set more than once."""
    seen: set[str] = set()
    again: set[str] = set()
    for line in (line for top in lines for line in top.walk()):
        again |= seen & targets_of(line)
        seen |= targets_of(line)
    return again


class _Replacing(ast.NodeTransformer):
    """Replaces transposes of one expression by those of a variable that has one."""

    def __init__(self, target: str, value: ast.expr, order: tuple[int, ...]) -> None:
        self.target = target
        self.text = ast.dump(value)
        self.order = order
        self.is_found = False

    def reads(self, line: Shown) -> bool:
        """Whether a statement has a transpose of the expression."""
        self.is_found = False
        if line.value is not None and not line.below:
            for node in ast.walk(line.value):
                self.is_found = self.is_found or (isinstance(node, ast.Call) and self.turn(node) is not None)
        return self.is_found and line.target != self.target

    def turn(self, node: ast.Call) -> ast.expr | None:
        """Return the variable, or its matrices transposed, in the place of a transpose."""
        found = transposed(node)
        if found is None or len(found[1]) != len(self.order) or ast.dump(found[0]) != self.text:
            return None
        if found[1] == self.order:
            return name(self.target)
        turn = tuple(self.order.index(axis) for axis in found[1])
        return call("transpose", name(self.target), literal(turn)) if is_swap(turn) else None

    def visit_Call(self, node: ast.Call) -> ast.expr:
        found = self.turn(node)
        if found is not None:
            return found
        self.generic_visit(node)
        return node

"""Name values after the user's variables: those that the result of an instruction is assigned to.

`h = x @ w + b` records MatMul(x, w), which has no name, and Add, whose result is called `h`. What a function returns
is called as its caller calls it: with `return x / total` in `norm`, `p = norm(x)` calls the quotient `p`.
"""

import ast
from collections.abc import Hashable, Iterable, Mapping, Sequence

from primsplit.ir import Op, Value, Var
from primsplit.ir.errors import Place
from primsplit.tracing.source_nodes import Nodes, value_taken


def assigned(nodes: Nodes) -> tuple[str, ...]:
    """Return the variables that take the value of the last node: several if it is unpacked.

    Empty if the value is used first: `x @ w` in `h = x @ w + b`, an argument, an element of a container.
    """
    if not nodes:
        return ()
    taken_by, value = value_taken(nodes)
    if isinstance(value, ast.AugAssign):
        return _names(value.target)
    if isinstance(taken_by, ast.Assign) and taken_by.value is value:
        return _names(taken_by.targets[0])
    if isinstance(taken_by, ast.AnnAssign | ast.NamedExpr) and taken_by.value is value:
        return _names(taken_by.target)
    return ()


def _names(target: ast.expr) -> tuple[str, ...]:
    """Return the variables of a target; none if a part of it is another target."""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    names = tuple(part.id for part in parts if isinstance(part, ast.Name))
    return names if len(names) == len(parts) else ()


CALL_BACK = frozenset({"accumulate", "filter", "list", "map", "max", "min", "next", "reduce", "sorted", "sum", "tuple"})
"""Functions without a frame of their own: their results are not those of the functions that they call."""


def is_returned(nodes: Nodes) -> bool:
    """Whether a function returns the value of the last node."""
    if not nodes:
        return False
    taken_by, value = value_taken(nodes)
    return isinstance(taken_by, ast.Return) or (isinstance(taken_by, ast.Lambda) and taken_by.body is value)


def called_name(nodes: Nodes) -> str:
    """Return the name of the function that the last node calls, `tanh` of `np.tanh(x)`; else ""."""
    node = nodes[-1] if nodes else None
    while isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


class Variables:
    """Hints for the Vars of one trace: the user's variables that hold them, each made unique by a number."""

    def __init__(self) -> None:
        self.uses: dict[str, int] = {}
        self.place: Place | None = None
        self.hints: tuple[str, ...] = ()
        self.named: Sequence[Var] = ()
        self.numbers: dict[Hashable, int] = {}

    def number(self, value: Hashable) -> int:
        """Return a number that no other value of the trace has, so that its text is unique."""
        return self.numbers.setdefault(value, len(self.numbers))

    def take(self, stem: str) -> str:
        """Return the name, with a number added if it was used before."""
        while True:
            count = self.uses.get(stem, 0)
            self.uses[stem] = count + 1
            if not count:
                return stem
            if (name := f"{stem}_{count}") not in self.uses:
                self.uses[name] = 1
                return name

    def name(self, made: Sequence[Var], place: Place | None) -> None:
        """Name the outputs of one op after the variables that its place is assigned to.

        If one expression records several ops, the last has its value: the names move on from the op before.
        """
        if place is not self.place:
            variables = () if place is None or "_" in place.variables else place.variables
            self.place, self.hints, self.named = place, tuple(map(self.take, variables)), ()
        if len(self.hints) != len(made):
            return
        for var in self.named:
            var.hint = ""
        self.named = made
        for var, hint in zip(made, self.hints, strict=True):
            var.hint = hint


def name_after(found: Mapping[Var, Value], ops: Iterable[Op], prefix: str) -> None:
    """Name what these ops compute for a value by its hint with a prefix: `d_h` is the cotangent of `h`."""
    made = {v for op in ops for v in op.outputs}
    for var, value in found.items():
        if var.hint and isinstance(value, Var) and value in made and not value.hint:
            value.hint = f"{prefix}{var.hint}"

"""Name values after the user's variables: those that the result of an instruction is assigned to.

`h = x @ w + b` records MatMul(x, w), which has no name, and Add, whose result is called `h`. What a function returns
is called as its caller calls it: with `return x / total` in `norm`, `p = norm(x)` calls the quotient `p`.
"""

import ast
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

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
    if isinstance(taken_by, ast.Tuple | ast.List):
        return _names_of_part(nodes[: nodes.index(taken_by) + 1], value)
    if isinstance(taken_by, ast.AnnAssign | ast.NamedExpr) and taken_by.value is value:
        return _names(taken_by.target)
    return ()


def _names_of_part(nodes: Nodes, value: ast.AST) -> tuple[str, ...]:
    """Return the variables that take a part of the tuple that is the last node: `q` of `q, k = f(x), g(x)`."""
    taken_by, whole, path = _tuple_around(nodes, value)
    if not isinstance(taken_by, ast.Assign) or taken_by.value is not whole:
        return ()
    target: ast.expr = taken_by.targets[0]
    for at in path:
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        if at >= len(parts) or any(isinstance(part, ast.Starred) for part in parts):
            return ()
        target = parts[at]
    return _names(target)


def _tuple_around(nodes: Nodes, value: ast.AST) -> tuple[ast.AST | None, ast.AST, list[int]]:
    """Return what takes the outermost tuple around a value of the last node, that tuple, and the indices into it."""
    around, path = [*nodes], list[int]()
    while around and isinstance(part := around[-1], ast.Tuple | ast.List):
        path.insert(0, next(i for i, each in enumerate(part.elts) if each is value))
        value = around.pop()
    return (around[-1] if around else None), value, path


def _names(target: ast.expr) -> tuple[str, ...]:
    """Return the variables of a target, those of `(h, c), y` one after the other; none if a part is no variable."""
    if isinstance(target, ast.Name):
        return (target.id,)
    parts = [_names(part) for part in target.elts] if isinstance(target, ast.Tuple | ast.List) else []
    return tuple(name for part in parts for name in part) if all(parts) else ()


CALL_BACK = frozenset({"accumulate", "filter", "list", "map", "max", "min", "next", "reduce", "sorted", "sum", "tuple"})
"""Functions without a frame of their own: their results are not those of the functions that they call."""


def returned_part(nodes: Nodes) -> tuple[int, int] | None:
    """Return the position, among the values that a function returns, of the last node's value, and their number.

    None if the node is not returned.

    A tuple in a tuple counts as its parts: `np.exp(x)` of `return (h, c), np.exp(x)` is the last of three.
    """
    if not nodes:
        return None
    taken_by, value = value_taken(nodes)
    if isinstance(taken_by, ast.Return) or (isinstance(taken_by, ast.Lambda) and taken_by.body is value):
        return 0, 1
    if not isinstance(taken_by, ast.Tuple):
        return None
    taken_by, whole, _ = _tuple_around(nodes[: nodes.index(taken_by) + 1], value)
    is_whole = isinstance(taken_by, ast.Return) or (isinstance(taken_by, ast.Lambda) and taken_by.body is whole)
    parts = [*_parts(whole)]
    if not is_whole or any(isinstance(part, ast.Starred) for part in parts):
        return None
    return next(i for i, part in enumerate(parts) if part is value), len(parts)


def _parts(value: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a tuple, and those of tuples in it."""
    if isinstance(value, ast.Tuple):
        for part in value.elts:
            yield from _parts(part)
    else:
        yield value


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

"""Stores at a traced index: each element becomes the new value or keeps the old one.

```
held[k] = a                     joins.put(a, held, k)
held[k] += a                    joins.changed(held, k, "iadd", lambda: a)
```
"""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.python.conversion.either import Either, settled
from primsplit.frontends.python.conversion.growing import place_in
from primsplit.frontends.python.conversion.identity import note_joined
from primsplit.frontends.python.conversion.lookups import Keys, is_unknown_place, item, keys_of_the_run
from primsplit.frontends.python.conversion.reading import Reads
from primsplit.frontends.python.converter.operators import OPERATORS
from primsplit.frontends.python.converter.transformer import at, later
from primsplit.ops import op
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.handles.concretization import no_number


class Stores(Reads):
    """A rewrite of statements that store at a traced index, or at a key that may be an `Either`."""

    filename: str
    looks_up = False
    """Whether the code looks up or stores elements of lists through the helper."""

    def visit_Assign(self, node: ast.Assign) -> Any:
        match node.targets:
            case [ast.Tuple(parts)] if any(isinstance(p, ast.Subscript) and self._is_of_the_run(p) for p in parts):
                if not any(isinstance(part, ast.Starred) for part in parts):
                    return self._one_by_one(node, parts)
            case [ast.Subscript() as target] if self._is_of_the_run(target):
                owner, place = self._parts(target)
                self.told.add(node.value)
                return at(node, ast.Expr(self._stored("put", self.visit(node.value), owner, place)))
        return super().visit_Assign(node)

    def _one_by_one(self, node: ast.Assign, parts: Sequence[ast.expr]) -> list[ast.stmt]:
        """Return `a[j], b = c, d` as `first, second = c, d` and an assignment for each target."""
        names = [f"_joined_part_{k}" for k in range(len(parts))]
        first = ast.Assign([ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())], node.value)
        each = [ast.Assign([p], ast.Name(n, ast.Load())) for n, p in zip(names, parts, strict=True)]
        statements: list[ast.stmt] = []
        for statement in (first, *each):
            visited = self.visit(at(node, statement))
            statements += visited if isinstance(visited, list) else [visited]
        return statements

    def _changed(self, node: ast.AugAssign, target: ast.Subscript) -> ast.stmt:
        name = ast.Constant(_IN_PLACE[type(node.op)])
        parts = self._parts(target, ast.keyword("in_place", ast.Constant(True)))
        return at(node, ast.Expr(self._stored("changed", *parts, name, later(self.visit(node.value)))))

    def _parts(self, target: ast.Subscript, *keywords: ast.keyword) -> tuple[ast.expr, ast.expr]:
        """Return the owner of an element, which is noted before the store, and the index."""
        self.looks_up = True
        self.told.add(target.slice)
        owner = ast.Call(self._helper("changing"), [self.visit(target.value)], [*keywords])
        return owner, self._told(target.slice)

    def _stored(self, method: str, *args: ast.expr) -> ast.Call:
        return ast.Call(self._helper(method), [*args], [])

    def _is_of_the_run(self, target: ast.Subscript) -> bool:
        """Whether an element is stored at a line where a traced index was used, or at a key that may be an `Either`."""
        if isinstance(target.slice, ast.Slice | ast.Tuple | ast.Constant):
            return False
        return self._asks(target) or self._is_uncertain(target.slice)

    def _asks(self, test: ast.expr) -> bool:
        raise TypeError(test)


_IN_PLACE: Mapping[type[ast.operator], str] = {
    ast.Add: "iadd", ast.Sub: "isub", ast.Mult: "imul", ast.Div: "itruediv", ast.FloorDiv: "ifloordiv",
    ast.Mod: "imod", ast.Pow: "ipow", ast.MatMult: "imatmul", ast.BitAnd: "iand", ast.BitOr: "ior",
    ast.BitXor: "ixor", ast.LShift: "ilshift", ast.RShift: "irshift",
}  # fmt: skip
"""The functions of Python's `operator` module for augmented assignment, by the syntax node."""


def put(value: Any, held: Any, index: Any) -> None:
    """Perform `held[index] = value`. Raises NotJoined for an `Either` key with a possible thing that is missing."""
    index = settled(index)
    if type(index) is Either:
        _put_by_key(value, held, index)
    elif type(held) is list and is_unknown_place(index) and _are_alike([value, *held]):
        checked = place_in(len(held), index, "list assignment index out of range")
        place = op.Gather(np.arange(len(held)), checked)  # the run fails for an index out of range
        _put_at(value, held, enumerate(range(len(held))), place)
    else:
        OPERATORS[False].indexed(held)[index] = value


def changed(held: Any, index: Any, name: str, value: Callable[[], Any]) -> None:
    """Perform `held[index] += value()`, or the augmented assignment with this name in `operator`."""
    index = settled(index)
    new = getattr(operator, name)(item(held, index), value())
    if type(held) is not dict or (found := keys_of_the_run(held, index)) is None:
        put(new, held, index)
    else:
        _put_by_number(new, held, found)


def _put_by_key(value: Any, held: Any, key: Either) -> None:
    possible = key.possible()
    things = [key.things[k] for k in possible]
    if type(held) is not dict or not key.traced.isdisjoint(possible) or not all(thing in held for thing in things):
        raise key.refusal()
    if not _are_alike([value, *(held[thing] for thing in things)]):
        raise key.refusal()
    _put_at(value, held, zip(possible, things, strict=True), key.number)


def _put_by_number(value: Any, held: dict[Any, Any], found: Keys) -> None:
    """Store a value that was computed from the element of a traced key, which is thus in the dictionary."""
    if not _are_alike([value, *(held[key] for key in found.keys)]):
        raise no_number(as_array(found.place).type, "a hash")
    _put_at(value, held, enumerate(found.keys), found.place)


def _put_at(value: Any, held: Any, numbered: Iterable[tuple[int, Any]], number: Any) -> None:
    """Store a value at the key, or the index, that has the number which only the run knows."""
    for k, key in numbered:
        held[key] = _chosen(op.Equal(number, k), value, held[key])


def _are_alike(values: list[Any]) -> bool:
    """Whether all values are numbers, or all are tuples of numbers with one structure."""
    flat = [*map(trees.flatten, values)]
    is_of_numbers = all(map(_is_number, (leaf for leaves, _ in flat for leaf in leaves)))
    return is_of_numbers and not any(isinstance(v, list | dict) for v in values) and len({s for _, s in flat}) == 1


def _is_number(leaf: Any) -> bool:
    return leaf.is_number() if type(leaf) is Array else isinstance(leaf, int | float | np.number | np.bool_)


def _chosen(test: Array, new: Any, old: Any) -> Any:
    """Return the new value if the test holds, else the old one, leaf by leaf."""
    leaves, spec = trees.flatten(new)
    return trees.unflatten(spec, [_one(test, *pair) for pair in zip(leaves, trees.flatten(old)[0], strict=True)])


def _one(test: Array, new: Any, old: Any) -> Array:
    weak = all(a.weak if isinstance(a, Array) else not isinstance(a, np.generic) for a in (new, old))
    chosen = Array(as_array(np.where(test, new, old)).value, weak=weak, scalar=True)
    place = tracing.user_place()
    note_joined(chosen, [new, old], ("", 0) if place is None else (place.filename, place.line))
    return chosen

"""Recognize branches whose sides compute one value, one of them by a faster way that does not always serve.

```
p = d * (x > 0)                                      ->   y = where(x > 0, d, 0)
if isnan(sum(p)): y = where(x > 0, d, 0)
else: y = p

p = d * (relu(x) / x)                                ->   y = where(x > 0, d, where(x < 0, 0, 0.5 * d))
if isnan(sum(p)): y = where(x > 0, d, where(x < 0, 0, 0.5 * d))
else: y = p

if size < 200000: y = scatter_nd(a, i, u, "add")     ->   y = scatter_add(a, i, u)     added in parts
else: y = <parts of u added at parts of i, one after the other>
```

What is claimed is compared with the nodes of both sides.
"""

import ast
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from primsplit.audit.mathematics.sizes import Sizes
from primsplit.audit.statements import Assignment, Branch, Statement
from primsplit.audit.trees import name, tree
from primsplit.ir import Block, Const, Op, Value, Var, dims, reads
from primsplit.ops.traits import traits
from primsplit.rewrites.select_to_mask import positive_part

SUMS = frozenset({"ReduceSum", "ReduceMean"})
PIECES = frozenset({"Slice", "Reshape", "Concat", "Identity", "Squeeze", "Unsqueeze", "Transpose", "Cast"})
"""Operators that may be applied to numbers that are added up in pieces. No trait: a Concat of all slices keeps them."""
SCATTERS = frozenset({"ScatterND", "ScatterElements"})
SAME_PLACES = PIECES | {"Expand", "Mod", "Gather"}
"""Operators that turn indices of one scatter into those of another. No trait: Mod and Gather change other numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Idiom(Assignment):
    """Statements that are written as one; `note` says how the file computes it.

    Where their function is no operator, the op is of the kind `listed::function`: no table of operators has facts about
    it. `is_elementwise` says that it computes each element of one result from one of each operand.
    """

    note: str = ""
    is_elementwise: bool = False


def computed_by(
    statement: Statement,
    function: str,
    given: tuple[Var, ...],
    ops: tuple[Op, ...],
    value: ast.expr,
    *,
    is_elementwise: bool = False,
) -> Idiom:
    """Return a function of given values, which is no operator, in the place of a statement; it stands for `ops`."""
    return Idiom(
        op=replace(statement.op, kind=f"listed::{function}", inputs=given, attributes={}),
        ops=ops,
        targets=statement.targets,
        section=statement.section,
        value=value,
        is_elementwise=is_elementwise,
    )


def is_elementwise(statement: Statement) -> bool:
    """Whether a statement computes each element of its result from one of each operand."""
    own = isinstance(statement, Idiom) and statement.is_elementwise
    return own or traits(statement.op.kind).elementwise


def with_masks(statements: Sequence[Statement], sizes: Sizes) -> list[Statement]:
    """Return statements with a choice in the place of a product by a mask that is made again where it has a NaN."""
    made = {v: s.op for s in statements for v in s.op.outputs}
    found: list[Statement] = []
    hidden: dict[Op, list[Op]] = {}
    readers = Counter(v for s in statements for v in {*read_by_statement(s)})
    by_op = {s.op: s for s in statements}
    masked = {s.op: mask for s in statements if (mask := _masked(s, made, sizes)) is not None}
    for op, mask in masked.items():
        left = readers - Counter(read_by_statement(by_op[op])) + Counter({*mask.given})
        ops: dict[Op, None] = {}
        for start in (op.inputs[0], mask.product.outputs[0]):
            only_for(start, made, left, by_op, ops)
        hidden[op] = [o for each in ops for o in by_op[each].every_op()]
    gone = {o for ops in hidden.values() for o in ops}
    for statement in statements:
        if statement.op in hidden:
            assert isinstance(statement, Branch)
            every = (*hidden[statement.op], *statement.every_op())
            found.append(masked[statement.op].written(statement, every, sizes))
        elif statement.op not in gone:
            found.append(statement)
    return found


@dataclass(frozen=True, slots=True)
class _Masked:
    """A choice that `product` computes where that is no NaN, and the values that it is computed from.

    `share` is x and the cotangent of which max(x, 0) hands a share to x, half of it at ties; None for another choice.
    """

    product: Op
    given: tuple[Value, ...]
    share: tuple[Var, Var] | None = None

    def written(self, statement: Branch, ops: tuple[Op, ...], sizes: Sizes) -> Idiom:
        """Return the choice that the file falls back to, in the place of its branch."""
        if self.share is None:
            return as_first_side(statement, ops)
        x, d = (name(sizes.names[v]) for v in self.share)
        value = tree("where(x > 0, d, where(x < 0, 0, 0.5 * d))", x=x, d=d)
        return computed_by(statement, "share_of_maximum", self.share, ops, value, is_elementwise=True)


def _masked(statement: Statement, made: Mapping[Var, Op], sizes: Sizes) -> _Masked | None:
    """Return the choice whose product a branch hands on unless its sum is NaN; None for another statement."""
    if not isinstance(statement, Branch):
        return None
    then, otherwise = (statement.op.attributes[key] for key in ("then_branch", "else_branch"))
    if [op.kind for op in otherwise.ops] != ["Identity"]:
        return None
    product = _made_by(otherwise.ops[0].inputs[0], "Mul", made)
    if product is None or not _tests_sum(statement.op.inputs[0], product.outputs[0], made):
        return None
    return _mask(then, product, made) or _share(then, product, made, sizes)


def _mask(then: Block, product: Op, made: Mapping[Var, Op]) -> _Masked | None:
    """Return the choice between an array and 0 of which a product by its test is the same."""
    if [op.kind for op in then.ops] != ["Where"]:
        return None
    test, value, zero = then.ops[0].inputs
    masks = [made[v] for v in product.inputs if v is not value and isinstance(v, Var) and v in made]
    is_mask = value in product.inputs and [(op.kind, op.inputs[0]) for op in masks] == [("Cast", test)]
    is_zero = isinstance(zero, Const) and zero.number == 0
    given = tuple(v for v in then.ops[0].inputs if v is not None)
    return _Masked(product, given) if is_mask and is_zero else None


def _share(then: Block, product: Op, made: Mapping[Var, Op], sizes: Sizes) -> _Masked | None:
    """Return the share of a cotangent that max(x, 0) hands to x, if a product by relu(x) / x is the same."""
    inside = {**made, **{v: op for op in then.ops for v in op.outputs}}
    outer = _made_by(then.results[0], "Where", inside)
    choice = None if outer is None else positive_part(outer, lambda value, kind: _made_by(value, kind, inside))
    if choice is None or not {*then.ops} <= {*choice.ops} or choice.array not in product.inputs:
        return None
    x, d = choice.mask, choice.array
    (quotient,) = (v for v in product.inputs if v is not d) if product.inputs.count(d) == 1 else (None,)
    divided = _made_by(quotient, "Div", inside)
    above = None if divided is None or divided.inputs[1] is not x else _made_by(divided.inputs[0], "Relu", inside)
    if above is None or above.inputs[0] is not x or not (isinstance(x, Var) and isinstance(d, Var)):
        return None
    return _Masked(product, (x, d), (x, d)) if x in sizes.names and d in sizes.names else None


def _made_by(value: Value | None, kind: str, made: Mapping[Var, Op]) -> Op | None:
    op = made.get(value) if isinstance(value, Var) else None
    return op if op is not None and op.kind == kind else None


def read_by_statement(statement: Statement) -> set[Value]:
    """Return the values that a statement and those inside it read."""
    return {v for op in statement.every_op() for v in reads(op)}


def _tests_sum(test: Value | None, value: Var, made: Mapping[Var, Op]) -> bool:
    """Whether a test asks if the sum of a value is NaN."""
    op = made.get(test) if isinstance(test, Var) else None
    if op is None or op.kind != "IsNaN":
        return False
    waiting, summed = [op.inputs[0]], False
    while waiting:
        found = waiting.pop()
        if found is value:
            continue
        op = made.get(found) if isinstance(found, Var) else None
        if op is None or op.kind not in PIECES | SUMS:
            return False
        summed = summed or op.kind in SUMS
        waiting += op.inputs if op.kind == "Concat" else op.inputs[:1]
    return summed


def only_for(
    value: Value | None,
    made: Mapping[Var, Op],
    readers: Counter[Value],
    by_op: Mapping[Op, Statement],
    found: dict[Op, None],
    end: Collection[Value] = (),
    branches: Collection[Op] = (),
) -> None:
    """Add the ops that compute a value from those in `end`, if no others read them; their own reads count no more.

    Loops and branches stay, but those in `branches`.
    """
    op = made.get(value) if isinstance(value, Var) else None
    if op is None or value is None or value in end or op in found or readers[value] > 0:
        return
    if not isinstance(by_op[op], Assignment) and op not in branches:
        return
    found[op] = None
    for read in read_by_statement(by_op[op]):
        readers[read] -= 1
    for read in read_by_statement(by_op[op]):
        only_for(read, made, readers, by_op, found, end, branches)


def claimed(
    statement: Statement,
    given: Collection[Var],
    end: Collection[Value],
    made: Mapping[Var, Op],
    readers: Counter[Value],
    by_op: Mapping[Op, Statement],
) -> tuple[Op, ...]:
    """Return the ops that a statement alone needs, which is to be written as a function of given values.

    They compute from the values in `end`. Their reads, and the statement's, count no more; those of `given` do. So what
    two such statements share belongs to the second one.
    """
    readers.subtract(read_by_statement(statement))
    ops: dict[Op, None] = {}
    for value in statement.op.inputs:
        only_for(value, made, readers, by_op, ops, end)
    readers.update(given)
    return (*ops,)


def as_first_side(statement: Branch, ops: tuple[Op, ...], note: str = "") -> Idiom:
    """Return the only statement of a branch's first side in the place of the branch; it stands for `ops`."""
    (inner,) = statement.sides[0].statements
    assert isinstance(inner, Assignment)
    own = statement.op
    op = replace(inner.op, outputs=own.outputs, place=own.place, remark=own.remark)
    return Idiom(op=op, ops=ops, targets=statement.targets, section=statement.section, value=inner.value, note=note)


def scatter_in_parts(statement: Statement) -> Statement | None:
    """Return the scatter of a branch that adds few updates at once, and many in parts."""
    if not isinstance(statement, Branch):
        return None
    then, otherwise = (statement.op.attributes[key] for key in ("then_branch", "else_branch"))
    if len(then.ops) != 1 or then.ops[0].kind not in SCATTERS or then.ops[0].attributes.get("reduction") != "add":
        return None
    (plain,) = then.ops
    array, places, updates = plain.inputs
    sources = _Sources({array}, {places}, {updates})
    if plain.outputs[0] is not then.results[0] or not sources.scatter(otherwise):
        return None
    return as_first_side(statement, tuple(statement.every_op()), "added in parts")


@dataclass
class _Sources:
    """Follows the array, the places and the updates of a scatter through a block that cuts them into parts."""

    arrays: set[Value | None]
    places: set[Value | None]
    updates: set[Value | None]

    def scatter(self, block: Block) -> bool:
        """Whether a block does no more to these than to cut them into parts and to add the parts of updates."""
        for op in block.ops:
            if op.kind == "If":
                if not all(self.scatter(inner) for inner in op.blocks()):
                    return False
                self.arrays.update(op.outputs)
            elif op.kind in SCATTERS:
                given = zip(op.inputs, (self.arrays, self.places, self.updates), strict=True)
                if op.attributes.get("reduction") != "add" or not all(v in known for v, known in given):
                    return False
                self.arrays.update(op.outputs)
            elif op.kind not in {"Shape", "Size"} and not self.cut(op):
                return False
        return all(result in self.arrays for result in block.results)

    def cut(self, op: Op) -> bool:
        """Whether an op makes a part of the places or of the updates, or reads none of these and no array."""
        first = op.inputs[0] if op.inputs else None
        if first in self.arrays and op.kind == "Reshape":
            self.arrays.update(op.outputs)
            return True
        if first in self.places and op.kind in SAME_PLACES:
            self.places.update(op.outputs)
            return True
        if first in self.updates and op.kind in PIECES:
            self.updates.update(op.outputs)
            return True
        if self.numbers(op):
            self.places.update(op.outputs)
            return True
        return not any(v in known for v in op.inputs for known in (self.arrays, self.places, self.updates))

    def numbers(self, op: Op) -> bool:
        """Whether an op is a part of numbering places in the order of elements: first * size + second."""
        if op.kind == "Add":
            return all(v in self.places for v in op.inputs)
        lengths = [size for v in self.arrays if v is not None for size in v.type.shape or ()]
        factor = op.inputs[1] if op.kind == "Mul" and op.inputs[0] in self.places else None
        number = factor.number if isinstance(factor, Const) else None
        found = [number.item()] if number is not None else [] if factor is None else factor.sizes or ()
        return len(found) == 1 and any(dims.same(found[0], size) for size in lengths)

"""Recognize the gradients of convolutions and pools, which a rule writes with several operators.

```
order = tile(numbers); first = max_pool((x == repeated(y)) * order); ...     ->   d_x = max_pool_grad(d_y, x, kernel=2)
rows = x as [1, N, H, W * C]; d_w = conv(rows, transpose(d, (1, 0, 2, 3)))   ->   d_w = conv_kernel_grad(d, x, kernel=3)
```

It is claimed where each operator and each attribute is compared.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from primsplit.audit.mathematics.shortcuts import Idiom, computed_by, only_for, read_by_statement
from primsplit.audit.mathematics.sizes import Shape, Sizes
from primsplit.audit.statements import Assignment, Statement
from primsplit.audit.trees import call, literal, name
from primsplit.ir import Const, Op, Value, Var, dims
from primsplit.ops.traits import kinds_where

RESHAPES = kinds_where(lambda t: t.keeps == "order") | {"Identity"}
REPEATED = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
"""The attributes of a Resize that repeats each element."""
SPATIAL = 2
"""The first axis of the places of a picture."""


def with_window_grads(statements: Sequence[Statement], sizes: Sizes) -> list[Statement]:
    """Return statements with a gradient by its name in the place of those that compute it."""
    made = {v: s.op for s in statements for v in s.op.outputs}
    if not any(op.kind in {"Resize", "Conv", "If"} for op in made.values()):
        return [*statements]
    search = _Search(made, sizes)
    readers = Counter(v for s in statements for v in read_by_statement(s))
    by_op = {s.op: s for s in statements}
    found: dict[Op, Idiom] = {}
    hidden: set[Op] = set()
    for statement in statements:
        grad = search.grad(statement.op) if isinstance(statement, Assignment) else None
        if grad is None or any(v not in sizes.names for v in grad.given):
            continue
        left = readers - Counter(read_by_statement(statement))
        ops: dict[Op, None] = {}
        for value in statement.op.inputs:
            only_for(value, made, left, by_op, ops, grad.ends, grad.branches)
        hidden.update(ops)
        every = [o for op in ops for o in by_op[op].every_op()]
        found[statement.op] = _written(statement, grad, every, sizes)
    return [found.get(s.op, s) for s in statements if s.op not in hidden]


@dataclass(frozen=True, slots=True)
class _Grad:
    """A gradient: the function, the cotangent and the array that it is given, and lists of integers by name.

    `branches` are choices by sizes that it stands for too, `known` is a value of the forward pass that it reads.
    """

    function: str
    given: tuple[Var, Var]
    told: Mapping[str, Sequence[int]]
    branches: tuple[Op, ...] = ()
    known: Var | None = None

    @property
    def ends(self) -> set[Value]:
        """The values from which it is computed."""
        return {v for v in (*self.given, self.known) if v is not None}


def _written(statement: Statement, grad: _Grad, hidden: Sequence[Op], sizes: Sizes) -> Idiom:
    """Return the statement of a gradient."""
    told = {key: literal([*map(int, numbers)]) for key, numbers in grad.told.items()}
    value = call(grad.function, *(name(sizes.names[v]) for v in grad.given), **told)
    return computed_by(statement, grad.function, grad.given, (*hidden, *statement.ops), value)


@dataclass
class _Search:
    """Finds gradients among ops, which `made` has by their results."""

    made: Mapping[Var, Op]
    sizes: Sizes
    seen: set[Var] = field(default_factory=set)

    def grad(self, op: Op) -> _Grad | None:
        """Return the gradient that an op gives, if it does."""
        if op.kind == "Transpose":
            return self.kernel_grad(op)
        return self.pool_grad(op) if op.kind in RESHAPES | {"Mul"} else None

    def op(self, value: Value | None, *kinds: str) -> Op | None:
        """Return the op of one of these kinds that computes a value, perhaps in another shape."""
        found = self.chain(value)[-1]
        op = self.made.get(found) if isinstance(found, Var) else None
        return op if op is not None and op.kind in kinds else None

    def chain(self, value: Value | None) -> list[Value | None]:
        """Return a value, and those that it is with other shapes."""
        found = [value]
        while isinstance(value, Var) and (op := self.made.get(value)) is not None and op.kind in RESHAPES:
            value = op.inputs[0]
            found.append(value)
        return found

    def of_shape(self, value: Value | None, shape: Shape) -> Var | None:
        """Return a value in the shape that it had."""
        every = (v for v in self.chain(value) if isinstance(v, Var))
        return next((v for v in every if dims.same_shape(self.sizes.shape(v) or (), shape)), None)

    def pool_grad(self, op: Op) -> _Grad | None:
        """Return the gradient of a maximum of windows side by side: `(order == repeated(first)) * repeated(d_y)`."""
        shape, product = self.sizes.shape(op.outputs[0]), self.op(op.outputs[0], "Mul")
        if shape is None or product is None:
            return None
        for chosen, spread in (product.inputs, reversed(product.inputs)):
            given = self.repeated(spread)
            tests = self.tested(chosen)
            if given is None or tests is None:
                continue
            for order, first in (tests, reversed(tests)):
                found = self.pool_of(order, first, given, shape)
                if found is not None and found.given[1] not in op.outputs and self.is_new(product.outputs[0]):
                    return found
        return None

    def is_new(self, value: Var) -> bool:
        """Whether a value was not found before, in another shape."""
        is_new = value not in self.seen
        self.seen.add(value)
        return is_new

    def pool_of(self, order: Value | None, first: Value | None, given: Value | None, shape: Shape) -> _Grad | None:
        """Return the gradient where `order` numbers the elements of windows, and `first` has those of maxima."""
        numbered, tile = self.repeated(first), self.op(order, "Tile")
        pool = self.op(numbered, "MaxPool")
        product = None if pool is None else self.op(pool.inputs[0], "Mul")
        if tile is None or pool is None or product is None:
            return None
        factors = [self.chain(v)[-1] for v in product.inputs]
        masks = [v for v in factors if v is not tile.outputs[0]]
        tests = self.tested(masks[0]) if len(masks) == 1 else None
        kernel = [*pool.attributes["kernel_shape"]]
        if tests is None or not self.numbers_down(tile, kernel) or [*pool.attributes.get("strides", [])] != kernel:
            return None
        for x, top in (tests, reversed(tests)):
            picture, forward = self.of_shape(x, shape), self.op(self.repeated(top), "MaxPool")
            if picture is None or forward is None or self.of_shape(forward.inputs[0], shape) is not picture:
                continue
            pooled = self.sizes.shape(forward.outputs[0])
            cotangent = None if pooled is None else self.of_shape(given, pooled)
            if cotangent is not None and _is_side_by_side(forward, kernel):
                told = {"kernel": kernel, "strides": kernel}
                return _Grad("max_pool_grad", (cotangent, picture), told, known=forward.outputs[0])
        return None

    def tested(self, value: Value | None) -> tuple[Value | None, ...] | None:
        """Return the operands of `(a == b).astype(float32)`."""
        cast = self.op(value, "Cast")
        equal = None if cast is None else self.op(cast.inputs[0], "Equal")
        return None if equal is None else equal.inputs

    def repeated(self, value: Value | None) -> Value | None:
        """Return the array of which each element is repeated."""
        op = self.op(value, "Resize")
        is_plain = op is not None and all(op.attributes.get(key) == want for key, want in REPEATED.items())
        return op.inputs[0] if op is not None and is_plain else None

    def numbers_down(self, tile: Op, kernel: Sequence[int]) -> bool:
        """Whether the elements of a window are numbered downwards."""
        found = None if tile.inputs[0] is None else self.sizes.constants.get(tile.inputs[0], tile.inputs[0])
        numbers = np.arange(np.prod(kernel), 0, -1).reshape(1, 1, *kernel)
        return isinstance(found, Const) and np.array_equal(found.numpy(), numbers)

    def kernel_grad(self, op: Op) -> _Grad | None:
        """Return the gradient of a convolution by its kernel: a convolution with batch and channels exchanged."""
        shape, perm = self.sizes.shape(op.outputs[0]), [*op.attributes.get("perm", ())]
        rank = len(perm) - SPATIAL
        if shape is None or rank < 1 or perm != [0, rank + 1, *range(1, rank + 1)]:
            return None
        conv, branches = self.convolution(op.inputs[0])
        if conv is None or conv.attributes.get("group", 1) != 1 or len(conv.inputs) > SPATIAL:
            return None
        cotangent = self.exchanged(conv.inputs[1], rank)
        picture = self.picture(conv.inputs[0], shape[1], rank)
        channels = shape[1]
        if cotangent is None or picture is None or not isinstance(channels, int):
            return None
        pads = [*conv.attributes.get("pads", [0] * (2 * rank))]
        strides = [*conv.attributes.get("dilations", [1] * rank)]
        dilations = [*conv.attributes.get("strides", [1] * rank)]
        if any(n % channels for n in (pads[rank - 1], pads[-1], strides[-1])):
            return None
        for numbers, at in ((pads, rank - 1), (pads, 2 * rank - 1), (strides, rank - 1)):
            numbers[at] //= channels
        kernel = [k for k in shape[SPATIAL:] if isinstance(k, int)]
        if len(kernel) < rank:
            return None
        told = {"kernel": kernel, "strides": strides, "dilations": dilations, "pads": pads}
        return _Grad("conv_kernel_grad", (cotangent, picture), told, branches)

    def convolution(self, value: Value | None) -> tuple[Op | None, tuple[Op, ...]]:
        """Return the convolution whose first results a value is, and the choice by size around it."""
        found = self.op(value, "Conv", "If", "Slice")
        while found is not None and found.kind == "Slice":
            starts = None if found.inputs[1] is None else self.sizes.constants.get(found.inputs[1], found.inputs[1])
            if not isinstance(starts, Const) or np.any(starts.numpy()) or len(found.inputs) > SPATIAL + 2:
                return None, ()
            found = self.op(found.inputs[0], "Conv", "If", "Slice")
        if found is None or found.kind == "Conv":
            return found, ()
        then, otherwise = (found.attributes[key] for key in ("then_branch", "else_branch"))
        (result,) = otherwise.results if len(otherwise.results) == 1 else (None,)
        inner = otherwise.ops[0] if len(otherwise.ops) == 1 else None
        is_choice = inner is not None and inner.kind == "Conv" and result is inner.outputs[0]
        is_empty = found.inputs[0] in self.sizes.empty and is_zeros(then.results, then.ops)
        return (inner, (found,)) if is_choice and is_empty else (None, ())

    def exchanged(self, value: Value | None, rank: int) -> Var | None:
        """Return the array whose first two axes are exchanged."""
        op = self.made.get(value) if isinstance(value, Var) else None
        perm = [1, 0, *range(SPATIAL, SPATIAL + rank)]
        is_exchange = op is not None and op.kind == "Transpose" and [*op.attributes.get("perm", ())] == perm
        found = op.inputs[0] if op is not None and is_exchange else None
        return found if isinstance(found, Var) else None

    def picture(self, value: Value | None, channels: dims.Dim, rank: int) -> Var | None:
        """Return the pictures [N, C, H, W] that a value has as [1, N, H, W * C]."""
        turned = self.op(value, "Transpose")
        if turned is None or [*turned.attributes.get("perm", ())] != [0, 2, 1] or not isinstance(value, Var):
            return None
        flat = None if turned.inputs[0] is None else self.sizes.shape(turned.inputs[0])
        rows = self.sizes.shape(value)
        every = [v for v in self.chain(turned.inputs[0]) if isinstance(v, Var)]
        found = next((v for v in every if len(self.sizes.shape(v) or ()) == rank + SPATIAL), None)
        shape = None if found is None else self.sizes.shape(found)
        if flat is None or rows is None or shape is None:
            return None
        batch, *sides = shape[0], *shape[SPATIAL:]
        is_flat = dims.same_shape(flat, (batch, channels, dims.product(sides)))
        wanted = (1, batch, *sides[:-1], dims.product((sides[-1], channels)))
        return found if is_flat and dims.same(shape[1], channels) and dims.same_shape(rows, wanted) else None


def _is_side_by_side(pool: Op, kernel: Sequence[int]) -> bool:
    """Whether the windows of a pool are side by side and cover the picture."""
    given = pool.attributes
    is_plain = not any(given.get("pads", ())) and set(given.get("dilations", [1])) == {1}
    return is_plain and [*given["kernel_shape"]] == [*given.get("strides", ())] == [*kernel]


def is_zeros(results: Sequence[Value], ops: Sequence[Op]) -> bool:
    """Whether a body gives an array of zeros."""
    made = {v: op for op in ops for v in op.outputs}
    found = results[0] if len(results) == 1 else None
    while isinstance(found, Var) and (op := made.get(found)) is not None and op.kind in RESHAPES:
        found = op.inputs[0]
    if isinstance(found, Const):
        return found.number is not None and found.number.item() == 0
    op = made.get(found) if isinstance(found, Var) else None
    filled = None if op is None else op.attributes.get("value", np.zeros(1))
    return op is not None and op.kind == "ConstantOfShape" and not np.any(filled)

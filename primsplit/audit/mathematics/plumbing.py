"""Fold what only moves shapes, and recognize sums and means that are written with it."""

import ast
from collections.abc import Sequence

import numpy as np

from primsplit.audit.mathematics.axes import transposed
from primsplit.audit.mathematics.constants import diagonal_at
from primsplit.audit.mathematics.folded import Folded, materialized, whole
from primsplit.audit.mathematics.simplify import number_tree
from primsplit.audit.mathematics.sizes import Shape, Sizes
from primsplit.audit.mathematics.terms import is_number
from primsplit.audit.trees import call, literal, name, tree
from primsplit.ir import Const, Op, Value, dims
from primsplit.ir.dims import Dim
from primsplit.ops.traits import kinds_where

RESHAPES = kinds_where(lambda t: t.keeps == "order")
REDUCTIONS = frozenset({"sum", "mean", "max", "min", "prod"})


def folded(op: Op, inputs: Sequence[Folded | None], sizes: Sizes) -> Folded | None:
    """Return the value of an op that only moves shapes; None for another one, or where shapes are not known."""
    result = sizes.shape(op.outputs[0])
    first = inputs[0] if inputs else None
    if result is None or first is None:
        return None
    if op.kind not in RESHAPES:
        first = whole(first, sizes) or first
    if op.kind == "Identity":
        return first
    if op.kind == "ConstantOfShape":
        value = np.asarray(op.attributes.get("value", np.zeros(1, np.float32))).reshape(-1)[0]
        return Folded(number_tree(value.item(), value.dtype.type), ()) if value.dtype.kind in "iuf" else None
    if op.kind == "Expand":
        return None if first.shape is None else Folded(first.value, first.shape)
    if op.kind in RESHAPES and first.shape is not None:
        return _reshaped(op, first, result, sizes)
    if op.kind == "Max" and len(inputs) == 2 and inputs[1] is not None and inputs[1].size == 0:
        return first if first.size is not None and dims.at_least(first.size, 0) else None
    if op.kind == "Cast" and first.shape is not None:
        return _cast(op, first, sizes)
    return None


def _cast(op: Op, first: Folded, sizes: Sizes) -> Folded | None:
    source = None if op.inputs[0] is None else sizes.type(op.inputs[0])
    if first.size is not None or (source is not None and isinstance(first.value, ast.Constant)):
        return Folded(first.value, (), size=first.size)
    return None


def _reshaped(op: Op, first: Folded, result: Shape, sizes: Sizes) -> Folded | None:
    """Return a value whose axes of size 1 are others."""
    assert first.shape is not None
    assert op.inputs[0] is not None
    own = sizes.shape(op.inputs[0]) if first.view is None else first.shape
    if own is None:
        return None
    if first.size is not None:
        return first
    if not first.shape:
        return Folded(first.value, ()) if not dims.same_shape(own, ()) or all(map(dims.is_one, result)) else None
    earlier = first.before
    if earlier is not None and earlier.shape is not None and _same_but_ones(earlier.shape, result):
        return _moved(earlier, earlier.shape, result)
    if not dims.same_shape(first.shape, own):
        first = Folded(materialized(first, own, sizes), own)
    if dims.same_shape(own, result):
        return Folded(first.value, own)
    if _same_but_ones(own, result):
        return _moved(Folded(first.value, own), own, result)
    is_named = all(sizes.tree(size) is not None for size in (*own, *result))
    is_same = dims.same(dims.product(own), dims.product(result))
    return Folded(first.value, own, view=result) if is_named and is_same else None


def _moved(first: Folded, own: Shape, result: Shape) -> Folded:
    """Return a value of the shape `own` with axes of size 1 added or dropped."""
    if len(result) >= len(own) and dims.same_shape(result[len(result) - len(own) :], own):
        return Folded(first.value, own, before=first)
    found = _vector_product(first.value, own, result) or _reduction(first.value, own, result)
    return Folded(found or _indexed(first.value, own, result), result, before=first)


def _vector_product(value: ast.expr, own: Shape, result: Shape) -> ast.expr | None:
    """Return `a @ v` for `(a @ v[:, None])[:, 0]`, and `v @ a` for `(v[None] @ a)[0]`."""
    if len(own) != 2 or len(result) != 1 or not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.MatMult):
        return None
    if dims.is_one(own[1]) and not dims.is_one(own[0]) and _vector(value.right, ":, None") is not None:
        return tree("a @ b", a=value.left, b=_vector(value.right, ":, None") or value.right)
    if dims.is_one(own[0]) and not dims.is_one(own[1]) and _vector(value.left, "None") is not None:
        return tree("a @ b", a=_vector(value.left, "None") or value.left, b=value.right)
    return None


def _vector(value: ast.expr, index: str) -> ast.expr | None:
    """Return `v` of `v[index]`."""
    if isinstance(value, ast.Subscript) and ast.unparse(value.slice).strip("()") == index:
        return value.value
    return None


def _same_but_ones(a: Shape, b: Shape) -> bool:
    one, other = ([d for d in shape if not dims.is_one(d)] for shape in (a, b))
    return dims.same_shape(tuple(one), tuple(other))


def _reduction(value: ast.expr, own: Shape, result: Shape) -> ast.expr | None:
    """Return a reduction that keeps its axes, or keeps them no more."""
    if isinstance(value, ast.UnaryOp):
        inner = _reduction(value.operand, own, result)
        return None if inner is None else ast.UnaryOp(value.op, inner)
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name) or value.func.id not in REDUCTIONS:
        return None
    axis = next((k.value for k in value.keywords if k.arg == "axis"), None)
    keeps = any(k.arg == "keepdims" for k in value.keywords)
    if not isinstance(axis, ast.Constant) or not isinstance(axis.value, int):
        return None
    keywords = [k for k in value.keywords if k.arg != "keepdims"]
    at = axis.value
    if keeps and len(own) == len(result) + 1 and dims.same_shape((*own[:at], *own[at + 1 :]), result):
        return ast.Call(value.func, value.args, keywords)
    is_more = not keeps and len(result) == len(own) + 1 and dims.is_one(result[at])
    if is_more and dims.same_shape((*result[:at], *result[at + 1 :]), own):
        return ast.Call(value.func, value.args, [*keywords, ast.keyword("keepdims", literal(value=True))])
    return None


def _indexed(value: ast.expr, own: Shape, result: Shape) -> ast.expr:
    """Return `x[:, None]`, `x[0]`: axes of size 1 added and dropped by an index."""
    items: list[ast.expr] = []
    i = 0
    for size in result:
        if i < len(own) and dims.same(own[i], size):
            items.append(ast.Slice())
            i += 1
        elif dims.is_one(size):
            items.append(literal(None))
        else:
            while i < len(own) and dims.is_one(own[i]) and not dims.same(own[i], size):
                items.append(literal(0))
                i += 1
            items.append(ast.Slice())
            i += 1
    items += [literal(0)] * (len(own) - i)
    while items and isinstance(items[-1], ast.Slice):
        items.pop()
    if not items:
        return value
    index = items[0] if len(items) == 1 else ast.Tuple(items, ast.Load())
    return _at(value, index)


def _at(value: ast.expr, index: ast.expr) -> ast.expr:
    """Return `x[:, None] / 2` for `(x / 2)[:, None]`."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult | ast.Div):
        if isinstance(value.right, ast.Constant):
            return ast.BinOp(_at(value.left, index), value.op, value.right)
        if isinstance(value.left, ast.Constant):
            return ast.BinOp(value.left, value.op, _at(value.right, index))
    return ast.Subscript(value, index, ast.Load())


def idiom(op: Op, inputs: Sequence[Folded | None], sizes: Sizes) -> ast.expr | None:
    """Return the expression of an op that is a sum, a mean or a diagonal by what it reads."""
    found = _mean(op, inputs, sizes) or _rows_added(op, inputs, sizes)
    return found or _product_turned(op, inputs) or _diagonal(op, inputs, sizes)


def _diagonal(op: Op, inputs: Sequence[Folded | None], sizes: Sizes) -> ast.expr | None:
    """Return `diag(v)` for a scatter to a diagonal of zeros, and `diagonal(a)` for what is gathered from one."""
    if op.kind not in {"ScatterND", "GatherND"} or op.inputs[0] is None or op.inputs[1] is None:
        return None
    shape, places = sizes.shape(op.inputs[0]), sizes.constants.get(op.inputs[1], op.inputs[1])
    at = None if shape is None or not isinstance(places, Const) else diagonal_at(places.numpy(), shape)
    if shape is None or at is None or op.attributes.get("batch_dims", 0):
        return None
    told = [literal(at)] if at else []
    if op.kind == "GatherND":
        return None if inputs[0] is None else call("diagonal", materialized(inputs[0], shape, sizes), *told)
    is_set = op.attributes.get("reduction", "none") in {"none", "add"} and dims.same(*shape)
    zeros, values = inputs[0], inputs[2]
    if not is_set or zeros is None or not is_number(zeros.value, 0) or values is None or op.inputs[2] is None:
        return None
    return call("diag", materialized(values, sizes.shape(op.inputs[2]), sizes), *told)


def contraction(op: Op, inputs: Sequence[Folded | None]) -> ast.expr | None:
    """Return `tensordot(a, b, ...)` for the product of two matrices that are arrays with their axes in a row."""
    if op.kind != "Gemm" or len(inputs) < 2 or dict(op.attributes) != {"transB": 1}:
        return None
    left, right = (None if f is None else _first_axis(f) for f in inputs[:2])
    if left is None or right is None or len(inputs) > 2 or not dims.same_shape(left[2], right[2]):
        return None
    return call("tensordot", left[0], right[0], literal((left[1], right[1])))


def _first_axis(found: Folded) -> tuple[ast.expr, tuple[int, ...], Shape] | None:
    """Return the array, the other axes and their sizes of a matrix whose rows are along one axis of an array."""
    if found.view is None or found.shape is None or len(found.view) != 2 or len(found.shape) < 3:
        return None
    if not dims.same(found.view[0], found.shape[0]):
        return None
    value, order = transposed(found.value) or (found.value, tuple(range(len(found.shape))))
    return value, order[1:], found.shape[1:]


def _product_turned(op: Op, inputs: Sequence[Folded | None]) -> ast.expr | None:
    """Return `b.T @ a` for `(a.T @ b).T`, of matrices."""
    if op.kind != "Transpose" or len(op.attributes.get("perm", ())) != 2 or inputs[0] is None:
        return None
    found = inputs[0].value
    if not isinstance(found, ast.BinOp) or not isinstance(found.op, ast.MatMult):
        return None
    return ast.BinOp(_turned(found.right), ast.MatMult(), _turned(found.left))


def _turned(value: ast.expr) -> ast.expr:
    return value.value if isinstance(value, ast.Attribute) and value.attr == "T" else tree("a.T", a=value)


def _mean(op: Op, inputs: Sequence[Folded | None], sizes: Sizes) -> ast.expr | None:
    """Return `mean(x)` for `sum(x) / N` or `1 / N * sum(x)`, and `-mean(x)` for `sum(x) / -N`, of N numbers each."""
    if op.kind not in {"Div", "Mul"} or len(inputs) != 2:
        return None
    for value, factor, summed in zip(op.inputs[::-1], inputs[::-1], inputs, strict=True):
        count = _divisor(op.kind, value, factor, sizes)
        added = None if summed is None else summed.added
        if summed is not None and added is not None and count is not None and not dims.is_one(added):
            is_whole, is_negated = dims.same(added, count), dims.same(added, -count)
            found = _mean_of(summed.value, is_negated) if is_whole or is_negated else None
            if found is not None:
                return found
        if op.kind == "Div":
            break
    return None


def _divisor(kind: str, value: Value | None, factor: Folded | None, sizes: Sizes) -> Dim | None:
    """Return the size by which an operand of a quotient or a product divides exactly; None where it is none."""
    if factor is None or value is None:
        return None
    held = sizes.constants.get(value, value)
    known = held.number if isinstance(held, Const) and held.type.is_float else None
    number = 0.0 if known is None else float(known)
    if kind == "Div":
        return int(number) if number and number.is_integer() else factor.size
    divisor = 1 / number if number else 0.0
    return int(divisor) if divisor and divisor.is_integer() and 1 / divisor == number else None


def _mean_of(summed: ast.expr, is_negated: bool) -> ast.expr | None:
    """Return the mean in the place of a sum, or of a sum with a sign."""
    has_sign = isinstance(summed, ast.UnaryOp) and isinstance(summed.op, ast.USub)
    found = summed.operand if isinstance(summed, ast.UnaryOp) else summed
    if not isinstance(found, ast.Call) or ast.unparse(found.func) != "sum":
        return None
    mean = ast.Call(name("mean"), found.args, found.keywords)
    return ast.UnaryOp(ast.USub(), mean) if has_sign != is_negated else mean


def _rows_added(op: Op, inputs: Sequence[Folded | None], sizes: Sizes) -> ast.expr | None:
    """Return `sum(rows, axis=0)` for the product of ones and rows."""
    if op.kind not in {"Gemm", "MatMul"} or len(inputs) < 2 or inputs[0] is None or inputs[1] is None:
        return None
    if (len(inputs) > 2 and inputs[2] is not None) or op.attributes.get("transB", 0):
        return None
    if op.attributes.get("alpha", 1.0) != 1.0 or inputs[0].shape != () or ast.unparse(inputs[0].value) != "1":
        return None
    rows = op.inputs[1]
    shape = None if rows is None else sizes.shape(rows)
    result = sizes.shape(op.outputs[0])
    if shape is None or len(shape) != 2 or result is None or not dims.is_one(result[0]):
        return None
    return call("sum", materialized(inputs[1], shape, sizes), axis=literal(0), keepdims=literal(value=True))

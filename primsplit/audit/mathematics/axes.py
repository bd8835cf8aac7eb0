"""Leave out transposes that cancel, and what a convolution does unless it is told.

```
sum(transpose(a, (1, 2, 0)) * transpose(b, (1, 2, 0)), axis=2)      ->   sum(a * b, axis=0)
conv(x, w, strides=[2, 2], dilations=[1, 1], pads=[0, 0, 0, 0])     ->   conv(x, w, strides=2)
```
"""

import ast

from primsplit.audit.mathematics.terms import is_known
from primsplit.audit.trees import call, literal

NEUTRAL = {"strides": 1, "dilations": 1, "pads": 0, "extra": 0}
"""The default numbers of the arguments of convolutions and pools."""
WINDOWS = frozenset(
    {"conv", "conv_transpose", "conv_kernel_grad", "max_pool", "max_pool_and_places", "max_pool_grad"}
    | {"average_pool", "lp_pool"}
)
REDUCTIONS = frozenset({"sum", "mean", "max", "min", "prod"})
Order = tuple[int, ...]


def transposed(node: ast.expr) -> tuple[ast.expr, Order] | None:
    """Return `x` and `(1, 2, 0)` of `transpose(x, (1, 2, 0))`."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func) != "transpose" or len(node.args) != 2:
        return None
    try:
        order = ast.literal_eval(node.args[1])
    except ValueError:
        return None
    return (node.args[0], order) if isinstance(order, tuple) else None


def is_swap(order: Order) -> bool:
    """Whether an order of three axes or more exchanges the last two alone."""
    rank = len(order)
    return rank > 2 and order == (*range(rank - 2), rank - 1, rank - 2)


def _is_turned(order: Order) -> bool:
    """Whether an order moves the last axis to the place before it, where a transpose of matrices moves it back."""
    return order[-2] == len(order) - 1


def without_turns(node: ast.expr) -> ast.expr:
    """Return `b.mT @ a` for `(a.mT @ b).mT`, and `transpose(x, (1, 2, 0))` for `transpose(x, (1, 0, 2)).mT`."""
    outer = transposed(node)
    if outer is None:
        return node
    value, order = outer
    if (inner := transposed(value)) is not None and len(inner[1]) == len(order):
        joined = tuple(inner[1][axis] for axis in order)
        is_same = joined == tuple(range(len(order)))
        return inner[0] if is_same else call("transpose", inner[0], literal(joined))
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult | ast.Div):
        if isinstance(value.left, ast.Constant):
            return ast.BinOp(value.left, value.op, without_turns(call("transpose", value.right, literal(order))))
        if isinstance(value.op, ast.Div) and is_known(value.right):
            return ast.BinOp(without_turns(call("transpose", value.left, literal(order))), value.op, value.right)
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.MatMult) or len(order) <= 2:
        return node
    swap = (*range(len(order) - 2), len(order) - 1, len(order) - 2)
    rest = tuple(swap.index(axis) for axis in order)
    sides = [transposed(side) for side in (value.left, value.right)]
    if not any(side is not None and _is_turned(side[1]) for side in sides) or rest[-1] != len(order) - 1:
        return node
    left, right = (without_turns(call("transpose", side, literal(swap))) for side in (value.left, value.right))
    product = ast.BinOp(right, ast.MatMult(), left)
    return product if is_swap(order) else call("transpose", product, literal(rest))


def product_of_transposed(node: ast.BinOp) -> ast.expr:
    """Return `transpose(a * b, order)` for two transposes in one order."""
    left, right = transposed(node.left), transposed(node.right)
    if left is None or right is None or left[1] != right[1] or isinstance(node.op, ast.MatMult):
        return node
    return call("transpose", ast.BinOp(left[0], node.op, right[0]), literal(left[1]))


def reduced(node: ast.Call) -> ast.Call:
    """Return `sum(x, axis=0)` for `sum(transpose(x, (1, 2, 0)), axis=2)`."""
    if not isinstance(node.func, ast.Name) or node.func.id not in REDUCTIONS or len(node.args) != 1:
        return node
    found, given = transposed(node.args[0]), {k.arg: k.value for k in node.keywords}
    axis = given["axis"].value if [*given] == ["axis"] and isinstance(given["axis"], ast.Constant) else None
    if found is None or not isinstance(axis, int):
        return node
    value, order = found
    kept = [place for i, place in enumerate(order) if i != axis % len(order)]
    if kept != sorted(kept):
        return node
    return ast.Call(node.func, [value], [ast.keyword("axis", literal(order[axis]))])


def convolved(node: ast.Call) -> ast.Call:
    """Return the call of a convolution or a pool without what is so anyway, one number for equal ones."""
    if not isinstance(node.func, ast.Name) or node.func.id not in WINDOWS:
        return node
    kept = []
    for keyword in node.keywords:
        numbers = ast.literal_eval(keyword.value) if isinstance(keyword.value, ast.List) else None
        if keyword.arg not in {*NEUTRAL, "kernel"} or not numbers or len({*numbers}) > 1:
            kept.append(keyword)
        elif numbers[0] != NEUTRAL.get(keyword.arg):
            kept.append(ast.keyword(keyword.arg, literal(numbers[0])))
    return ast.Call(node.func, node.args, kept)

"""Write sums and products as people do: `x**2` for `x * x`, `b - a` for `-a + b`, `a + 2 * b` for `a + b + b`."""

import ast
import math
from fractions import Fraction

from primsplit.audit.trees import literal


def added(node: ast.BinOp) -> ast.expr:
    """Return a sum: terms with a minus behind the others, equal ones as a multiple."""
    left, right = node.left, node.right
    if is_number(left, 0):
        return right
    if _has_sign(right):
        return subtracted(ast.BinOp(left, ast.Sub(), _without_sign(right)))
    if _has_sign(left):
        return subtracted(ast.BinOp(right, ast.Sub(), _without_sign(left)))
    if isinstance(right, ast.BinOp) and isinstance(right.op, ast.Add):
        return ast.BinOp(ast.BinOp(left, ast.Add(), right.left), ast.Add(), right.right)
    if ast.dump(left) == ast.dump(right):
        return product(ast.BinOp(literal(2), ast.Mult(), left))
    return _doubled(node)


def subtracted(node: ast.BinOp) -> ast.expr:
    """Return a difference: without a minus before its second term, equal ones as a multiple."""
    left, right = node.left, node.right
    if is_number(left, 0):
        return opposite(right)
    if _has_sign(right):
        return added(ast.BinOp(left, ast.Add(), _without_sign(right)))
    if _has_sign(left) and ast.dump(_without_sign(left)) == ast.dump(right):
        return opposite(product(ast.BinOp(literal(2), ast.Mult(), right)))
    return _doubled(node)


def _doubled(node: ast.BinOp) -> ast.expr:
    """Return `a + 2 * b` for `a + b + b`, `a - 2 * b` for `a - b - b`."""
    left, right = node.left, node.right
    if not isinstance(left, ast.BinOp) or type(left.op) is not type(node.op) or isinstance(right, ast.Constant):
        return node
    is_same = ast.dump(left.right) == ast.dump(right)
    return ast.BinOp(left.left, left.op, ast.BinOp(literal(2), ast.Mult(), right)) if is_same else node


def product(node: ast.BinOp) -> ast.expr:
    """Return a product: numbers first, equal factors as a power, -1 as a sign."""
    if isinstance(node.right, ast.UnaryOp) and isinstance(node.right.op, ast.USub) and not is_quotient(node.right):
        return opposite(product(ast.BinOp(node.left, node.op, node.right.operand)))
    if is_number(node.left, 1):
        return node.right
    if is_number(node.left, -1):
        return ast.UnaryOp(ast.USub(), node.right)
    if is_number(node.right, -1):
        return ast.UnaryOp(ast.USub(), node.left)
    (left, p), (right, q) = _power(node.left), _power(node.right)
    if ast.dump(left) == ast.dump(right) and not isinstance(left, ast.Constant):
        return ast.BinOp(left, ast.Pow(), literal(p + q))
    if (parts := _over(node.right)) is not None:
        return ast.BinOp(product(ast.BinOp(node.left, ast.Mult(), parts[0])), ast.Div(), parts[1])
    if (divisor := _divisor(node.left)) is not None and not is_quotient(node.right):
        return ast.BinOp(node.right, ast.Div(), divisor)
    if is_quotient(node.right) and not all(map(is_quotient, _factors(node.left))):
        return product(ast.BinOp(node.right, ast.Mult(), node.left))
    if isinstance(node.right, ast.BinOp) and isinstance(node.right.op, ast.Mult):
        return product(
            ast.BinOp(product(ast.BinOp(node.left, ast.Mult(), node.right.left)), ast.Mult(), node.right.right)
        )
    return _exact_product(node) or _raised(node) or node


def _exact_product(node: ast.BinOp) -> ast.expr | None:
    """Return the product of two numbers, if it is exact and as short: `6` for `2 * 3`; None for other factors."""
    pair = [_signed(part) for part in (node.left, node.right)]
    if pair[0] is None or pair[1] is None:
        return None
    a, b = pair[0], pair[1]
    found = a * b
    is_exact = Fraction(a) * Fraction(b) == Fraction(found) if math.isfinite(found) else False
    return literal(found) if is_exact and len(repr(found)) <= len(repr(a)) + len(repr(b)) else None


def _signed(node: ast.expr) -> float | None:
    """Return the number that an expression is, perhaps with a sign; None for another expression."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _signed(node.operand)
        return None if inner is None else -inner
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) else None


def _raised(node: ast.BinOp) -> ast.expr | None:
    """Return `a * x**2 * b` for `a * x * b * x`; None where no factor occurs twice."""
    right, exponent = _power(node.right)
    factors = _factors(node.left)
    bases = [_power(factor) for factor in factors]
    at = next((i for i, (base, _) in enumerate(bases) if ast.dump(base) == ast.dump(right)), None)
    if at is None or isinstance(right, ast.Constant):
        return None
    factors[at] = ast.BinOp(right, ast.Pow(), literal(bases[at][1] + exponent))
    found = factors[0]
    for factor in factors[1:]:
        found = ast.BinOp(found, ast.Mult(), factor)
    return found


def _factors(node: ast.expr) -> list[ast.expr]:
    """Return the factors of a product, the first one first."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*_factors(node.left), node.right]
    return [node]


def scaled_product(node: ast.BinOp) -> ast.expr:
    """Return `a.T @ b / 8` for `(a / 8).T @ b`."""
    left = node.left.value if isinstance(node.left, ast.Attribute) and node.left.attr == "T" else node.left
    if not isinstance(left, ast.BinOp) or not isinstance(left.op, ast.Div) or not is_known(left.right):
        return node
    array = left.left if left is node.left else ast.Attribute(left.left, "T", ast.Load())
    return ast.BinOp(ast.BinOp(array, ast.MatMult(), node.right), ast.Div(), left.right)


def is_known(node: ast.expr) -> bool:
    """Whether an expression is a number, or the root of one."""
    is_root = isinstance(node, ast.Call) and ast.unparse(node.func) == "sqrt"
    return is_quotient(node.args[0]) if isinstance(node, ast.Call) and is_root else is_quotient(node)


def power(node: ast.BinOp) -> ast.expr:
    """Return `x**6` for `(x**3)**2`, `x` for `x**1`."""
    if is_number(node.right, 1):
        return node.left
    base, exponent = _power(node.left)
    outer = node.right.value if isinstance(node.right, ast.Constant) else None
    if exponent > 1 and isinstance(outer, int) and outer > 0:
        return ast.BinOp(base, ast.Pow(), literal(exponent * outer))
    return node


def _over(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return `a` and `b` of `a / b`; None for another expression, and for a number."""
    is_division = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and not is_quotient(node)
    return (node.left, node.right) if isinstance(node, ast.BinOp) and is_division else None


def _divisor(node: ast.expr) -> ast.expr | None:
    """Return `b` of `1 / b`; None for another expression, and for a number."""
    is_inverse = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and is_number(node.left, 1)
    return node.right if isinstance(node, ast.BinOp) and is_inverse and not is_quotient(node) else None


def opposite(node: ast.expr) -> ast.expr:
    """Return `-x` for x, x for `-x`, `-2 * x` for `2 * x`, whose sign stands at the number."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return node.operand
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Mult) and is_quotient(_first_factor(node)):
        return ast.BinOp(opposite(node.left), node.op, node.right)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return ast.BinOp(opposite(node.left), node.op, node.right)
    return ast.UnaryOp(ast.USub(), node)


def _first_factor(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Mult):
        node = node.left
    return node


def _has_sign(node: ast.expr) -> bool:
    """Whether a term that is no number alone is written with a minus before it."""
    first = _first_factor(node)
    return isinstance(first, ast.UnaryOp) and isinstance(first.op, ast.USub) and not isinstance(node, ast.Constant)


def _without_sign(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.BinOp):
        return ast.BinOp(_without_sign(node.left), node.op, node.right)
    assert isinstance(node, ast.UnaryOp)
    return node.operand


def is_quotient(node: ast.expr) -> bool:
    """Whether an expression is a number, perhaps written as a quotient of two."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return is_quotient(node.operand)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return is_quotient(node.left) and isinstance(node.right, ast.Constant)
    return isinstance(node, ast.Constant)


def _power(node: ast.expr) -> tuple[ast.expr, int]:
    """Return the base and the exponent, a positive integer, of a factor."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant):
        exponent = node.right.value
        if isinstance(exponent, int) and exponent > 0:
            return node.left, exponent
    return node, 1


def is_number(node: ast.expr, number: int) -> bool:
    """Whether an expression is this number."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return is_number(node.operand, -number)
    return isinstance(node, ast.Constant) and type(node.value) in {int, float} and node.value == number


def has_product(value: ast.expr) -> bool:
    """Whether a value multiplies matrices, which is done once; its transpose may be written more than once."""
    return any(isinstance(part, ast.MatMult) for part in ast.walk(value))

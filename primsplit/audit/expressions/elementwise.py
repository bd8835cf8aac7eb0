"""Elementwise operators: arithmetic, functions of one number, comparisons and logic."""

import ast
from functools import reduce

from primsplit.audit.expressions.nodes import Builder, Node, dtype_tree, each, is_float
from primsplit.audit.trees import call, literal, tree


def divide(node: Node) -> ast.expr:
    """Return a quotient; that of integers is rounded toward 0."""
    return each("a / b" if is_float(node.dtype(0)) or is_float(node.dtype(1)) else "_divide(a, b)")(node)


def power(node: Node) -> ast.expr:
    """Return a power, which has the dtype of its base."""
    numbers = node.constant(1)
    base, exponent = node.dtype(0), node.dtype(1)
    if numbers is not None and numbers.ndim == 0 and is_float(base) and node.dtype(1) is not None:
        value = float(str(numbers[()]))
        return tree("a ** b", a=node.argument(0), b=literal(int(value) if value.is_integer() else value))
    if base is not None and base == exponent and is_float(base):
        return tree("a ** b", a=node.argument(0), b=node.argument(1))
    return call("_power", node.argument(0), node.argument(1))


def remainder(node: Node) -> ast.expr:
    """Return a remainder with the sign of the divisor, or of the dividend."""
    return each("np.fmod(a, b)" if node.attribute("fmod", 0) else "a % b")(node)


def folded(template: str) -> Builder:
    """Return the builder of an operator of any number of inputs, from the template for two."""

    def build(node: Node) -> ast.expr:
        found = [a for a in node.weak if a is not None]
        return reduce(lambda a, b: tree(template, a=a, b=b), found)

    return build


def mean(node: Node) -> ast.expr:
    """Return the mean of the inputs."""
    return tree("a / b", a=folded("a + b")(node), b=literal(len(node.arguments)))


def clip(node: Node) -> ast.expr:
    """Return numbers between a least and a greatest one, each of which may be missing."""
    low, high = (_bound(node, name, i) for i, name in ((1, "min"), (2, "max")))
    a = node.argument(0)
    if low is not None and high is not None:
        return call("np.clip", a, low, high)
    bound, function = (low, "np.maximum") if high is None else (high, "np.minimum")
    return a if bound is None else call(function, a, bound)


def _bound(node: Node, name: str, position: int) -> ast.expr | None:
    if name in node.op.attributes:
        return literal(node.attribute(name))
    return node.weak[position] if node.has(position) else None


def cast(node: Node) -> ast.expr:
    """Return an array in another dtype."""
    result = node.result()
    if result is None:
        raise node.refusal("has a result of a dtype that the file does not tell")
    kind = node.dtype(0)
    if kind is not None and kind.kind not in "biuf":
        raise node.refusal(f"converts {kind.name}")
    return tree("a.astype(t)", a=node.argument(0), t=dtype_tree(result.dtype, node))


def is_infinite(node: Node) -> ast.expr:
    """Return whether numbers are infinite, or positive or negative and infinite."""
    wanted = node.attribute("detect_negative", 1), node.attribute("detect_positive", 1)
    texts = {(1, 1): "np.isinf(a)", (1, 0): "np.isneginf(a)", (0, 1): "np.isposinf(a)"}
    return each(texts.get(wanted, "np.zeros_like(a, np.bool_)"))(node)


def shift(node: Node) -> ast.expr:
    """Return shifted bits."""
    return each("a << b" if node.attribute("direction") == "LEFT" else "a >> b")(node)


BUILDERS: dict[str, Builder] = {
    "Identity": each("a"),
    "Add": each("a + b"),
    "Sub": each("a - b"),
    "Mul": each("a * b"),
    "Div": divide,
    "Pow": power,
    "Mod": remainder,
    "Sum": folded("a + b"),
    "Mean": mean,
    "Max": folded("np.maximum(a, b)"),
    "Min": folded("np.minimum(a, b)"),
    "Clip": clip,
    "Cast": cast,
    "CastLike": cast,
    "Where": each("np.where(a, b, c)"),
    "Neg": each("-a"),
    "Reciprocal": each("1 / a"),
    "Abs": each("np.abs(a)"),
    "Sign": each("np.sign(a)"),
    "Floor": each("np.floor(a)"),
    "Ceil": each("np.ceil(a)"),
    "Round": each("np.rint(a)"),
    "Sqrt": each("np.sqrt(a)"),
    "Exp": each("np.exp(a)"),
    "Log": each("np.log(a)"),
    "Sin": each("np.sin(a)"),
    "Cos": each("np.cos(a)"),
    "Tan": each("np.tan(a)"),
    "Asin": each("np.arcsin(a)"),
    "Acos": each("np.arccos(a)"),
    "Atan": each("np.arctan(a)"),
    "Sinh": each("np.sinh(a)"),
    "Cosh": each("np.cosh(a)"),
    "Tanh": each("np.tanh(a)"),
    "Asinh": each("np.arcsinh(a)"),
    "Acosh": each("np.arccosh(a)"),
    "Atanh": each("np.arctanh(a)"),
    "Erf": each("special.erf(a)"),
    "IsNaN": each("np.isnan(a)"),
    "IsInf": is_infinite,
    "Equal": each("a == b"),
    "Less": each("a < b"),
    "LessOrEqual": each("a <= b"),
    "Greater": each("a > b"),
    "GreaterOrEqual": each("a >= b"),
    "Not": each("~a"),
    "And": each("a & b"),
    "Or": each("a | b"),
    "Xor": each("a ^ b"),
    "BitwiseNot": each("~a"),
    "BitwiseAnd": each("a & b"),
    "BitwiseOr": each("a | b"),
    "BitwiseXor": each("a ^ b"),
    "BitShift": shift,
}

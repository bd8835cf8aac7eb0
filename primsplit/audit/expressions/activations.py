"""Activation functions of networks, elementwise or along an axis."""

import ast
from collections.abc import Mapping
from typing import Any

from primsplit.audit.expressions.nodes import Builder, Node, each
from primsplit.audit.trees import call, fill, literal, tree


def with_numbers(template: str, **defaults: float) -> Builder:
    """Return the builder of a template in which some names are attributes, which are numbers."""

    def build(node: Node) -> ast.expr:
        numbers = {name: literal(float(node.attribute(name, default))) for name, default in defaults.items()}
        return fill(each(template)(node), numbers)

    return build


def gelu(node: Node) -> ast.expr:
    """Return `x * P(X <= x)` of a normal distribution, or an approximation of it by tanh."""
    if node.attribute("approximate", "none") == "tanh":
        return each("0.5 * a * (1 + np.tanh((2 / np.pi) ** 0.5 * (a + 0.044715 * a ** 3)))")(node)
    return each("0.5 * a * (1 + special.erf(a / 2 ** 0.5))")(node)


def along(function: str) -> Builder:
    """Return the builder of a function along an axis; before opset 13, of all axes from one on."""

    def build(node: Node) -> ast.expr:
        a = node.argument(0)
        if node.opset >= 13:
            return call(function, a, axis=literal(node.axis(-1)))
        axis, rank = node.axis(1), node.rank()
        if rank is None:
            return call(function, a, axis=tree("tuple(range(k, a.ndim))", a=a, k=literal(axis)))
        axes = tuple(range(axis % rank, rank))
        return call(function, a, axis=literal(axes[0] if len(axes) == 1 else axes))

    return build


def dropout(node: Node) -> ast.expr:
    """Return the input as it is. Raises PrimsplitError in training, where random numbers are drawn."""
    training = node.constant(2)
    if node.has(2) and (training is None or bool(training)):
        raise node.refusal("draws random numbers, which are others in each run")
    if len(node.op.outputs) == 1:
        return node.argument(0)
    return tree("(a, np.ones_like(a, np.bool_))", a=node.argument(0))


SELU: Mapping[str, Any] = {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}
BUILDERS: dict[str, Builder] = {
    "Relu": each("np.maximum(a, 0)"),
    "LeakyRelu": with_numbers("np.where(a < 0, alpha * a, a)", alpha=0.01),
    "PRelu": each("np.where(a < 0, b * a, a)"),
    "ThresholdedRelu": with_numbers("np.where(a > alpha, a, 0)", alpha=1.0),
    "Elu": with_numbers("np.where(a < 0, alpha * np.expm1(a), a)", alpha=1.0),
    "Selu": with_numbers("gamma * np.where(a > 0, a, alpha * np.expm1(a))", **SELU),
    "Celu": with_numbers("np.maximum(a, 0) + np.minimum(alpha * np.expm1(a / alpha), 0)", alpha=1.0),
    "Sigmoid": each("1 / (1 + np.exp(-a))"),
    "HardSigmoid": with_numbers("np.clip(alpha * a + beta, 0, 1)", alpha=0.2, beta=0.5),
    "HardSwish": each("a * np.clip(a / 6 + 0.5, 0, 1)"),
    "Softplus": each("np.logaddexp(a, 0)"),
    "Softsign": each("a / (1 + np.abs(a))"),
    "Mish": each("a * np.tanh(np.logaddexp(a, 0))"),
    "Swish": with_numbers("a / (1 + np.exp(-alpha * a))", alpha=1.0),
    "Shrink": with_numbers("np.where(a < -lambd, a + bias, np.where(a > lambd, a - bias, 0))", lambd=0.5, bias=0.0),
    "Gelu": gelu,
    "Softmax": along("_softmax"),
    "LogSoftmax": along("_log_softmax"),
    "Hardmax": along("_hardmax"),
    "Dropout": dropout,
}

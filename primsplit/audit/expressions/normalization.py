"""Normalizations of layers, groups, instances and batches."""

import ast

from primsplit.audit.expressions.nodes import Builder, Node, helper
from primsplit.audit.trees import call, literal, tree


def layer_norm(node: Node) -> ast.expr:
    """Return a normalized layer, and its mean and factor if the node has them as results."""
    found = helper("_layer_norm", axis=-1, epsilon=1e-5)(node)
    return first_of(found, len(node.op.outputs), 3)


def first_of(several: ast.expr, wanted: int, count: int) -> ast.expr:
    """Return those of the results of a function that a node has."""
    if wanted == count:
        return several
    return tree("a[0]" if wanted == 1 else "a[:n]", a=several, n=literal(wanted))


def batch_norm(node: Node) -> ast.expr:
    """Return a normalized batch; in training also the running mean and variance."""
    if node.attribute("training_mode", 0):
        found = helper("_batch_norm_in_training", epsilon=1e-5, momentum=0.9)(node)
        return first_of(found, len(node.op.outputs), 3)
    if len(node.op.outputs) > 1 or not node.attribute("spatial", 1):
        raise node.refusal("is one of an opset below 14 in training, or with a mean for each element")
    return helper("_batch_norm", epsilon=1e-5)(node)


def instance_norm(node: Node) -> ast.expr:
    """Return each channel of each instance normalized: groups of one channel."""
    a, scale, bias = (node.argument(i) for i in range(3))
    epsilon = literal(node.attribute("epsilon", 1e-5))
    return call("_group_norm", a, scale, bias, tree("a.shape[1]", a=a), epsilon=epsilon)


def mean_variance(node: Node) -> ast.expr:
    """Return an array normalized over axes."""
    axes = literal(tuple(node.attribute("axes", (0, 2, 3))))
    return call("_mean_variance_norm", node.argument(0), axes)


BUILDERS: dict[str, Builder] = {
    "LayerNormalization": layer_norm,
    "RMSNormalization": helper("_rms_norm", axis=-1, epsilon=1e-5),
    "GroupNormalization": helper("_group_norm", num_groups=None, epsilon=1e-5),
    "InstanceNormalization": instance_norm,
    "BatchNormalization": batch_norm,
    "MeanVarianceNormalization": mean_variance,
    "LpNormalization": helper("_lp_norm", axis=-1, p=2),
    "LRN": helper("_local_response", size=None, alpha=0.0001, beta=0.75, bias=1.0),
}

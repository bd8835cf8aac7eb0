"""Greatest elements in order, places, blocks and reversals."""

import ast

import numpy as np
import onnx.helper

from primsplit.audit.expressions.nodes import Builder, Node, dtype_tree, helper
from primsplit.audit.trees import call, literal, tree


def top_k(node: Node) -> ast.expr:
    """Return the greatest or least elements along an axis, and their places."""
    count = literal(node.attribute("k")) if "k" in node.op.attributes else node.argument(1)
    named = {"axis": literal(node.axis(-1)), "largest": literal(node.attribute("largest", 1))}
    return call("_top_k", node.argument(0), count, **named)


def eye_like(node: Node) -> ast.expr:
    """Return a matrix with ones on a diagonal, of the dtype that the node names or of its input."""
    told, code = node.dtype(), node.attribute("dtype")
    dtype = told if code is None else np.dtype(onnx.helper.tensor_dtype_to_np_dtype(code))
    kind = tree("a.dtype", a=node.argument(0)) if dtype is None else dtype_tree(dtype, node)
    offset = node.attribute("k", 0)
    return call("_eye_like", node.argument(0), kind, **({"k": literal(offset)} if offset else {}))


BUILDERS: dict[str, Builder] = {
    "TopK": top_k,
    "OneHot": helper("_one_hot", axis=-1),
    "DepthToSpace": helper("_depth_to_space", blocksize=None, mode="DCR"),
    "SpaceToDepth": helper("_space_to_depth", blocksize=None, mode="DCR"),
    "ReverseSequence": helper("_reverse_sequence", batch_axis=1, time_axis=0),
    "EyeLike": eye_like,
}

"""Find the node that makes a model invalid: onnx's checker gives only its name, and most nodes have none."""

from collections.abc import Iterable

import onnx
import onnx.checker
import onnx.defs

from primsplit.ir.errors import ParseError

UNKNOWN = ("No Op registered for ", "Op registered for ")
"""The beginnings of the checker's messages about an operator that the model's opset lacks."""


def told_node(node: onnx.NodeProto, number: int, graph: str = "") -> str:
    """Return an error's words for a node: its name, else its number in the graph, its operator and outputs."""
    if node.name:
        return f"node {node.name}"
    article = "an" if node.op_type[:1] in "AEIOU" else "a"
    inside = f" of the graph {graph}" if graph else ""
    return f"node {number}{inside}, {article} {node.op_type} giving {', '.join(node.output) or 'nothing'},"


def invalid_node(
    proto: onnx.ModelProto, graphs: Iterable[onnx.GraphProto], path: str, reason: str
) -> ParseError | None:
    """Return the error that names the node of these graphs that the checker's reason is about.

    None if there is none.
    """
    context = onnx.checker.C.CheckerContext()
    try:
        context.ir_version = proto.ir_version
        context.opset_imports = {o.domain: o.version for o in proto.opset_import}
    except TypeError:  # a version that the checker has no number for, or a domain that is no text
        return None
    for graph in graphs:
        for number, node in enumerate(graph.node, 1):
            words = _what_is_wrong(node, context)
            if words and reason.startswith(words):
                where = told_node(node, number, "" if graph is proto.graph else graph.name or "inside")
                what = f"{path} is no valid model: {words[:200]}"
                return ParseError(what, because=(f"that is {where.rstrip(',')}",), cure=_way_out(node, words))
    return None


def _what_is_wrong(node: onnx.NodeProto, context: onnx.checker.C.CheckerContext) -> str:
    try:
        onnx.checker.check_node(node, context)
    except onnx.checker.ValidationError as error:
        return " ".join(str(error).split())
    return ""


def _way_out(node: onnx.NodeProto, words: str) -> str | tuple[str, ...]:
    if not words.startswith(UNKNOWN):
        return ""
    if onnx.defs.has(node.op_type):
        since = onnx.defs.get_schema(node.op_type).since_version
        return f"ONNX has {node.op_type} at other opsets (it changed in {since}): import the one that the model is of."
    return (
        "If it is an operator of another domain, give the node that domain. Else export the model without it, or",
        "add a function of that name to the model (ModelProto.functions).",
    )

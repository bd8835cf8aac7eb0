"""List the operators that an ONNX file uses."""

from collections.abc import Iterator

import onnx

from primsplit.onnx.definitions.earlier import CHANGED, EARLIER
from primsplit.onnx.definitions.families import definition_of
from primsplit.onnx.protobufs import parsed
from primsplit.onnx.versions import domain_of, nodes_of, version_of

RENAMED = {"Scatter": "ScatterElements"}
"""Operators of old opsets that only have another name today."""


def node_kinds(path: str) -> Iterator[str]:
    """Yield the operator of every node of a file, in sub-graphs and model-local functions too.

    Raises FileError or ParseError.
    """
    model = parsed(path)
    local = {(f.domain, f.name) for f in model.functions}
    for holder in (model, *model.functions):
        version = version_of(holder)
        for node in nodes_of(getattr(holder, "graph", holder)):
            if (node.domain, node.op_type) not in local:
                yield _kind(node, version)


def _kind(node: onnx.NodeProto, version: int) -> str:
    """Return the operator under the name by which the loader knows it."""
    domain, kind = domain_of(node.domain), node.op_type
    if domain == "" and version < CHANGED.get(kind, 0) and definition_of(f"{EARLIER}::{kind}") is not None:
        domain = EARLIER
    return f"{domain}::{kind}" if domain else RENAMED.get(kind, kind)

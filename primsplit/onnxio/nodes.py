"""The operators that an ONNX file uses."""

from collections.abc import Iterator

import onnx

from primsplit.errors import FileError


def node_kinds(path: str) -> Iterator[str]:
    """The operator of every node of a file, in sub-graphs and model-local functions too. Raises FileError."""
    try:
        model = onnx.load(path, load_external_data=False)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception as error:  # noqa: BLE001  # protobuf's own error classes differ between its implementations
        raise FileError(f"{path} is no ONNX file: {str(error).splitlines()[0]}") from None
    local = {(f.domain, f.name) for f in model.functions}
    for nodes in (model.graph.node, *(f.node for f in model.functions)):
        yield from _kinds(nodes, local)


def _kinds(nodes: "Iterator[onnx.NodeProto]", local: set[tuple[str, str]]) -> Iterator[str]:
    for node in nodes:
        if (node.domain, node.op_type) not in local:
            standard = node.domain in {"", "ai.onnx"}
            yield node.op_type if standard else f"{node.domain}::{node.op_type}"
        for attribute in node.attribute:
            yield from _kinds(iter(attribute.g.node), local)
            for graph in attribute.graphs:
                yield from _kinds(iter(graph.node), local)

"""Convert opsets: whether an operator is the same at the one that primsplit writes, and models converted to it."""

import functools
from collections.abc import Iterator
from typing import Any

import onnx
import onnx.defs
import onnx.helper
import onnx.version_converter
from onnx.shape_inference import InferenceError

from primsplit.ir.errors import UnsupportedFunction
from primsplit.onnx.protobufs import first_line, graphs
from primsplit.ops.schema import OPSET

MEANING = {("BatchNormalization", 9): 9}
"""Versions whose meaning changed while their form stayed."""


def domain_of(domain: str) -> str:
    """Return a domain's one name: the standard's domain has two."""
    return "" if domain == "ai.onnx" else domain


def nodes_of(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    """Yield every node of a graph, or a function, and of the graphs inside it."""
    for each in graphs(graph):
        yield from each.node


def version_of(holder: onnx.ModelProto | onnx.FunctionProto) -> int:
    """Return the standard's opset that a model or a function is written in."""
    return next((o.version for o in holder.opset_import if domain_of(o.domain) == ""), OPSET)


def lowered(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model of a newer opset, whose nodes are read by their versions, as one of the pinned opset."""
    for entry in proto.opset_import:
        entry.version = OPSET if domain_of(entry.domain) == "" else entry.version
    return proto


def converted(proto: onnx.ModelProto, path: str) -> onnx.ModelProto:
    """Return the model at the pinned opset: as it is if its operators mean the same there, else by onnx's converter."""
    version = version_of(proto)
    kinds = {n.op_type for n in nodes_of(proto.graph) if domain_of(n.domain) == ""}
    changed = sorted(kind for kind in kinds if differs(kind, version))
    if not changed:
        return lowered(proto)
    try:
        for node in reversed(list(nodes_of(proto.graph))):
            if domain_of(node.domain):
                _convert_bodies(node, list(proto.opset_import))
        return onnx.version_converter.convert_version(proto, OPSET)
    except (RuntimeError, ValueError, onnx.version_converter.ConvertError, InferenceError) as error:
        raise UnsupportedFunction(
            f"{path} has opset {version}, and {', '.join(changed)} cannot be converted to opset {OPSET}",
            because=(first_line(error),),
            cure=f"Export the model at opset {OPSET}.",
        ) from None


def _convert_bodies(node: onnx.NodeProto, imports: list[onnx.OperatorSetIdProto]) -> None:
    """Convert the graphs of a node that the converter does not know to the pinned opset.

    Captured names become inputs.
    """
    for attribute in node.attribute:
        if not attribute.HasField("g"):
            continue
        graph = attribute.g
        known = {v.name for v in (*graph.input, *graph.initializer)} | {o for n in nodes_of(graph) for o in n.output}
        captured = sorted({i for n in nodes_of(graph) for i in n.input} - known - {""})
        count = len(graph.input)
        graph.input.extend(onnx.ValueInfoProto(name=name) for name in captured)
        model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=4)
        graph.CopyFrom(onnx.version_converter.convert_version(model, OPSET).graph)
        del graph.input[count:]


@functools.cache
def differs(kind: str, version: int) -> bool:
    """Whether the standard's operator is another at the pinned opset: other inputs, outputs or attributes."""
    if not onnx.defs.has(kind, max_inclusive_version=version):
        return True
    there = onnx.defs.get_schema(kind, max_inclusive_version=version)
    if there.since_version <= 1 and version < 7:
        return True
    if not onnx.defs.has(kind, max_inclusive_version=OPSET):
        return True
    here = onnx.defs.get_schema(kind, max_inclusive_version=OPSET)
    if here.deprecated and not there.deprecated:
        return True
    return here.since_version != there.since_version and _form(here) != _form(there)


def _form(schema: Any) -> Any:
    """Return the part of a schema that a model depends on: a version that only admits further dtypes has the same."""
    attributes = tuple(
        sorted((k, str(a.type), a.required, a.default_value.SerializeToString()) for k, a in schema.attributes.items())
    )
    formals = tuple(tuple((p.name, str(p.option)) for p in side) for side in (schema.inputs, schema.outputs))
    return attributes, formals, MEANING.get((schema.name, schema.since_version))

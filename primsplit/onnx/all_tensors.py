"""Yield every tensor of a model: initializers, attributes, defaults of functions, also in graphs inside of nodes."""

from collections.abc import Iterable, Iterator

import onnx


def all_tensors(proto: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Yield every tensor of a model, wherever it stands."""
    trained = [g for t in proto.training_info for g in (t.initialization, t.algorithm)]
    for whole in (proto.graph, *trained):
        yield from _of_graphs(whole)
    for function in proto.functions:
        yield from _of_attributes(function.attribute_proto)
        for node in function.node:
            yield from _of_attributes(node.attribute)


def _of_graphs(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    yield from _of_sparse(graph.sparse_initializer)
    for node in graph.node:
        yield from _of_attributes(node.attribute)


def _of_attributes(attributes: Iterable[onnx.AttributeProto]) -> Iterator[onnx.TensorProto]:
    for attribute in attributes:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        if attribute.HasField("sparse_tensor"):
            yield from _of_sparse([attribute.sparse_tensor])
        yield from _of_sparse(attribute.sparse_tensors)
        if attribute.HasField("g"):
            yield from _of_graphs(attribute.g)
        for graph in attribute.graphs:
            yield from _of_graphs(graph)


def _of_sparse(tensors: Iterable[onnx.SparseTensorProto]) -> Iterator[onnx.TensorProto]:
    for tensor in tensors:
        yield from (tensor.values, tensor.indices)

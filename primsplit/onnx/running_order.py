"""Sort nodes so that each comes after those it reads: the standard requires it, onnxruntime does not.

```
z = Exp(y);  y = Sin(x)   ->   y = Sin(x);  z = Exp(y)
```
"""

from collections.abc import Iterator

import onnx

from primsplit.ir.running_order import in_order
from primsplit.onnx.protobufs import graphs


def in_running_order(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with each of its graphs in order; a cyclic one is left to the checker."""
    for holder in (proto.graph, *proto.functions):
        for graph in graphs(holder):
            _sort(graph)
    return proto


def _sort(graph: onnx.GraphProto | onnx.FunctionProto) -> None:
    """Move each node behind the nodes whose results it reads. A graph in such an order stays as it is."""
    makers = {name: place for place, node in enumerate(graph.node) for name in node.output if name}
    needs = [{makers[name] for name in _read(node) if name in makers} for node in graph.node]
    if all(max(each, default=-1) < place for place, each in enumerate(needs)):
        return
    order = in_order(needs)
    if len(order) == len(needs):
        nodes = [onnx.NodeProto.FromString(graph.node[place].SerializeToString()) for place in order]
        del graph.node[:]
        graph.node.extend(nodes)


def _read(node: onnx.NodeProto) -> Iterator[str]:
    """Yield the names that a node reads, and those that are read inside it."""
    yield from node.input
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for graph in graphs(attribute.g):
                yield from (name for inner in graph.node for name in inner.input)
                yield from (value.name for value in graph.output)

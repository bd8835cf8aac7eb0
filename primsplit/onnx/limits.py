"""Limit the nodes that a file grows to while it is read, by inlined functions and unrolled loops.

A few functions that call each other express 3^20 nodes in two kilobytes. So the nodes are counted before they are
created, and may only grow with the nodes and the numbers of the file.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import onnx

from primsplit.ir.errors import ParseError
from primsplit.onnx.protobufs import Key, call_key, function_key
from primsplit.onnx.versions import nodes_of

FREE = 3_000
"""The number of nodes that any file may grow to."""
CALLS = 100
"""The most times that a node of a function may be inlined, on average."""
STEPS = 300
"""The most times that a node may be recorded, on average: once for each step of an unrolled loop."""
BYTES = 1_000
"""The bytes of weights that allow one node more: a model of many layers has weights for them."""
DEEPEST = 100
"""The most nested calls of functions, as in onnx's checker."""


def node_count(proto: onnx.ModelProto) -> int:
    """Return the number of nodes of the file, those of functions once."""
    return sum(1 for holder in (proto.graph, *proto.functions) for _ in nodes_of(holder))


def most_nodes(proto: onnx.ModelProto, times: int) -> int:
    """Return the most nodes that a file may grow to if each is repeated so often on average."""
    numbers: int = sum(math.prod(t.dims) for t in proto.graph.initializer)
    return FREE + times * node_count(proto) + max(numbers, int(proto.ByteSize())) // BYTES


@dataclass(frozen=True, slots=True)
class _Held:
    """Counts in a graph or function, sub-graphs included: nodes of operators, and calls of each function."""

    nodes: int
    calls: Counter[Key]


def check_functions(proto: onnx.ModelProto, path: str) -> None:
    """Refuse functions that call themselves, and those that make the model too large when they are inlined."""
    if not proto.functions:
        return
    functions = {function_key(f): f for f in proto.functions}
    held = {key: _held(nodes_of(function), functions.keys()) for key, function in functions.items()}
    sizes: dict[Key, int] = {}
    within: list[Key] = []

    def size(found: _Held) -> int:
        return found.nodes + sum(count * size_of(key) for key, count in found.calls.items())

    def size_of(key: Key) -> int:
        if key in within:
            raise ParseError(f"{path} is no valid model: its function {key[1]} calls itself")
        if len(within) >= DEEPEST:
            raise ParseError(f"{path} is no valid model: its functions call each other more than {DEEPEST} deep")
        if key not in sizes:
            within.append(key)
            sizes[key] = size(held[key])
            within.pop()
        return sizes[key]

    whole, most = size(_held(nodes_of(proto.graph), functions.keys())), most_nodes(proto, CALLS)
    if whole > most:
        count = f"{whole:,}" if whole < 10**15 else f"{whole:.1e}"
        raise ParseError(
            f"{path} would have {count} nodes with its functions put where they are called",
            because=(f"it has {node_count(proto):,} nodes, and at most {most:,} are made of those",),
        )


def _held(nodes: Iterable[onnx.NodeProto], functions: Iterable[Key]) -> _Held:
    keys = Counter(map(call_key, nodes))
    calls = Counter({key: keys.pop(key) for key in functions if key in keys})
    return _Held(keys.total(), calls)

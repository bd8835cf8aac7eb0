"""A file's metadata about its nodes is text for people: it never changes what is computed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.ir.analysis.orders import AGAIN, OF_IMPUTER, SUMMED, role_of
from primsplit.onnx.protobufs import graphs
from tests.onnx.edits import remark

W = np.random.default_rng(0).standard_normal((3, 3))
REMARKS = ["pullback of Mul", "tangent of Tanh (order 3)", "raises ValueError: no", SUMMED, AGAIN, OF_IMPUTER]
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "a network": lambda x: np.sum(np.tanh(np.tanh(x @ W) @ W) ** 2),
    "a norm": lambda x: np.linalg.norm(x) * np.sum(np.sqrt(np.sum(x**2, axis=1))),
    "a gradient": lambda x: ps.grad(lambda x: np.sum(np.abs(x @ W) * np.linalg.norm(x)))(x),
    "choices": lambda x: np.sum(np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), np.sqrt(np.abs(x)))),
    "a loop": lambda x: ps.scan(lambda c, r: (np.tanh(c @ W + r), c), np.zeros(3), x)[1].sum(),
}


def _files(path: Path, text: str | None) -> list[onnx.ModelProto]:
    """The gradient and a second derivative of a model whose nodes have this remark; without remarks and names."""
    model = onnx.load(path)
    remark(model.graph, text)
    onnx.save(model, path)
    found = []
    made = ps.split(ps.load(str(path)))
    for program in (made.joint(), ps.split(made.joint()).joint()):
        proto = program.to_onnx()
        remark(proto.graph, None)
        for node in (node for graph in graphs(proto.graph) for node in graph.node):
            node.name = ""  # it says the remark, too
        found.append(proto)
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_file_is_compiled_as_if_its_nodes_had_no_remarks(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    ps.trace(FUNCTIONS[name], np.ones((3, 3))).save(path)
    wanted = _files(path, None)
    for text in REMARKS:
        assert _files(path, text) == wanted


def test_a_listing_shows_what_a_file_says(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    ps.trace(FUNCTIONS["a network"], np.ones((3, 3))).save(path)
    model = onnx.load(path)
    remark(model.graph, "by my exporter")
    onnx.save(model, path)
    program = ps.load(str(path))
    assert "by my exporter" in program.listing()
    assert all(role_of(op.remark) is None for op in program.block.ops)

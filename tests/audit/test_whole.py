"""Functions of a file stand in the place of their calls."""

from pathlib import Path

import numpy as np

import primsplit as ps
from primsplit.audit.whole import whole
from primsplit.audit.written import read_written
from primsplit.testing.reference import evaluate


def bent(w: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.tanh(x @ w) ** 2


def test_the_graph_without_calls_computes_the_same(tmp_path: Path) -> None:
    w, x = np.linspace(-1, 1, 3), np.linspace(0, 1, 6).reshape(2, 3)
    values = {}
    for form in ("joint", "functions"):
        (path,) = ps.export(bent, w, x, path=tmp_path / f"{form}.onnx", form=form)
        graph = whole(read_written(str(path)))
        assert not any("::" in op.kind for op in graph.block.ops)
        values[form] = evaluate(graph.block, [w, x, np.ones(2)])
        named = dict(zip(graph.file.outputs, graph.block.results, strict=True))
        assert [graph.names[v] for v in named.values()] == [*named]
    for one, other in zip(values["joint"], values["functions"], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_a_node_of_the_graph_tells_its_name_and_line(tmp_path: Path) -> None:
    (path,) = ps.export(bent, np.ones(3), np.ones((2, 3)), path=tmp_path / "f.onnx")
    graph = whole(read_written(str(path)))
    (tanh,) = (op for op in graph.block.ops if op.kind == "Tanh")
    told = graph.about(tanh)
    assert told["operator"] == "Tanh"
    assert told["place"].startswith("test_whole.py:")
    assert told["source"] == "return np.tanh(x @ w) ** 2"
    assert "Tanh" in told["node"]

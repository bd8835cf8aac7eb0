"""A large program is loaded without passes of onnxruntime that find nothing in it: what runs is the same graph."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import primsplit as ps
from primsplit.onnx.protobufs import graphs, kinds_of
from primsplit.onnx.save import serialize
from primsplit.programs import doors
from primsplit.targets.passes import MERGING, idle_passes

x, w = np.full((6, 8), 0.3, np.float32), np.full((8, 8), 0.1, np.float32)
image, filters = np.full((1, 4, 8, 8), 0.2, np.float32), np.full((4, 4, 3, 3), 0.1, np.float32)


def normalized(x: Any) -> Any:
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)


FUNCTIONS: dict[str, Any] = {
    "elementwise": (lambda x: np.sum(np.exp(np.sin(x)) * x), x),
    "perceptron": (lambda x: np.sum(np.tanh(np.tanh(x @ w + 1.0) @ w)), x),
    "normalization": (lambda x: np.sum(normalized(x) * x), x),
    "attention": (lambda x: np.sum(np.exp(x @ x.T) / np.exp(x @ x.T).sum(1, keepdims=True) @ x), x),
    "convolution": (lambda x: np.sum(np.maximum(ps.extend.op.Conv(x, filters) + 0.1, 0.0)), image),
    "loop": (lambda x: ps.scan(lambda c, row: (c * np.cos(row), c), x[0], x)[0].sum(), x),
    "indices": (lambda x: np.sum(x[::2, 1:].T * x[1::2, [1, 2, 3, 1, 0, 2, 4]].T), x),
}


def loaded(model: onnx.ModelProto, skipped: list[str], path: Path) -> list[tuple[str, Counter[str]]]:
    """The operators of each graph that onnxruntime runs."""
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath, options.log_severity_level = str(path), 4
    onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"], disabled_optimizers=skipped
    )
    return [(g.name, Counter(n.op_type for n in g.node)) for g in graphs(onnx.load(path).graph)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_without_idle_passes_the_same_graph_runs(name: str, tmp_path: Path) -> None:
    function, given = FUNCTIONS[name]
    named = ps.split(function, given).joint().named
    whole, merged = (serialize(doors.make_model(named, merged=is_merged)) for is_merged in (False, True))
    skipped = [MERGING, *idle_passes(kinds_of(merged))]
    assert len(skipped) > 5
    assert loaded(merged, skipped, tmp_path / "without.onnx") == loaded(whole, [], tmp_path / "all.onnx")


def test_a_large_program_computes_what_a_small_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    function, given = FUNCTIONS["perceptron"]
    wanted = ps.split(function, given).joint()(given)
    monkeypatch.setattr(doors, "MANY", 1)
    for found, right in zip(ps.split(function, given).joint()(given), wanted, strict=True):
        np.testing.assert_array_equal(found, right)

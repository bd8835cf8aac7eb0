"""Whole numbers that folding finds may not fit the op that reads them."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError
from primsplit.programs.runtime import Session
from tests.onnx.edits import node, written
from tests.ops.inference.test_choices import model

F, N = np.float32, np.int64
CHOSEN = [node("Greater", "one zero", "m"), node("Where", "m n n", "a")]
"""The numbers n, which are not known before floats have been compared."""
ROWS: dict[str, tuple[list[onnx.NodeProto], Any]] = {
    "an axis twice": ([node("Unsqueeze", "x a", "y")], N([1, 1])),
    "an axis that there is not": ([node("Unsqueeze", "x a", "y")], N([1, 5])),
    "an axis of two elements": ([node("Squeeze", "x a", "y")], N([0, 1])),
    "the rest of a division by 0": (
        [node("Cast", "x", "i", to=7), node("Mod", "i a", "j"), node("Cast", "j", "k", to=1), node("Mul", "x k", "y")],
        N([3, 0]),
    ),
}  # fmt: skip


def chosen(nodes: list[onnx.NodeProto], numbers: Any) -> onnx.ModelProto:
    return model(([*CHOSEN, *nodes], [1, 2], {"n": numbers, "one": F(1), "zero": F(0)}))


@pytest.mark.parametrize("name", ROWS)
def test_numbers_that_do_not_fit_are_refused_at_their_node(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, chosen(*ROWS[name]))
    if not name.startswith("the rest"):  # which onnxruntime refuses in the run
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        with pytest.raises(Exception, match="InferenceError"):
            onnxruntime.InferenceSession(path, options)
    program = ps.load(path)
    with pytest.raises(ShapeError) as caught:
        ps.split(program).save(str(tmp_path / "gradient.onnx"))
    assert caught.value.place is not None
    assert caught.value.place.filename == path


def test_a_divisor_that_onnxruntime_alone_folds_is_looked_at(tmp_path: Path) -> None:
    """Computations on weights alone stay in this package."""
    nodes = [
        node("Cast", "x", "i", to=7),
        node("Floor", "h", "f"),
        node("Cast", "f", "d", to=7),
        node("Div", "i d", "j"),
    ]
    nodes += [node("Cast", "j", "k", to=1), node("Mul", "x k", "y")]
    path = written(tmp_path, model((nodes, [1, 2], {"h": F([1.5, 0.5])})))
    with pytest.raises(Exception, match="Integer division by zero"):
        Session(path)
    with pytest.raises(ShapeError, match="Div divides whole numbers by a constant 0"):
        ps.split(ps.load(path)).save(str(tmp_path / "gradient.onnx"))


@pytest.mark.parametrize("count", [5, 300, 2000])
def test_long_tables_that_folding_finds_are_looked_at(count: int, tmp_path: Path) -> None:
    nodes = [node("Greater", "one zero", "m"), node("Where", "m n n", "a"), node("Cast", "x", "i", to=7)]
    nodes += [node("Mod", "i a", "j"), node("Cast", "j", "k", to=1), node("Mul", "x k", "y")]
    path = written(tmp_path, model((nodes, [count], {"n": np.arange(count), "one": F(1), "zero": F(0)})))
    with pytest.raises(ShapeError, match="Mod divides whole numbers by a constant 0"):
        ps.split(ps.load(path)).save(str(tmp_path / "gradient.onnx"))


def test_numbers_that_fit_are_taken(tmp_path: Path) -> None:
    path = written(tmp_path, chosen([node("Unsqueeze", "x a", "y")], N([1, 2])))
    assert np.shape(ps.load(path)(np.ones((1, 2), F))) == (1, 1, 1, 2)

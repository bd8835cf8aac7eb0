"""Fixtures of the loader's tests."""

import functools
from collections.abc import Callable
from pathlib import Path

import onnx
import onnx.parser
import pytest

import primsplit as ps
from tests.onnx.unranked import Saved, save


@pytest.fixture
def saved(tmp_path: Path) -> Saved:
    """Saves the model of some nodes, whose inputs have no rank."""
    return functools.partial(save, tmp_path)


@pytest.fixture
def model(tmp_path: Path) -> Callable[[str], ps.Program]:
    """Load a model from its text."""

    def read(text: str) -> ps.Program:
        path = tmp_path / "model.onnx"
        onnx.save(onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 21]>' + text), path)
        return ps.load(str(path))

    return read

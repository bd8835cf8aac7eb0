"""Fixtures of the loader's tests."""

import functools
from pathlib import Path

import pytest

from tests.onnx.unranked import Saved, save


@pytest.fixture
def saved(tmp_path: Path) -> Saved:
    """Saves the model of some nodes, whose inputs have no rank."""
    return functools.partial(save, tmp_path)

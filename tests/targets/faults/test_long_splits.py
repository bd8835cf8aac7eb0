"""A Split of an axis beyond 32 bits is written as Slices."""

from pathlib import Path

import numpy as np
import pytest

import primsplit as ps
from primsplit.programs.runtime import Session
from primsplit.targets.faults import long_splits
from primsplit.targets.finish import finish


def parts(x: np.ndarray) -> tuple[np.ndarray, ...]:
    first, second, third = np.split(x, [2, 3], axis=-1)
    return np.sin(first), second * 2, third**2


def test_onnxruntime_loads_the_parts_of_a_long_axis(tmp_path: Path) -> None:
    path = str(tmp_path / "long.onnx")
    ps.trace(parts, ps.spec("float32", [1, 2**31])).save(path)
    assert Session(path, optimize=False)


def test_the_parts_are_those_of_the_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_splits, "LONG", 4)
    x = np.arange(12.0).reshape(2, 6)
    program = ps.trace(parts, x)
    assert "Split" not in [step.kind for step in finish(program.block).ops]
    for found, wanted in zip(program(x), parts(x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_a_short_axis_is_split() -> None:
    program = ps.trace(lambda x: np.split(x, 2), np.ones(4))
    assert [step.kind for step in finish(program.block).ops] == ["Split"]

"""Draws at run time are rows beside the frozen ones."""

from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.audit.drawn import drawn_values
from primsplit.audit.written import read_written
from primsplit.ops import op


def noisy(x: Any) -> Any:
    noise = ps.random.normal(size=3)
    kept = op.Dropout(x, 0.5, True)
    passed = op.Dropout(x, 0.5, False)
    return np.sum(x * noise * kept * passed)


def test_each_draw_of_a_program_and_of_its_file_has_a_row_with_its_line(tmp_path: Path) -> None:
    program = ps.trace(noisy, np.ones(3))
    rows = [*drawn_values(program.block)]
    assert [(r.origin, r.type, r.value) for r in rows] == [
        ("run time", "float64[3]", "drawn at run time, RandomNormal"),
        ("run time", "float64[3]", "drawn at run time, Dropout"),
    ]
    assert [r.place.source for r in rows if r.place] == ["noise = ps.random.normal(size=3)",
                                                        "kept = op.Dropout(x, 0.5, True)"]  # fmt: skip
    (written,) = ps.export(noisy, np.ones(3), path=tmp_path / "f.onnx", mode="value")
    file = read_written(str(written))
    assert [r.name for r in drawn_values(file.block, file.names)] == ["noise", "kept"]


def test_a_program_without_draws_has_no_row() -> None:
    assert [*drawn_values(ps.trace(lambda x: np.sum(x * op.Dropout(x)), np.ones(3)).block)] == []

"""A stage is measured with and without it, and each stage for speed names a row that is there."""

import sys

import numpy as np
import pytest

import primsplit as ps
from primsplit.targets import pipeline
from tools.bench import stages, suite
from tools.bench.rows import function_row, gradient


def shifted(xp, x):
    """A function that folds: without `optimize` its file has ops that do nothing."""
    return xp.sum((x + (xp.ones(4) - 1.0)) * 2.0 * 3.0)


@pytest.fixture
def small(monkeypatch) -> str:
    row = function_row("small", "4", shifted, (np.arange(4.0),))
    monkeypatch.setattr(suite, "rows", lambda: {"small": row})
    return "small"


def test_a_stage_is_left_out_meanwhile() -> None:
    before = pipeline.stages()
    with stages.without("sums_of_derivatives"):
        found = [s.name for s in pipeline.stages()]
        assert "sums_of_derivatives" not in found
        assert len(found) == len(before) - 2
    assert pipeline.stages() == before


def test_a_stage_that_changes_a_file_is_timed(small: str) -> None:
    (found,) = stages.measured(small, ["optimize"], is_quick=True)
    assert found["changes"]
    assert found["differs"] == 0.0
    assert found["low"] <= found["median"] <= found["high"]
    assert found["gain"] > -1.0
    assert found["ms"] > 0.0


def test_a_stage_that_changes_nothing_is_not_timed(small: str) -> None:
    found = stages.measured(small, ["share_loops", "optimize"], is_quick=True, is_timed=False)
    assert [(f["stage"], f["changes"], "gain" in f) for f in found] == [
        ("share_loops", False, False), ("optimize", True, False),
    ]  # fmt: skip


def test_a_file_that_is_written_twice_is_the_same() -> None:
    def steps(x):
        return ps.scan(lambda h, t: (np.tanh(h * t), h), np.ones(3), x)[1].sum()

    ours = gradient(lambda _, x: steps(x), (np.ones((5, 3)),), (0,))(1)
    bodies = [n.op_type for g in stages.bodies(ours.program.to_onnx().graph) for n in g.node]
    assert "Tanh" in bodies
    assert stages.nodes(ours) == stages.nodes(ours)


def test_a_measurement_is_told_in_a_line() -> None:
    found = {"stage": "s", "row": "r", "changes": True, "gain": 0.02, "low": 0.01, "high": 0.04, "ms": 1.25}
    line = "s r +2.0% (+1.0% to +4.0%) of 1.25 ms below 3%"
    assert " ".join(stages.told(found).split()) == line
    assert stages.told({**found, "gain": 0.03}).endswith("ms")
    assert stages.told({"stage": "s", "row": "r", "changes": False}).endswith("nothing changes")
    assert stages.told({"stage": "s", "row": "r", "failed": "it"}).endswith("failed: it")


def test_each_bench_that_a_stage_names_is_a_row() -> None:
    named = {stage: bench for stage, bench in stages.stages().items() if bench}
    assert named
    assert not {stage for stage, bench in named.items() if not stages.rows_of(bench)}


def test_rows_of_a_bench_are_those_of_each_dtype() -> None:
    assert stages.rows_of("densities gauss") == ["densities gauss float64", "densities gauss float32"]
    assert stages.rows_of("fixed mlp") == ["fixed mlp"]
    assert stages.rows_of("") == []


def test_the_command_runs_one_stage(monkeypatch, capsys) -> None:
    line = ["stages", "write_later", "share_loops", "--row", "nests log1p float64", "--quick"]
    monkeypatch.setattr(sys, "argv", line)
    stages.main()
    assert capsys.readouterr().out.split() == ["share_loops", "nests", "log1p", "float64", "nothing", "changes"]

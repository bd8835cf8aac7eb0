"""Hazards of a file: their lines, and ranges that hold for what onnxruntime computes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.exposed import exposed
from primsplit.audit.hazards import hazard_rows, walk_file
from primsplit.audit.whole import whole
from primsplit.audit.written import read_written
from primsplit.cli.inputs import arrays_for, examples
from primsplit.ir.errors import SpecError
from primsplit.programs.export import save_derived
from primsplit.programs.opened import OpenedFile
from tests.audit.intervals.sound import assert_inside

MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.py"))
SLOW = {"damped_building", "gaussian_process", "heat_conduction", "optimal_control", "predator_prey"}


def file_of(function: Any, *arguments: Any, path: Path, **options: Any) -> Any:
    (written,) = ps.export(function, *arguments, path=path / "f.onnx", **options)
    return read_written(str(written))


def quotients(x: Any, y: Any) -> Any:
    share = x / (x + y)
    return np.sum(np.log(share))


def told(rows: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(r["hazard"], r["certainty"], r["source"]) for r in rows["rows"]}


def test_a_quotient_of_zeros_has_its_line_and_ranges(tmp_path: Path) -> None:
    file = file_of(quotients, np.ones(3), np.ones(3), path=tmp_path)
    found = hazard_rows(file, {"x": (0.0, 1.0), "y": (0.0, 1.0)})
    assert ("0 / 0", "can happen", "share = x / (x + y)") in told(found)
    (row,) = (r for r in found["rows"] if r["hazard"] == "0 / 0" and r["source"].startswith("share"))
    assert (row["ranges"], row["operator"], row["follows"]) == ("[0, 1], [0, 2]", "Div", False)


def test_ranges_without_a_zero_leave_no_hazard(tmp_path: Path) -> None:
    file = file_of(quotients, np.ones(3), np.ones(3), path=tmp_path)
    found = hazard_rows(file, {"x": (0.1, 1.0), "y": (0.1, 1.0)})
    assert (found["rows"], found["open"], found["free"], found["unknown"]) == ([], 0, [], [])


@pytest.mark.parametrize(("low", "expected"), [(0.0, {"division by 0"}), (0.1, set())])
def test_the_slope_of_a_root_at_0_is_a_division_by_0(low: float, expected: set[str], tmp_path: Path) -> None:
    file = file_of(lambda x: np.sum(np.sqrt(np.sum(x**2, axis=1))), np.ones((2, 3)), path=tmp_path)
    assert {r["hazard"] for r in hazard_rows(file, {"x": (low, 1.0)})["rows"] if not r["follows"]} == expected


def test_an_input_without_a_range_is_named(tmp_path: Path) -> None:
    file = file_of(lambda x, y: np.sum(x * y), np.ones(3), np.ones(3), path=tmp_path, mode="value")
    found = hazard_rows(file, {"x": (0.0, 1.0)})
    assert (found["rows"], found["free"], found["open"]) == ([], ["y"], 2)
    with pytest.raises(SpecError, match="z"):
        hazard_rows(file, {"z": (0.0, 1.0)})


@pytest.mark.filterwarnings("ignore")
def test_a_promotion_to_float64_is_a_hazard(tmp_path: Path) -> None:
    x = np.ones(3, np.float32)
    file = file_of(lambda x: np.sum(x * np.float64(2.0)), x, path=tmp_path, mode="value")
    (row,) = hazard_rows(file, {"x": (0.0, 1.0)})["rows"]
    assert (row["hazard"], row["certainty"], row["operator"]) == ("promotion to float64", "always", "Cast")


def test_what_was_float64_before_is_not_promoted(tmp_path: Path) -> None:
    x = np.full(3, 0.5)
    file = file_of(lambda x: np.sum(np.arccos(x).astype(np.float32)), x, path=tmp_path)
    rows = hazard_rows(file, {"x": (0.25, 0.75)})["rows"]
    assert "promotion to float64" not in {row["hazard"] for row in rows}


def test_hazards_in_a_function_and_in_a_loop_have_their_lines(tmp_path: Path) -> None:
    def steps(x: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            total = np.sqrt(carry - row)
            return total, total

        return np.sum(ps.scan(step, x[0], x)[0])

    for form in ("joint", "functions"):
        file = file_of(steps, np.ones((4, 2)), path=tmp_path, form=form)
        found = hazard_rows(file, {"x": (0.0, 1.0)})
        line = ("square root of a negative number", "can happen", "total = np.sqrt(carry - row)")
        assert line in told(found)


def marked(path: Path) -> Any:
    return pytest.param(path, marks=[pytest.mark.slow] if path.stem in SLOW else [], id=path.stem)


@pytest.mark.sweep(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [marked(path) for path in MODELS])
def test_what_a_model_computes_lies_in_the_ranges(model: Path, tmp_path: Path) -> None:
    from primsplit.cli.options import Exported, FunctionDerivation

    made = Exported(str(model), FunctionDerivation(), quiet=True)
    (path, *_) = save_derived(made.derived, str(tmp_path / "f.onnx"), made.mode)
    file, opened = read_written(path), OpenedFile(path)
    point = arrays_for(opened, file.block, examples(made.derived, made.arguments.values))
    ranges = {n: (float(a.min()), float(a.max())) for n, a in point.items() if a.dtype.kind in "iuf" and a.size}
    graph = whole(file)
    found = walk_file(graph, ranges).found
    by_name = {file.names[v]: v for op in file.block.ops for v in op.outputs}
    random = np.random.default_rng(0)
    mixed = {n: random.uniform(*ranges[n], a.shape).astype(a.dtype) if n in ranges else a for n, a in point.items()}
    for arrays in (point, mixed):
        for name, array in exposed(file, arrays):
            if array.dtype.kind in "iufb":
                assert_inside(array, found[by_name[name]], name)

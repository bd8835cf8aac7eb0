"""The ranges of values, where NaN and infinity begin, and the distance from float64."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.numerics import numeric_rows
from primsplit.audit.written import read_written
from primsplit.testing.reference import play


def numbers_of(function: Any, *arguments: Any, path: Path, **options: Any) -> dict[str, dict[str, Any]]:
    (written,) = ps.export(function, *arguments, path=path / "f.onnx", **options)
    file = read_written(str(written))
    arrays = dict(zip(file.inputs, [*arguments, *(np.ones(2),) * (len(file.inputs) - len(arguments))], strict=True))
    return {row["name"]: row for row in numeric_rows(file, arrays, play)["rows"]}


def test_a_value_has_its_range_and_its_count_of_numbers_that_are_none(tmp_path: Path) -> None:
    def odd(x: Any) -> Any:
        root = np.sqrt(x)
        inverse = 1 / x
        tiny = x * 1e-310
        return root + inverse + tiny

    x = np.array([-1.0, 0.0, 4.0, 9.0])
    rows = numbers_of(odd, x, path=tmp_path, mode="value")
    assert (rows["root"]["nan"], rows["root"]["min"], rows["root"]["max"]) == (1, 0.0, 3.0)
    np.testing.assert_allclose(rows["root"]["magnitude"], 5 / 3, rtol=1e-15)
    assert (rows["inverse"]["infinite"], rows["inverse"]["max"]) == (1, 0.25)
    assert rows["tiny"]["denormal"] == 3
    assert [rows[n]["begins"] for n in ("root", "inverse", "tiny", "y")] == ["NaN", "infinity", "", ""]
    assert rows["root"]["source"] == "root = np.sqrt(x)"


def test_the_first_row_is_where_the_nan_begins(tmp_path: Path) -> None:
    def shares(x: Any) -> Any:
        total = np.sum(x, axis=1)
        share = x / total[:, None]
        return np.sum(np.exp(share) ** 2)

    rows = numbers_of(shares, np.array([[1.0, 3.0], [0.0, 0.0]]), path=tmp_path)
    name, first = next(iter(rows.items()))
    assert (name, first["begins"], first["source"]) == ("share", "NaN", "share = x / total[:, None]")
    assert [r["begins"] for r in rows.values()].count("NaN") == 1


def test_float32_is_compared_with_float64(tmp_path: Path) -> None:
    def cancels(x: Any) -> Any:
        near = (1.0 + x) - 1.0
        return np.sqrt(near)

    x = np.float32([1e-4, 3e-5])
    rows = numbers_of(cancels, x, path=tmp_path, mode="value")
    wide, narrow = (1.0 + x.astype(float)) - 1.0, (np.float32(1) + x) - np.float32(1)
    np.testing.assert_allclose(rows["near"]["relative"], np.max(np.abs(narrow - wide)) / wide.max(), rtol=1e-6)
    assert rows["near"]["by"] == "onnxruntime"


@pytest.mark.parametrize("form", ["joint", "functions"])
def test_values_inside_of_loops_and_functions_are_counted_over_all_steps(tmp_path: Path, form: Any) -> None:
    def steps(x: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            total = np.log(row + carry * carry)
            return total, total

        return ps.scan(step, 0.0 * x[0], x)[0]

    x = np.array([[1.0, 2.0], [0.0, 3.0], [4.0, 5.0]])
    carry, logs = np.zeros(2), []
    for row in x:
        with np.errstate(divide="ignore"):
            carry = np.log(row + carry * carry)
        logs.append(carry)
    rows = numbers_of(steps, x, path=tmp_path, form=form)
    (log,) = (r for r in rows.values() if r["operator"] == "Log")
    assert (log["by"], log["count"], log["infinite"], log["begins"]) == ("reference", 6, 2, "infinity")
    np.testing.assert_allclose(log["max"], np.max(np.array(logs)[np.isfinite(logs)]), rtol=1e-14)


def test_what_the_reference_cannot_compute_is_told(tmp_path: Path) -> None:
    def failing(*arguments: Any) -> Any:
        raise ps.errors.RunError("no such operator")
        yield

    (path,) = ps.export(np.exp, np.ones(2), path=tmp_path / "f.onnx", mode="value")
    found = numeric_rows(read_written(str(path)), {"x": np.ones(2)}, failing)
    assert found["why"] == "no such operator"
    assert [r["relative"] for r in found["rows"]] == [None]

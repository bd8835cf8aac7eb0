"""The largest differences of outputs over samples."""

from typing import Any

import numpy as np
import pytest

from primsplit.audit.review.numbers import apart, compare_outputs
from primsplit.ir.errors import RunError


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.0], (0.0, 0.0)),
        ([1.0, 2.0], [1.0, 2.5], (0.5, 0.2)),
        ([np.nan, 1.0], [np.nan, 1.0], (0.0, 0.0)),
        ([np.inf, 1.0], [np.inf, 0.5], (0.5, 0.5)),
        ([np.nan], [1.0], (np.inf, np.inf)),
        ([], [], (0.0, 0.0)),
        ([1.0], [1.0, 2.0], (None, None)),
    ],
)
def test_distances_of_arrays(a: Any, b: Any, expected: Any) -> None:
    assert apart(np.asarray(a), np.asarray(b)) == expected


def test_booleans_and_integers_are_compared_too() -> None:
    assert apart(np.array([True, False]), np.array([True, True])) == (1.0, 1.0)
    assert apart(np.array([2]), np.array([4])) == (2.0, 0.5)


def test_an_output_names_the_sample_that_shows_its_largest_difference() -> None:
    samples = [(f"sample {i}", {"x": np.array(float(i))}, {"x": np.array(float(i))}) for i in (1, 3, 2)]
    found = compare_outputs(lambda a: {"y": a["x"]}, lambda a: {"y": 2.0 * a["x"]}, samples)
    assert found["outputs"] == [{"name": "y", "absolute": 3.0, "relative": 0.5, "why": "", "sample": "sample 3"}]
    assert found["samples"] == ["sample 1", "sample 3", "sample 2"]


def test_a_sample_that_one_file_cannot_run_on_is_a_note() -> None:
    def fails(_: Any) -> Any:
        raise RunError("a size of 1 is too small")

    found = compare_outputs(lambda a: dict(a), fails, [("sizes of 1", {"x": np.ones(1)}, {"x": np.ones(1)})])
    assert found["outputs"] == []
    assert found["notes"] == ["sizes of 1: the new file cannot run: a size of 1 is too small"]


@pytest.mark.parametrize(("other", "why"), [([np.nan], "NaN or infinity in one alone"), ([1.0, 2.0], "another shape")])
def test_an_output_without_a_distance_says_why(other: Any, why: str) -> None:
    arrays = {"x": np.ones(1)}
    found = compare_outputs(dict, lambda _: {"x": np.asarray(other)}, [("a", arrays, arrays), ("b", arrays, arrays)])
    assert found["outputs"] == [{"name": "x", "absolute": None, "relative": None, "why": why, "sample": "a"}]

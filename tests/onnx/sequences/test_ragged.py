"""Sequences of a length that only the run knows, whose elements are of several shapes."""

from pathlib import Path

import pytest

from tests.onnx.ragged_rows import ROWS
from tests.onnx.sequence_rows import Row
from tests.onnx.sequences.subjects import check_derivatives, check_numbers


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_numbers_are_the_models_own(row: Row, tmp_path: Path) -> None:
    check_numbers(row, tmp_path)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_first_and_second_derivatives_are_those_of_differences(row: Row, tmp_path: Path) -> None:
    check_derivatives(row, tmp_path)

"""Sizes of slices."""

import itertools

import numpy as np
import pytest

from primsplit.ir import dims
from primsplit.ops.inference import slice_size
from tests.ir.dims.expressions import VALUES, M, N
from tests.ops.inference.checks import check_literal_types, check_symbolic_types, rows_of
from tests.ops.inference.rows import Row


def test_a_slice_has_pythons_length_for_all_small_bounds() -> None:
    bounds = [-12, -4, -2, -1, 0, 1, 2, 3, 6, 9]
    for size in range(6):
        for start in bounds:
            for end in bounds:
                for step in (-3, -2, -1, 1, 2, 3):
                    expected = len(np.arange(size)[_python_slice(start, end, step, size)])
                    assert slice_size(size, start, end, step) == expected, (size, start, end, step)


@pytest.mark.parametrize("size", [2**31 - 1, 2**31, 2**31 + 5, 3 * 2**40, 2**62])
def test_a_slice_of_a_long_axis_has_pythons_length(size: int) -> None:
    bounds = [0, 7, 2**31 - 2, 2**31 - 1, 2**31, 2**31 + 4, 2**40, 2**63 - 1]
    bounds += [-b for b in bounds]
    for start in bounds:
        for end in bounds:
            for step in (-(2**31), -3, -1, 1, 2, 2**33):
                expected = len(range(size)[_python_slice(start, end, step, size)])
                assert slice_size(size, start, end, step) == expected, (size, start, end, step)


def _python_slice(start: int, end: int, step: int, size: int) -> slice:
    """ONNX's rule in Python's: a bound below -size is before the front, but backwards such a start is the front."""
    if step > 0:
        return slice(start, end, step)
    return slice(max(start, -size), None if end < -size else end, step)


@pytest.mark.parametrize("step", [-2, -1, 1, 2])
def test_a_slice_of_a_symbolic_axis_has_pythons_length_at_every_size(step: int) -> None:
    ends = [-3, -1, 0, 2, 5, 2**31 - 1, 2**63 - 1, -(2**31), -(2**63)]
    for start, end in itertools.product([-3, -1, 0, 2, 5, 2**63 - 1], ends):
        size = slice_size(N, start, end, step)
        for n in range(8):
            expected = len(range(n)[_python_slice(start, end, step, n)])
            assert dims.evaluate(size, {"N": n}) == expected, (start, end, n, str(size))


def test_a_slice_with_symbolic_bounds_has_pythons_length_at_every_size() -> None:
    for start, end in ((M, N), (0, N - 1), (N - 2, N), (M, 2**31 - 1), (0, M)):
        size = slice_size(N, start, end, 1)
        for v in VALUES:
            first, last = dims.evaluate(start, v), dims.evaluate(end, v)
            if first >= 0 and last >= 0:
                assert dims.evaluate(size, v) == len(range(v["N"])[first:last]), (v, str(size))


@pytest.mark.parametrize("row", rows_of("layout"))
def test_literal_types_equal_onnxs_own_inference_where_it_has_an_answer(row: Row) -> None:
    check_literal_types(row)


@pytest.mark.parametrize("row", rows_of("layout"))
def test_symbolic_types_evaluate_to_the_shapes_that_onnxruntime_produces(row: Row) -> None:
    check_symbolic_types(row)

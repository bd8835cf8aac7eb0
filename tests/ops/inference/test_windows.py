"""Sizes of convolutions and poolings, against what onnxruntime gives and with symbols."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError
from primsplit.ops import op
from tests.ops.inference.checks import check_literal_types, check_symbolic_types, rows_of
from tests.ops.inference.rows import Row


def test_sizes_of_symbols_are_counted_as_those_of_numbers() -> None:
    program = ps.trace(lambda x: op.Conv(x, np.ones((4, 3, 3, 2)), strides=[2, 1], pads=[1, 0, 1, 1]),
                       ps.spec("float64", ["N", 3, "H", 5]))  # fmt: skip
    assert [str(d) for d in program.block.results[0].type.shape or ()] == ["N", "4", "floordiv(H + 1, 2)", "5"]


def test_with_ceil_mode_no_window_starts_in_the_padding_after() -> None:
    pooled = ps.trace(lambda x: op.MaxPool(x, kernel_shape=[2], strides=[3], pads=[1, 1], ceil_mode=1),
                      ps.spec("float32", [1, 1, 5]))  # fmt: skip
    assert pooled.block.results[0].type.shape == (1, 1, 2)
    assert pooled(np.zeros((1, 1, 5), np.float32)).shape == (1, 1, 2)


def test_a_window_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ShapeError, match="does not fit"):
        ps.trace(lambda x: op.MaxPool(x, kernel_shape=[7]), ps.spec("float32", [1, 1, 3]))


@pytest.mark.parametrize(("window", "size"), [(2, 1), (3, 2)])
def test_so_is_one_that_onnxruntime_counts_and_the_standard_does_not(window: int, size: int) -> None:
    with pytest.raises(ShapeError, match=f"a window of {window} does not fit into the padded size {size}"):
        ps.trace(lambda x: op.LpPool(x, kernel_shape=[window], strides=[2]), ps.spec("float32", [1, 1, size]))


@pytest.mark.parametrize(("window", "stride", "pads"), [(1, 1, (0, 0)), (3, 3, (0, 0)), (2, 1, (1, 0)), (2, 1, (0, 1))])
@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool", "Conv"])
def test_an_axis_without_elements_has_no_windows(kind: str, window: int, stride: int, pads: tuple[int, int]) -> None:
    options = {"kernel_shape": [window], "strides": [stride], "pads": [*pads]}
    weights = [np.ones((1, 1, window), np.float32)] if kind == "Conv" else []
    program = ps.trace(lambda x: getattr(op, kind)(x, *weights, **options), ps.spec("float32", [1, 1, 0]))
    assert program.block.results[0].type.shape == (1, 1, 0)
    assert program(np.zeros((1, 1, 0), np.float32)).shape == (1, 1, 0)


def test_weights_for_other_channels_are_refused() -> None:
    with pytest.raises(ShapeError, match="5 channels"):
        ps.trace(lambda x: op.Conv(x, np.ones((2, 3, 1), np.float32)), ps.spec("float32", [1, 5, 3]))


@pytest.mark.parametrize("row", rows_of("windows"))
def test_literal_types_equal_onnxs_own_inference_where_it_has_an_answer(row: Row) -> None:
    check_literal_types(row)


@pytest.mark.parametrize("row", rows_of("windows"))
def test_symbolic_types_evaluate_to_the_shapes_that_onnxruntime_produces(row: Row) -> None:
    check_symbolic_types(row)

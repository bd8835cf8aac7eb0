"""The rules of RoiAlign, MaxRoiPool and DeformConv for sizes that only the run knows, no regions included."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from tests.rules.checks import check_derivative
from tests.rules.rows import Row, rows_of

RANDOM = np.random.default_rng(0)


def corners(count: int, size: int) -> Any:
    """Regions [count, 4] in an image, upright."""
    return np.sort(RANDOM.uniform(0, size, (count, 2, 2)), axis=1).reshape(count, 4)


def aligned(mode: str) -> Callable[..., Any]:
    return lambda x, r, b: op.RoiAlign(x, r, b, mode=mode, output_height=2, output_width=3, spatial_scale=0.5)


def pooled(x: Any, regions: Any) -> Any:
    return op.MaxRoiPool(x, regions, pooled_shape=[2, 1])


def deformed(x: Any, w: Any, offset: Any, mask: Any) -> Any:
    return op.DeformConv(x, w, offset, None, mask, offset_group=2)


def images(n: int, size: int, regions: int) -> list[Any]:
    """An image, regions, and which image each is of."""
    return [RANDOM.standard_normal((n, 3, size, size)), corners(regions, 2 * size), RANDOM.integers(0, n, regions)]


def numbered(n: int, size: int, regions: int) -> list[Any]:
    x, boxes, batch = images(n, size, regions)
    return [x, np.concatenate([batch[:, None], boxes / 2], axis=1)]


def moved(n: int, size: int, taps: int = 4) -> list[Any]:
    places = (size - 1, size - 1)
    return [
        RANDOM.standard_normal((n, 4, size, size)), RANDOM.standard_normal((3, 4, 2, 2)),
        RANDOM.uniform(-1, 1, (n, 4 * taps, *places)), RANDOM.uniform(0, 1, (n, 2 * taps, *places)),
    ]  # fmt: skip


BOXES = [ps.spec("float64", ["N", 3, "H", "W"]), ps.spec("float64", ["R", 4]), ps.spec("int64", ["R"])]
CASES: dict[str, tuple[Callable[..., Any], list[Any], list[list[Any]]]] = {
    "the mean of points": (aligned("avg"), BOXES, [images(2, 6, 5), images(1, 1, 2), images(1, 4, 0)]),
    "the largest of points": (aligned("max"), BOXES, [images(2, 6, 5), images(1, 1, 2), images(1, 4, 0)]),
    "the largest pixel": (
        pooled,
        [BOXES[0], ps.spec("float64", ["R", 5])],
        [numbered(2, 6, 5), numbered(1, 1, 2), numbered(1, 4, 0)],
    ),
    "moved taps": (
        deformed,
        [ps.spec("float64", s) for s in (["N", 4, "H", "W"], [3, 4, 2, 2], ["N", 16, "P", "Q"], ["N", 8, "P", "Q"])],
        [moved(2, 4), moved(1, 2)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_sizes_of_the_run_give_the_gradients_that_literal_ones_give(case: str) -> None:
    function, specs, points = CASES[case]
    wrt = [0] if function is pooled else [i for i, s in enumerate(specs) if s.dtype.kind == "f"]
    joint = ps.split(function, *specs, wrt=wrt).joint()
    for arrays in points:
        literal = ps.split(function, *arrays, wrt=wrt)
        seed = RANDOM.standard_normal(literal.program.block.results[0].type.shape)
        for found, wanted in zip(joint(*arrays, seed), literal.joint()(*arrays, seed), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


def test_moved_taps_and_their_gradient_are_written_without_the_operator_that_onnxruntime_before_126_lacks() -> None:
    arguments = moved(2, 5)
    made = ps.split(deformed, *arguments, seed="ones").joint()
    assert "DeformConv" not in {node.op_type for node in made.to_onnx().graph.node}
    kernel = ps.trace(deformed, *arguments)
    assert [node.op_type for node in kernel.to_onnx().graph.node] == ["DeformConv"]
    np.testing.assert_allclose(made(*arguments)[0], kernel(*arguments), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("row", rows_of("regions"), ids=str)
def test_a_rule_gives_the_derivative_in_its_promised_form(row: Row) -> None:
    check_derivative(row)

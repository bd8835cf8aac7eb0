"""The rules of GridSample and AffineGrid: PyTorch's gradients, and who moves whom."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from tests.rules.checks import check_derivative
from tests.rules.rows import Row, rows_of

RANDOM = np.random.default_rng(0)
X, GRID, SEED = (
    RANDOM.standard_normal((2, 3, 4, 5)),
    RANDOM.uniform(-1.6, 1.6, (2, 6, 7, 2)),
    RANDOM.random((2, 3, 6, 7)),
)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_samples_and_gradients_are_pytorchs(mode: str, padding: str, align: bool) -> None:
    torch = pytest.importorskip("torch")
    x, grid = (torch.tensor(a, requires_grad=True) for a in (X, GRID))
    z = torch.nn.functional.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=align)
    z.backward(torch.tensor(SEED))
    ours = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    specs = ps.spec("float64", ["B", "C", "H", "W"]), ps.spec("float64", ["B", "P", "Q", 2])
    made = ps.split(lambda x, g: op.GridSample(x, g, mode=ours, padding_mode=padding, align_corners=align), *specs)
    for found, wanted in zip(made.joint()(X, GRID, SEED), (z.detach(), x.grad, grid.grad), strict=True):
        np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-9, atol=1e-12)


def test_a_position_halfway_moves_by_the_difference_of_its_neighbours() -> None:
    x, grid = np.array([[[[1.0, 5.0]]]]), np.zeros((1, 1, 1, 2))
    found = ps.grad(lambda x, g: op.GridSample(x, g, padding_mode="border").sum(), wrt=(0, 1))(x, grid)
    np.testing.assert_array_equal(found[0], [[[[0.5, 0.5]]]])
    np.testing.assert_array_equal(found[1], [[[[4.0, 0.0]]]])


@pytest.mark.parametrize("sizes", [[1, 2, 3], ["N", "R", "C"]], ids=["literal", "symbolic"])
@pytest.mark.parametrize("align", [0, 1])
def test_the_gradient_of_an_affine_map_sums_the_places_that_it_maps(align: int, sizes: list[Any]) -> None:
    def f(theta: Any) -> Any:
        return op.AffineGrid(theta, [1, 1, 2, 3], align_corners=align)

    seed = np.zeros((1, 2, 3, 2))
    seed[0, 1, 2, 0] = 1.0
    _, found = ps.split(f, ps.spec("float64", sizes)).joint()(np.zeros((1, 2, 3)), seed)
    corner = [1.0, 1.0] if align else [2 / 3, 1 / 2]
    np.testing.assert_allclose(found, [[[*corner, 1.0], [0.0, 0.0, 0.0]]])


def test_pixels_are_counted_where_the_batch_is_a_multiple_of_the_image() -> None:
    """As all pairs of two images are sampled: no value has the batch's factors alone, and the sizes are sums."""

    def f(x: Any, grid: Any) -> Any:
        batch, rows, columns = x.shape
        images = np.pad(x, ((0, 0), (1, 0), (0, 0)))[:, None].repeat(columns, 1)
        images = images.reshape(batch * columns, 1, rows + 1, columns)
        return op.GridSample(images, grid, align_corners=1)

    specs = ps.spec("float64", ["N", "R", "C"]), ps.spec("float64", ["N*C", 1, 2, 2])
    made = ps.split(f, *specs, wrt="x").joint()
    for shape in ((2, 3, 4), (1, 1, 1)):
        x, grid = RANDOM.random(shape), RANDOM.uniform(-1, 1, (shape[0] * shape[2], 1, 2, 2))
        seed = RANDOM.random((len(grid), 1, 1, 2))
        y, slope = made(x, grid, seed)
        np.testing.assert_allclose((slope * x).sum(), (y * seed).sum(), err_msg="a sample is linear in the image")


@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 3, 2, 4)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_matrices_tell_the_axes_of_a_grid_whose_size_only_the_run_knows(size: tuple[int, ...], dtype: str) -> None:
    rank = len(size) - 2
    theta = np.random.default_rng(0).standard_normal((2, rank, rank + 1)).astype(dtype)

    def gridded(theta: Any, size: Any) -> Any:
        return op.AffineGrid(theta, size)

    told = np.array(size)
    wanted = ps.trace(lambda theta: gridded(theta, told), theta)(theta)
    specs = ps.spec(dtype, ["N", rank, rank + 1]), ps.spec("int64", ["K"])
    value, gradient = ps.split(gridded, *specs, wrt="theta").joint()(theta, told, wanted)
    np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.sum(gradient * theta), np.sum(wanted**2), rtol=1e-5)  # a grid is linear in theta


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("padding", ["border", "reflection"])
def test_at_the_pixel_where_padding_begins_the_slope_is_0(padding: str, align: int) -> None:
    """As PyTorch has it, which clips places to the image with a slope of 0 at its ends."""
    size = 4
    ends = np.array([0.0, size - 1.0])
    places = 2 * ends / (size - 1) - 1 if align else (2 * ends + 1) / size - 1
    grid = np.array([[*places, 0.1]]).reshape(1, 1, 3, 1) * np.array([1.0, 0.0]) + np.array([0.0, 0.1])
    x = np.random.default_rng(0).standard_normal((1, 1, 5, size))

    def sampled(grid: Any) -> Any:
        return op.GridSample(x, grid, mode="linear", padding_mode=padding, align_corners=align)

    gradient = ps.grad(lambda grid: np.sum(sampled(grid)))(grid)
    np.testing.assert_array_equal(gradient[0, 0, :2, 0], [0.0, 0.0])
    assert np.abs(gradient[0, 0, 2, 0]) > 1e-3
    assert np.all(np.abs(gradient[..., 1]) > 1e-3)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["border", "reflection"])
@pytest.mark.parametrize("size", [(1, 4), (3, 4), (2, 3, 4)])
def test_the_slopes_at_pixels_are_pytorchs(size: tuple[int, ...], padding: str, align: bool) -> None:
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(1)
    x = random.standard_normal((1, 2, *size))
    grid = np.round(random.uniform(-2, 2, (1, *[4] * len(size), len(size))) * 2) / 2
    there = torch.tensor(grid, requires_grad=True)
    torch.nn.functional.grid_sample(torch.tensor(x), there, "bilinear", padding, align).sum().backward()

    def summed(grid: Any) -> Any:
        return np.sum(op.GridSample(x, grid, mode="linear", padding_mode=padding, align_corners=int(align)))

    np.testing.assert_allclose(ps.grad(summed)(grid), there.grad.numpy(), atol=1e-12)


@pytest.mark.parametrize("row", rows_of("sampling"), ids=str)
def test_a_rule_gives_the_derivative_in_its_promised_form(row: Row) -> None:
    check_derivative(row)

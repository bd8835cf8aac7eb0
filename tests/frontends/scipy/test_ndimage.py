"""scipy.ndimage: SciPy's values by its own names on traced arrays, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.ndimage as scipys

import primsplit as ps
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.testing import check_grads

random = np.random.default_rng(6)
IMAGE = random.standard_normal((5, 6))
VOLUME = random.standard_normal((3, 4, 3))
ROW = random.standard_normal(7)
WEIGHTS = random.standard_normal((3, 2))

MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-wrap", "grid-constant")

FUNCTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    **{
        f"{name} {mode}": ((lambda x, n=name, m=mode: getattr(scipys, n)(x, WEIGHTS, mode=m, cval=0.5)), IMAGE)
        for name in ("correlate", "convolve")
        for mode in MODES
    },
    "convolve a row": (lambda x: scipys.convolve(x, [1.0, 2.0, 3.0, 4.0], origin=1), ROW),
    "convolve a volume": (lambda x: scipys.convolve(x, np.ones((2, 3, 2)), origin=(0, 1, 0)), VOLUME),
    "correlate1d": (lambda x: scipys.correlate1d(x, [1.0, -2.0, 0.5, 3.0], axis=0, mode="wrap", origin=-1), VOLUME),
    "convolve1d": (lambda x: scipys.convolve1d(x, [1.0, -2.0, 0.5, 3.0], axis=1), IMAGE),
    "gaussian_filter": (lambda x: scipys.gaussian_filter(x, 0.8), IMAGE),
    "gaussian_filter by axes": (
        lambda x: scipys.gaussian_filter(x, (0.5, 1.2), order=(1, 0), mode=("wrap", "nearest")), IMAGE
    ),
    "gaussian_filter of some axes": (lambda x: scipys.gaussian_filter(x, 0.5, axes=(0, 2), truncate=3.0), VOLUME),
    "gaussian_filter1d": (lambda x: scipys.gaussian_filter1d(x, 0.7, axis=0, order=2), IMAGE),
    "gaussian_filter1d third": (lambda x: scipys.gaussian_filter1d(x, 0.9, order=3, radius=3), ROW),
    "gaussian_gradient_magnitude": (lambda x: scipys.gaussian_gradient_magnitude(x, 0.7), IMAGE),
    "gaussian_laplace": (lambda x: scipys.gaussian_laplace(x, 0.6), IMAGE),
    "Gaussian derivatives along some axes": (
        lambda x: (
            scipys.gaussian_laplace(x, [0.6, 0.5], mode=["nearest", "wrap"], axes=(0, 2)),
            scipys.gaussian_gradient_magnitude(x, 0.5, axes=1, mode=["mirror"]),
        ),
        VOLUME,
    ),
    "derivatives along no axis": (
        lambda x: (scipys.laplace(x[0]), scipys.gaussian_laplace(x[1], 1.0), scipys.gaussian_laplace(x, 1.0, axes=())),
        ROW,
    ),
    "uniform_filter": (lambda x: scipys.uniform_filter(x, (2, 3)), IMAGE),
    "uniform_filter1d": (lambda x: scipys.uniform_filter1d(x, 4, axis=0, mode="nearest"), IMAGE),
    "sobel": (lambda x: scipys.sobel(x) + scipys.sobel(x, axis=0), IMAGE),
    "prewitt": (lambda x: scipys.prewitt(x, axis=1), VOLUME),
    "laplace": (lambda x: scipys.laplace(x, mode="constant"), IMAGE),
    "correlate along some axes": (
        lambda x: scipys.correlate(x, [[1.0, 2.0, 4.0], [3.0, 0.0, 1.0]], axes=(2, 0), origin=(1, -1)), VOLUME
    ),
    "convolve along an axis": (lambda x: scipys.convolve(x, [1.0, 2.0, 4.0], axes=1), IMAGE),
}  # fmt: skip


@pytest.mark.sweep(12)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(lambda x: function(x), given)


def test_the_width_of_a_gaussian_may_be_traced_with_a_radius() -> None:

    def f(s: Any) -> Any:
        return scipys.gaussian_filter(IMAGE, s, radius=4)

    sigma = np.array(0.9)
    np.testing.assert_allclose(ps.trace(f, sigma)(sigma), f(0.9), rtol=1e-12)
    step = 1e-6
    slope = (np.sum(f(0.9 + step) ** 2) - np.sum(f(0.9 - step) ** 2)) / (2 * step)
    np.testing.assert_allclose(ps.grad(lambda s: np.sum(f(s) ** 2))(sigma), slope, rtol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_the_result_has_the_dtype_of_the_image(dtype: str) -> None:
    image = (IMAGE * 10).astype(dtype)

    def f(x: Any) -> Any:
        return scipys.gaussian_filter(x, 1.0)

    found = ps.trace(f, image)(image)
    assert found.dtype == image.dtype
    if dtype == "float32":
        np.testing.assert_allclose(found, f(image), rtol=1e-5, atol=1e-5)


PIXELS = np.array([[300, 200, 500, 100, 400], [500, 800, 300, 700, 100], [500, 600, 900, 300, 500]])
OF_INTEGERS: dict[str, Callable[..., Any]] = {
    "gaussian_filter": lambda x: scipys.gaussian_filter(x, 1.0, [1, 0]),
    "gaussian_laplace": lambda x: scipys.gaussian_laplace(x, 1.0),
    "gaussian_gradient_magnitude": lambda x: scipys.gaussian_gradient_magnitude(x, 1.0),
    "uniform_filter": lambda x: scipys.uniform_filter(x, 3),
    "gaussian_filter of booleans": lambda x: scipys.gaussian_filter(x > 200, 1.0),
}


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_integers_give_the_integers_that_scipy_gives(name: str) -> None:
    found = ps.trace(lambda x: OF_INTEGERS[name](x), PIXELS.astype(np.int32))(PIXELS.astype(np.int32))
    np.testing.assert_array_equal(found, OF_INTEGERS[name](PIXELS.astype(np.int32)), strict=True)


@pytest.mark.parametrize("size", [1, 4])
def test_one_file_serves_every_size(size: int) -> None:

    def f(x: Any) -> Any:
        return scipys.gaussian_filter(x, 0.3) + scipys.uniform_filter(x, 1)

    program = ps.trace(f, ps.spec("float64", ["M", "N"]))
    np.testing.assert_allclose(program(IMAGE[:size]), f(IMAGE[:size]), rtol=1e-11, atol=1e-12)


def test_what_has_no_form_is_told_at_the_users_line() -> None:
    for error, function in (
        (UnsupportedFunction, lambda x: scipys.gaussian_filter(x, x[0, 0])),
        (ShapeError, lambda x: scipys.correlate(x, [1.0, 2.0])),
        (ShapeError, lambda x: scipys.rank_filter(x, 1, 3, axes=(0, 2))),
    ):
        with pytest.raises(error) as caught:
            ps.trace(function, IMAGE)
        assert caught.value.place is not None
        assert caught.value.place.filename == __file__

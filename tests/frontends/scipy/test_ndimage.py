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
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 1]], bool)
LABELS = np.arange(30).reshape(5, 6) % 3
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
    "dilations": (
        lambda x: (
            scipys.grey_dilation(x, size=(2, 3), origin=(0, 1)),
            scipys.grey_dilation(x, footprint=CROSS, structure=np.arange(9.0).reshape(3, 3) * 0.1),
        ),
        IMAGE,
    ),
    "erosions": (
        lambda x: (
            scipys.grey_erosion(x, footprint=CROSS, mode="constant", cval=0.3),
            scipys.grey_erosion(x, structure=np.arange(6.0).reshape(2, 3) * 0.1),
        ),
        IMAGE,
    ),
    "openings and closings": (lambda x: (scipys.grey_opening(x, 2), scipys.grey_closing(x, (2, 3))), IMAGE),
    "what an opening takes": (lambda x: (scipys.white_tophat(x, 3), scipys.black_tophat(x, 3)), IMAGE),
    "edges by extremes": (
        lambda x: (scipys.morphological_gradient(x, 3), scipys.morphological_laplace(x, 3)), IMAGE
    ),
    "filters of spectra": (
        lambda x: (
            np.fft.ifft2(scipys.fourier_gaussian(np.fft.fft2(x), (1.0, 0.4))).real,
            np.fft.irfft2(scipys.fourier_uniform(np.fft.rfft2(x), 3, n=6)),
            np.fft.ifft2(scipys.fourier_shift(np.fft.fft2(x), (x[0, 0], 0.5))).real,
            scipys.fourier_gaussian(x, 0.3),
        ),
        IMAGE,
    ),
    "labelled pixels": (
        lambda x: (
            scipys.sum_labels(x, LABELS, [0, 2]), scipys.mean(x, LABELS, [0, 1, 2]), scipys.variance(x, LABELS),
            scipys.standard_deviation(x, LABELS, 1), scipys.maximum(x, LABELS, [1, 2]), scipys.minimum(x),
        ),
        IMAGE,
    ),
    "labels that the function makes": (
        lambda x: scipys.sum(x, np.arange(30).reshape(5, 6) % 3, np.array([1, 2])), IMAGE
    ),
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
    "maximum_filter": (lambda x: scipys.maximum_filter(x, size=3), IMAGE),
    "minimum_filter": (lambda x: scipys.minimum_filter(x, footprint=WEIGHTS > -0.5, mode="nearest"), IMAGE),
    "maximum_filter of some axes": (lambda x: scipys.maximum_filter(x, (2, 3), axes=(0, 2), origin=(0, 1)), VOLUME),
    "maximum_filter1d": (lambda x: scipys.maximum_filter1d(x, 4, axis=0, mode="constant", cval=0.3), IMAGE),
    "minimum_filter1d": (lambda x: scipys.minimum_filter1d(x, 3, mode="wrap"), VOLUME),
    "median_filter": (lambda x: scipys.median_filter(x, size=3), IMAGE),
    "median_filter of an even window": (lambda x: scipys.median_filter(x, 2), IMAGE),
    "rank_filter": (lambda x: scipys.rank_filter(x, -2, size=(2, 3)), IMAGE),
    "percentile_filter": (lambda x: scipys.percentile_filter(x, -30, size=5), ROW),
    "percentile_filter of all": (lambda x: scipys.percentile_filter(x, 100, size=5), ROW),
    "labelled centers of mass": (lambda x: np.array(scipys.center_of_mass(x**2 + 1.0, LABELS, [0, 2])), IMAGE),
    "labelled center of mass": (lambda x: np.stack(scipys.center_of_mass(x**2 + 1.0, LABELS, 1)), IMAGE),
    "center_of_mass": (lambda x: np.stack(scipys.center_of_mass(x**2 + 1.0)), VOLUME),
    "sobel": (lambda x: scipys.sobel(x) + scipys.sobel(x, axis=0), IMAGE),
    "prewitt": (lambda x: scipys.prewitt(x, axis=1), VOLUME),
    "laplace": (lambda x: scipys.laplace(x, mode="constant"), IMAGE),
    "binary_erosion": (lambda x: x * scipys.binary_erosion(x > -1, [[1, 1, 0]], 2, border_value=1), IMAGE),
    "correlate along some axes": (
        lambda x: scipys.correlate(x, [[1.0, 2.0, 4.0], [3.0, 0.0, 1.0]], axes=(2, 0), origin=(1, -1)), VOLUME
    ),
    "convolve along an axis": (lambda x: scipys.convolve(x, [1.0, 2.0, 4.0], axes=1), IMAGE),
    "binary_dilation": (lambda x: x * scipys.binary_dilation(x > 1, [[1, 1], [0, 1]], origin=(0, -1)), IMAGE),
    "binary_opening": (lambda x: x * scipys.binary_opening(x > -0.5), VOLUME),
    "binary_closing": (lambda x: x * scipys.binary_closing(x > 0.5, mask=x < 1, iterations=2), IMAGE),
}  # fmt: skip


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(lambda x: function(x), given, symbolic=not name.startswith("label"))


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
    "maximum": lambda x: scipys.maximum(x, LABELS[:3, :5], [0, 2, 7]),
    "minimum": lambda x: scipys.minimum(x, LABELS[:3, :5]),
    "white_tophat": lambda x: scipys.white_tophat(x, 2),
    "black_tophat of booleans": lambda x: scipys.black_tophat(x > 400, 2),
    "morphological_laplace": lambda x: scipys.morphological_laplace(x, 3),
    "gaussian_filter of booleans": lambda x: scipys.gaussian_filter(x > 200, 1.0),
    "one pixel": lambda x: scipys.binary_dilation(x[0, 0]),
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


OUTPUTS: dict[str, Callable[..., Any]] = {
    "correlate": lambda x, o: scipys.correlate(x, WEIGHTS, o),
    "gaussian_filter": lambda x, o: scipys.gaussian_filter(x, 1.0, output=o),
    "sobel": lambda x, o: scipys.sobel(x, 0, o),
    "median_filter": lambda x, o: scipys.median_filter(x, 3, output=o),
    "grey_dilation": lambda x, o: scipys.grey_dilation(x, 3, output=o),
    "binary_erosion": lambda x, o: scipys.binary_erosion(x, output=o),
    "shift": lambda x, o: scipys.shift(x, 0.5, output=o),
    "spline_filter": lambda x, o: scipys.spline_filter(x, output=o),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_output_is_a_dtype_or_an_array_that_is_written(name: str) -> None:
    pixels = PIXELS.astype(np.int32)

    def written(x: Any) -> Any:
        found = np.zeros(x.shape)
        OUTPUTS[name](x, found)
        return found

    def typed(x: Any) -> Any:
        return OUTPUTS[name](x, "float64")

    for f in (written, typed):
        found, wanted = ps.trace(f, pixels)(pixels), f(pixels)
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)
        assert found.dtype == wanted.dtype
    if name not in {"binary_erosion", "median_filter", "grey_dilation"}:
        check_grads(written, IMAGE)


def test_an_output_of_another_shape_or_of_integers_is_refused() -> None:
    with pytest.raises(RuntimeError, match="output shape not correct"):
        ps.trace(lambda x: scipys.gaussian_filter(x, 1.0, output=np.zeros(3)), IMAGE)
    with pytest.raises(UnsupportedFunction, match="output= is int8"):
        ps.trace(lambda x: scipys.gaussian_filter(x, 1.0, output=np.int8), IMAGE)


def test_a_deviation_of_equal_pixels_has_no_slope() -> None:
    slopes = ps.grad(lambda x: np.sum(scipys.standard_deviation(x, [1, 1, 2, 3, 3], [1, 2, 3])))
    np.testing.assert_array_equal(slopes(np.array([1.0, 4.0, 5.0, 7.0, 7.0])), [-0.5, 0.5, 0.0, 0.0, 0.0])

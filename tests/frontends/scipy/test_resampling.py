"""Images at points between pixels: SciPy's values by its own names on traced arrays, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.ndimage as scipys

import primsplit as ps
from primsplit.ir.errors import NumberAsked, ShapeError, UnsupportedFunction
from tests.numpy.agreement import check_grads

random = np.random.default_rng(6)
IMAGE = random.standard_normal((5, 6))
WIDE = random.standard_normal((14, 16))
VOLUME = random.standard_normal((3, 4, 3))
ROW = random.standard_normal(7)
POINTS = np.array([[0.3, 2.6, 3.9, -0.4, 9.7, -7.3], [1.2, 4.7, 0.6, 2.2, 13.4, -3.1]])
MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-wrap", "grid-constant")
MATRIX = np.array([[0.9, 0.2], [-0.3, 1.1]])
HOMOGENEOUS = np.array([[0.9, 0.2, 0.3], [-0.3, 1.1, -0.4], [0.0, 0.0, 1.0]])

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "map_coordinates": lambda x, **o: scipys.map_coordinates(x, POINTS, **o),
    "map_coordinates of coefficients": lambda x, **o: scipys.map_coordinates(x, POINTS, prefilter=False, **o),
    "shift": lambda x, **o: scipys.shift(x, (1.3, -0.8), **o),
    "zoom": lambda x, **o: scipys.zoom(x, (1.3, 2), **o),
    "zoom of a grid": lambda x, **o: scipys.zoom(x, (0.7, 2), grid_mode=True, **o),
    "affine_transform": lambda x, **o: scipys.affine_transform(x, MATRIX, (0.3, 0.2), **o),
    "affine_transform of axes": lambda x, **o: scipys.affine_transform(x, [0.9, 1.2], 0.3, (5, 8), **o),
    "affine_transform, homogeneous": lambda x, **o: scipys.affine_transform(x, HOMOGENEOUS, **o),
    "rotate": lambda x, **o: scipys.rotate(x, 35.0, **o),
    "rotate, sizes kept": lambda x, **o: scipys.rotate(x, -35.0, reshape=False, **o),
    "rotate by a right angle": lambda x, **o: scipys.rotate(x, 270, **o),
}


def check_values(name: str, order: int, mode: str) -> None:
    """SciPy's coefficients of half mirrored images are right to a pole to the power of twice the size only."""
    atol = 1e-6 if mode in {"reflect", "grid-mirror"} and order > 1 else 1e-12

    def f(x: Any) -> Any:
        return FUNCTIONS[name](x, order=order, mode=mode, cval=0.5)

    np.testing.assert_allclose(ps.trace(f, WIDE)(WIDE), f(WIDE), atol=atol)


@pytest.mark.sweep(8)
@pytest.mark.filterwarnings("ignore:It is recommended")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_of_cubic_splines_are_scipys(name: str) -> None:
    for mode in ("constant", "grid-constant"):
        check_values(name, 3, mode)


@pytest.mark.sweep(6)
@pytest.mark.filterwarnings("ignore:It is recommended")
@pytest.mark.parametrize("mode", MODES)
def test_values_of_every_mode_are_scipys(mode: str) -> None:
    for name, order in (
        ("map_coordinates", 1), ("map_coordinates of coefficients", 3), ("shift", 3), ("zoom of a grid", 2),
    ):  # fmt: skip
        check_values(name, order, mode)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("order", range(6))
def test_values_of_every_order_are_scipys(order: int) -> None:
    for name in ("shift", "affine_transform"):
        check_values(name, order, "mirror")


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    "mode", ["reflect", "grid-wrap", *(pytest.param(m, marks=pytest.mark.slow) for m in ("mirror", "nearest"))]
)
def test_a_spline_goes_through_the_pixels(mode: str) -> None:
    places = np.indices(IMAGE.shape)
    for order in range(6):
        found = ps.trace(lambda x, n=order: scipys.map_coordinates(x, places, order=n, mode=mode), IMAGE)(IMAGE)
        np.testing.assert_allclose(found, IMAGE, atol=1e-14)


def test_volumes_and_rows_are_scipys() -> None:
    for f, x in (
        (lambda x: scipys.rotate(x, 20.0, axes=(2, 0)), VOLUME),
        (lambda x: scipys.rotate(x, 20.0, reshape=False, mode="nearest"), VOLUME),
        (lambda x: scipys.shift(x, 0.4, mode="wrap"), VOLUME),
        (lambda x: scipys.map_coordinates(x, POINTS[:1], mode="mirror"), ROW),
        (lambda x: scipys.zoom(x, 1), ROW),
    ):
        np.testing.assert_allclose(ps.trace(f, x)(x), f(x), atol=1e-12)


GRADIENTS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "map_coordinates": (lambda x, p, q: scipys.map_coordinates(x, [p, q]), (IMAGE, *POINTS)),
    "map_coordinates, linear": (lambda x, p, q: scipys.map_coordinates(x, [p, q], order=1), (IMAGE, *POINTS)),
    "map_coordinates, nearest": (lambda x: scipys.map_coordinates(x, POINTS, order=0, mode="nearest"), (IMAGE,)),
    "map_coordinates, wrapped": (lambda x, p: scipys.map_coordinates(x, p, mode="wrap"), (ROW, POINTS[:1])),
    "shift": (lambda x, s: scipys.shift(x, s, mode="grid-wrap"), (IMAGE, np.array(-1.2))),
    "shift to the edge": (lambda x: scipys.shift(x, 0.4, mode="nearest"), (ROW,)),
    "zoom": (lambda x: scipys.zoom(x, (2, 3), mode="mirror"), (IMAGE,)),
    "zoom by a fraction": (lambda x: scipys.zoom(x, (1.5, 0.7), mode="mirror"), (IMAGE,)),
    "affine_transform": (lambda x, m: scipys.affine_transform(x, m, 0.317, mode="mirror"), (IMAGE[:3, :4], MATRIX)),
    "rotate": (lambda x: scipys.rotate(x, 30.0, reshape=False), (IMAGE,)),
    "spline_filter": (lambda x: scipys.spline_filter(x, 4), (IMAGE[:3, :4],)),
    "spline_filter1d": (lambda x: scipys.spline_filter1d(x, 3, axis=0), (IMAGE,)),
}


LONG = {"spline_filter", "map_coordinates, wrapped", "shift to the edge"}
"""Programs like those of other rows, or of many poles: slow tests."""


@pytest.mark.sweep(12)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in GRADIENTS])
def test_gradients_agree_with_central_differences(name: str) -> None:
    function, args = GRADIENTS[name]
    sizes_are_known = name == "affine_transform"
    check_grads(lambda *xs: function(*xs), *args, symbolic=not sizes_are_known, resize=(1,), step=1e-4)


def test_an_angle_may_be_traced() -> None:
    check_grads(lambda a: scipys.rotate(IMAGE, a, reshape=False, mode="grid-wrap"), np.array(30.3))


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_the_result_has_the_dtype_of_the_image(dtype: str) -> None:
    image = (IMAGE * 10).astype(dtype)

    def f(x: Any) -> Any:
        return scipys.shift(x, 0.3)

    found = ps.trace(f, image)(image)
    assert found.dtype == image.dtype
    np.testing.assert_allclose(found, f(image), rtol=1e-5, atol=1e-5)


def test_what_has_no_form_is_told_at_the_users_line() -> None:
    symbols = ps.spec("float64", ["M", "N"])
    for error, function in (
        (UnsupportedFunction, lambda x: scipys.rotate(x, x[0, 0])),
        (UnsupportedFunction, lambda x: scipys.zoom(x, x[0, 0])),
        (NumberAsked, lambda x: scipys.rotate(x, 30.0)),
        (ShapeError, lambda x: scipys.shift(x, 1.0, mode="sideways")),
    ):
        with pytest.raises(error) as caught:
            ps.trace(function, symbols)
        assert caught.value.place is not None
        assert caught.value.place.filename == __file__

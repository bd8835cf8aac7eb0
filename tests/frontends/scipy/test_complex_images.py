"""scipy.ndimage of complex images: SciPy's values by its own names, and gradients by both parts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.ndimage as nd

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads

RANDOM = np.random.default_rng(2)
IMAGE = RANDOM.standard_normal((5, 6)) + 1j * RANDOM.standard_normal((5, 6))
WEIGHTS = np.array([[0.2, 0.5, -0.3], [1.0, 0.4, 0.1]])
PLACES = np.array([[0.5, 3.2], [1.25, 6.0]])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "convolve": lambda z: nd.convolve(z, WEIGHTS, mode="constant", cval=1 + 2j),
    "correlate1d": lambda z: nd.correlate1d(z, WEIGHTS[0], axis=0) + nd.convolve1d(z, WEIGHTS[0]),
    "correlate": lambda z: nd.correlate(z, WEIGHTS, mode="wrap"),
    "gaussian": lambda z: nd.gaussian_filter(z, 0.5) * nd.gaussian_filter1d(z, 0.6),
    "uniform": lambda z: nd.uniform_filter(z, 3) * nd.uniform_filter1d(z, 2),
    "slopes": lambda z: nd.sobel(z) + nd.prewitt(z, axis=0) + nd.laplace(z) * nd.gaussian_laplace(z, 0.5),
    "map_coordinates": lambda z: nd.map_coordinates(z, PLACES, order=1, cval=1j),
    "moved": lambda z: nd.shift(z, 0.5, order=1) + nd.rotate(z, 20.0, reshape=False, order=1),
    "zoom": lambda z: nd.zoom(z, 2, order=1),
    "affine_transform": lambda z: nd.affine_transform(z, [0.5, 0.7], order=1),
}  # fmt: skip


@pytest.mark.sweep(9)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    def f(x: Any, y: Any) -> Any:
        found = FUNCTIONS[name](x + 1j * y)
        return found.real, found.imag

    check_grads(f, IMAGE.real, IMAGE.imag, symbolic=False, value_tolerance=1e-11)


def test_complex64_stays() -> None:
    image = IMAGE.astype(np.complex64)
    found, wanted = ps.trace(lambda z: nd.laplace(z), image)(image), nd.laplace(image)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        lambda z: nd.convolve(z, [[1j, 2]]),
        lambda z: nd.laplace(z, output=np.complex64),
        lambda z: nd.gaussian_gradient_magnitude(z, 1.0),
    ],
)
def test_what_is_not_linear_in_the_image_is_refused(function: Any) -> None:
    with pytest.raises(UnsupportedFunction, match="complex"):
        ps.trace(function, IMAGE)


def test_polynomials_of_complex_coefficients_are_numpys() -> None:
    p, q = IMAGE[0], IMAGE[1, :3]

    def f(p: Any, q: Any) -> Any:
        first, second = np.poly1d(p), np.poly1d(q)
        return first(0.3), (first * second).coeffs, (first + second).coeffs, first.deriv().coeffs

    for found, wanted in zip(ps.trace(f, p, q)(p, q), f(p, q), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)

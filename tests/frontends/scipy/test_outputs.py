"""The `output=` of scipy.ndimage's functions: a dtype of the result, or an array that is written."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.ndimage as scipys

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads

random = np.random.default_rng(6)
IMAGE = random.standard_normal((5, 6))
WEIGHTS = random.standard_normal((3, 2))
PIXELS = np.array([[300, 200, 500, 100, 400], [500, 800, 300, 700, 100], [500, 600, 900, 300, 500]])

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


@pytest.mark.sweep(8)
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

"""How a transform of n numbers is computed: by matrices, factors, the operator or a convolution."""

from typing import Any

import numpy as np

import primsplit as ps


def filtered(x: Any, h: Any) -> Any:
    n = x.shape[-1] + h.shape[-1] - 1
    return np.fft.irfft(np.fft.rfft(x, n) * np.fft.rfft(h, n), n)


def test_a_convolution_in_float32_is_as_near_as_numpys() -> None:
    rng = np.random.default_rng(5)
    x, h = rng.normal(size=1000).astype("float32"), rng.normal(size=30).astype("float32")
    wanted = np.convolve(x.astype(float), h.astype(float))
    for specs in ((x, h), (ps.spec("float32", ["N"]), ps.spec("float32", ["M"]))):
        found = ps.trace(filtered, *specs)(x, h)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, atol=1e-6 * np.abs(wanted).max())


def test_the_gradient_of_a_size_without_small_factors_is_right() -> None:
    for n in (131, 150):
        x = np.random.default_rng(n).normal(size=n)

        def loss(x: Any, n: int = n) -> Any:
            return np.sum(np.abs(np.fft.rfft(x)) ** 2 * np.arange(n // 2 + 1)) / n

        k = np.minimum(np.arange(n), n - np.arange(n))
        k[n // 2 :: n] *= 2 - n % 2
        wanted = np.fft.ifft(np.fft.fft(x) * k).real
        np.testing.assert_allclose(ps.grad(loss)(x), wanted, rtol=0, atol=1e-11)
        unsized = ps.trace(ps.grad(loss), ps.spec("float64", ["N"]))
        np.testing.assert_allclose(unsized(x), wanted, rtol=0, atol=1e-11)

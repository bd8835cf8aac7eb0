"""np.fft against NumPy itself, and its gradients against central differences, at sizes that only the run knows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, ShapeError
from tests.numpy.agreement import check_agrees, check_grads, gapped

X, Y = gapped(3, 5, seed=1), gapped(3, 5, seed=2)
C = gapped(2, 4, 3)
SIZES = (1, 2, 3, 8, 12, 64, 97, 128, 131, 150, 400, 514, 1021)
"""One for each way of computing: a matrix, two, the operator, a convolution."""


def parts(z: Any) -> Any:
    """A complex array as real ones."""
    return z.real, z.imag


def whole(x: Any, y: Any) -> Any:
    """The complex array with these parts."""
    return x + 1j * y


TRANSFORMS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "fft": (lambda x, y: np.fft.fft(whole(x, y)), np.fft.fft),
    "ifft": (lambda x, y: np.fft.ifft(whole(x, y)), np.fft.ifft),
    "rfft": (lambda x, y: np.fft.rfft(x), np.fft.fft),
    "ihfft": (lambda x, y: np.fft.ihfft(x), np.fft.fft),
    "irfft": (lambda x, y: np.fft.irfft(whole(x, y)), np.fft.fft),
    "hfft": (lambda x, y: np.fft.hfft(whole(x, y)), np.fft.fft),
    "fft of reals": (lambda x, y: np.fft.fft(x), np.fft.fft),
    "ifft of reals": (lambda x, y: np.fft.ifft(x), np.fft.fft),
    "irfft of reals": (lambda x, y: np.fft.irfft(x), np.fft.fft),
}


@pytest.mark.sweep(6)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_of_any_size_is_numpys(name: str, dtype: str) -> None:
    function = TRANSFORMS[name][0]
    symbolic = ps.trace(lambda x, y: parts(function(x, y)), *[ps.spec(dtype, ["B", "N"])] * 2)
    for n in SIZES[1 if name in {"irfft", "hfft", "irfft of reals"} else 0 :]:
        x, y = np.random.default_rng(n).normal(size=(2, 2, n)).astype(dtype)
        wanted = function(x, y)
        allowed = (1e-6 if dtype == "float32" else 4e-15) * np.abs(wanted).max()
        for program in (symbolic, ps.trace(lambda x, y: parts(function(x, y)), x, y)):
            found = program(x, y)
            assert found[0].dtype == dtype
            np.testing.assert_allclose(found[0], wanted.real, rtol=0, atol=allowed)
            np.testing.assert_allclose(found[1], wanted.imag, rtol=0, atol=allowed)


OPTIONS: list[dict[str, Any]] = [
    {"n": 3}, {"n": 8}, {"n": 7, "axis": 0}, {"axis": 0, "norm": "ortho"}, {"norm": "forward"}, {"norm": "backward"},
    {"n": 1}, {"n": 6, "axis": -2, "norm": "ortho"},
]  # fmt: skip
DIFFERENTIATED = OPTIONS[2:4]


@pytest.mark.sweep(4)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("function", [np.fft.fft, np.fft.ifft, np.fft.irfft, np.fft.hfft])
def test_sizes_axes_and_norms_are_numpys(function: Any, options: Any) -> None:
    check_agrees(lambda x, y: parts(function(whole(x, y), **options)), X, Y)
    if options in DIFFERENTIATED:
        check_grads(lambda x, y: parts(function(whole(x, y), **options)), X, Y, resize=(1,))


@pytest.mark.sweep(4)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("function", [np.fft.rfft, np.fft.ihfft, np.fft.fft, np.fft.ifft])
def test_sizes_axes_and_norms_of_real_arrays_are_numpys(function: Any, options: Any) -> None:
    check_agrees(lambda x: parts(function(x, **options)), X)
    if options in DIFFERENTIATED:
        check_grads(lambda x: parts(function(x, **options)), X, resize=(1,))


MANY: list[tuple[Any, dict[str, Any]]] = [
    (np.fft.fftn, {}), (np.fft.fftn, {"axes": (0, 2), "norm": "ortho"}), (np.fft.fftn, {"s": (3, 5), "axes": (2, 0)}),
    (np.fft.fft2, {}), (np.fft.fft2, {"s": (2, -1)}), (np.fft.ifft2, {"axes": (0, 1)}), (np.fft.ifftn, {}),
    (np.fft.rfftn, {}), (np.fft.rfft2, {"s": (3, 4)}), (np.fft.rfftn, {"axes": (1, 0), "norm": "forward"}),
    (np.fft.irfftn, {}), (np.fft.irfft2, {"s": (4, 5)}), (np.fft.irfftn, {"axes": (2, 1), "norm": "ortho"}),
]  # fmt: skip


@pytest.mark.sweep(9)
@pytest.mark.parametrize(("function", "options"), MANY, ids=lambda v: getattr(v, "__name__", str(v)))
def test_transforms_over_several_axes_are_numpys(function: Any, options: Any) -> None:
    check_agrees(lambda x: parts(function(x, **options)), C)
    check_grads(lambda x: parts(function(x, **options)), C, symbolic=function is np.fft.irfft2, resize=(2,))
    if function not in {np.fft.rfftn, np.fft.rfft2}:
        check_agrees(lambda x, y: parts(function(whole(x, y), **options)), C, C[::-1], symbolic=False)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "bool", "uint8"])
def test_a_transform_has_the_dtype_that_numpy_gives_it(dtype: str) -> None:
    x = (X > 0).astype(dtype)
    for function in (np.fft.fft, np.fft.rfft, np.fft.ifft):
        found = ps.trace(lambda x, f=function: parts(f(x)), x)(x)
        assert found[0].dtype == function(x).real.dtype
    assert ps.trace(np.fft.irfft, x)(x).dtype == np.fft.irfft(x).dtype


def filtered(x: Any, h: Any) -> Any:
    n = x.shape[-1] + h.shape[-1] - 1
    return np.fft.irfft(np.fft.rfft(x, n) * np.fft.rfft(h, n), n)


def spectral_derivative(x: Any) -> Any:
    k = 2 * np.pi * np.fft.fftfreq(x.shape[-1], 0.1)
    return np.fft.ifft(1j * k * np.fft.fft(x)).real


def windowed(x: Any) -> Any:
    n = x.shape[-1]
    return np.abs(np.fft.rfft(x * np.hanning(n))) * np.fft.rfftfreq(n), (2j * n / (n + 1j)).imag


def stft(x: Any) -> Any:
    frames = np.lib.stride_tricks.sliding_window_view(x, 6, axis=-1)[..., ::2, :]
    return np.abs(np.fft.rfft(frames * np.hanning(6))) ** 2


def autocorrelation(x: Any) -> Any:
    n = x.shape[-1]
    z = np.fft.fft(x, 2 * n)
    return np.fft.ifft(z * z.conj()).real[..., :n] / n


def analytic_signal(x: Any) -> Any:
    z = np.fft.fft(x)
    weight = np.array([1.0, 2.0, 2.0, 0.0, 0.0])
    z = np.fft.ifft(z * weight)
    return np.abs(z), np.angle(z)


def low_pass(x: Any) -> Any:
    z = np.fft.rfft(x)
    z[..., 2:] = 0
    z[..., 0] *= 0.5
    return np.fft.irfft(z, x.shape[-1])


def whitened(x: Any) -> Any:
    z = np.fft.fftshift(np.fft.fft2(x))
    return np.fft.ifft2(np.fft.ifftshift(z / (np.abs(z) + 0.1))).real


def cross_power(x: Any) -> Any:
    z = np.fft.rfft(x - x.mean(axis=-1, keepdims=True), norm="ortho")
    cross = np.einsum("if,jf->ij", z, np.conj(z))
    return np.abs(cross) ** 2, np.log(np.sum(np.abs(z) ** 2, axis=-1))


def inner_of_fourier_modes(x: Any) -> Any:
    n = x.shape[-1]
    modes = np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(3)) / n)
    return np.abs(x @ modes)


USED: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (filtered, (X, X[0, :3])), (spectral_derivative, (X,)), (stft, (gapped(2, 12),)), (autocorrelation, (X,)),
    (windowed, (X,)),
    (analytic_signal, (X,)), (low_pass, (X,)), (whitened, (X,)), (cross_power, (X,)), (inner_of_fourier_modes, (X,)),
]  # fmt: skip
FIXED = {stft, analytic_signal}
"""Those whose code tells the size."""


@pytest.mark.sweep(8)
@pytest.mark.parametrize(("function", "args"), USED, ids=lambda v: getattr(v, "__name__", ""))
def test_what_people_write_with_transforms_has_right_gradients(function: Any, args: Any) -> None:
    check_agrees(function, *args, symbolic=function not in FIXED)
    check_grads(function, *args, symbolic=function not in FIXED, resize=(2,))


def test_frequencies_have_derivatives_in_the_spacing() -> None:
    check_grads(lambda x: x * np.fft.fftfreq(x.shape[0], x[0]), np.array([0.4, -1.3, 0.8]), resize=(1,))


def test_the_namespace_takes_such_sizes_too() -> None:
    def shifted(x: Any) -> Any:
        return x * ps.numpy.fft.fftfreq(x.shape[0]) * ps.numpy.hanning(x.shape[0])

    for n in (5, 1):
        found = ps.trace(shifted, ps.spec("float64", ["N"]))(X[0, :n])
        np.testing.assert_allclose(found, X[0, :n] * np.fft.fftfreq(n) * np.hanning(n), rtol=1e-13, atol=1e-16)


def test_a_transform_has_derivatives_forwards_and_of_second_order_and_for_batches() -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.abs(np.fft.rfft(x)) ** 4)

    x, v = X[0], Y[0]
    step = 1e-5
    tangent = (loss(x + step * v) - loss(x - step * v)) / (2 * step)
    np.testing.assert_allclose(ps.jvp(loss, (x,), (v,))[1], tangent, rtol=1e-7)
    slope = ps.grad(loss)
    wanted = (slope(x + step * v) - slope(x - step * v)) / (2 * step)
    np.testing.assert_allclose(ps.hessian(loss)(x) @ v, wanted, rtol=1e-6)
    rows = ps.vmap(slope)(X)
    np.testing.assert_allclose(rows, np.stack([slope(row) for row in X]), rtol=1e-12)


def test_transforms_of_sizes_that_only_the_run_knows_are_batched() -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.abs(np.fft.rfft(x)) ** 3)

    rows = ps.trace(lambda x: ps.vmap(ps.grad(loss))(x), ps.spec("float64", ["B", "N"]))
    for n in (1, 5, 8):
        x = gapped(3, n)
        np.testing.assert_allclose(rows(x), np.stack([ps.grad(loss)(row) for row in x]), rtol=1e-10, atol=1e-12)


def test_what_a_transform_is_made_of_is_no_array_from_outside() -> None:
    for spec in (X, ps.spec("float64", ["B", "N"]), np.ones((1, 131)), np.ones((1, 150))):
        ps.trace(lambda x: np.fft.irfft(np.fft.rfft(x, norm="ortho") * 2j / (1 + 1j)), spec, freeze="error")


@pytest.mark.parametrize("function", [np.fft.fft, np.fft.rfft, np.fft.irfft, np.fft.fftn])
def test_an_empty_or_missing_axis_is_refused_at_the_users_line(function: Any) -> None:
    for options in ({"n": 0}, {"axis": 2}) if function is not np.fft.fftn else ({"s": (0,), "axes": (0,)},):
        with pytest.raises(ShapeError) as caught:
            ps.trace(lambda x, o=options: np.abs(function(x, **o)), X)
        assert "test_functions.py" in str(caught.value)


def test_rfft_of_a_complex_array_is_refused_at_the_users_line() -> None:
    with pytest.raises(DtypeError, match="takes real arrays") as caught:
        ps.trace(lambda x: np.abs(np.fft.rfft(1j * x)), X)
    assert "test_functions.py" in str(caught.value)

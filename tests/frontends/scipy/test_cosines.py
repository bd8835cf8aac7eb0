"""scipy.fft's cosine and sine transforms: SciPy's values of every type, norm and length, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.fftpack

import primsplit as ps
from primsplit.ir.errors import ShapeError
from primsplit.testing import check_grads

X = np.random.default_rng(0).standard_normal(7)
TABLE = np.random.default_rng(1).standard_normal((4, 6))
TRANSFORMS = ("dct", "idct", "dst", "idst")


@pytest.mark.sweep(3)
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_cosine_or_sine_transform_is_scipys_for_every_length(name: str, kind: int, norm: Any) -> None:
    function = getattr(scipy.fft, name)
    program = ps.trace(lambda x: function(x, type=kind, norm=norm), ps.spec("float64", [2, "N"]))
    for count in (7, 8, 2, 1)[: 3 if kind == 1 and "dct" in name else 4]:
        x = np.random.default_rng(count).standard_normal((2, count))
        np.testing.assert_allclose(program(x), function(x, type=kind, norm=norm), rtol=1e-12, atol=1e-13)


@pytest.mark.sweep(6)
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_cosine_or_sine_transform_has_its_gradients(name: str, kind: int) -> None:
    function = getattr(scipy.fft, name)
    check_grads(lambda x: function(x, kind, norm="ortho") ** 2, X, resize=(1 + (kind == 1),))


def test_a_cosine_transform_of_float32_is_float32() -> None:
    x = X.astype(np.float32)
    found = ps.trace(lambda x: scipy.fft.dct(x), x)(x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, scipy.fft.dct(x), rtol=3e-6, atol=3e-6)


FORMS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "cut": (lambda x: scipy.fft.dct(x, n=4, axis=0), X),
    "filled": (lambda x: scipy.fft.idst(x, 3, 9), X),
    "orthogonalized alone": (lambda x: scipy.fft.dct(x, 1, orthogonalize=True), X),
    "not orthogonalized": (lambda x: scipy.fft.dct(x, norm="ortho", orthogonalize=False), X),
    "over both axes": (lambda x: scipy.fft.dctn(x, norm="ortho"), TABLE),
    "back over both axes": (lambda x: scipy.fft.idctn(x, 3, s=[3, 8], axes=[0, 1]), TABLE),
    "sines over the last axis": (lambda x: scipy.fft.dstn(x, s=5, axes=-1), TABLE),
    "sines back": (lambda x: scipy.fft.idstn(x, 4), TABLE),
    "of complex numbers": (lambda x: np.abs(scipy.fft.dct(x[:3] + 1j * x[4:])), X),
}


def test_what_scipy_refuses_is_told() -> None:
    with pytest.raises(ShapeError, match="two numbers at least"):
        ps.trace(lambda x: scipy.fft.dct(x, 1), np.ones(1))
    with pytest.raises(ShapeError, match="no transform of type 5"):
        ps.trace(lambda x: scipy.fft.dct(x, 5), np.ones(4))


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FORMS)
def test_a_transform_in_the_forms_of_scipy_has_its_values_and_gradients(name: str) -> None:
    function, x = FORMS[name]
    check_grads(lambda x: function(x), x, resize=(2 if "alone" in name else 1,))

"""Functions of SciPy give the dtype that SciPy gives for float32 and integers: float64 where it computes in that."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.ndimage
import scipy.spatial.distance
import scipy.special
import scipy.stats

import primsplit as ps

U, V = np.array([3.0, 1, 4, 2]), np.array([2.0, 7, 1, 8])
MATRIX = np.array([[5.0, 1, 2], [0, 6, 1], [2, 1, 7]])
LINALG: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "det": (lambda a: scipy.linalg.det(a), (MATRIX,)),
    "det of a stack": (lambda a: scipy.linalg.det(a), (np.stack([MATRIX, MATRIX.T]),)),
    "solve_toeplitz": (lambda c, b: scipy.linalg.solve_toeplitz(c, b), (MATRIX[0], MATRIX[1])),
    "matmul_toeplitz": (lambda c, x: scipy.linalg.matmul_toeplitz((c, c), x), (MATRIX[0], MATRIX)),
    "solve_discrete_lyapunov": (lambda a, q: scipy.linalg.solve_discrete_lyapunov(a, q), (MATRIX, MATRIX)),
    "solve_continuous_lyapunov": (lambda a, q: scipy.linalg.solve_continuous_lyapunov(a, q), (MATRIX, MATRIX)),
    "logm": (lambda a: scipy.linalg.logm(a), (MATRIX,)),
    "expm_frechet": (lambda a: scipy.linalg.expm_frechet(a, a, compute_expm=False), (MATRIX,)),
    "a whole power": (lambda a: scipy.linalg.fractional_matrix_power(a, 2), (MATRIX,)),
    "center_of_mass": (lambda a: np.stack(scipy.ndimage.center_of_mass(a)), (MATRIX,)),
    "factorial": (lambda x: scipy.special.factorial(x), (U,)),
    **{f"spherical_{k}n": (lambda x, k=k: getattr(scipy.special, f"spherical_{k}n")(2, x), (U,)) for k in "jyik"},
    "sem": (lambda x: scipy.stats.sem(x), (U,)),
    "iqr": (lambda x: scipy.stats.iqr(x), (U,)),
    "linregress": (lambda x, y: scipy.stats.linregress(x, y).slope, (U, V)),
}
DISTANCES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{
        name: (lambda u, v, n=name: getattr(scipy.spatial.distance, n)(u, v), (U, V))
        for name in ("braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean")
    },
    "jensenshannon": (lambda u, v: scipy.spatial.distance.jensenshannon(u, v), (U, V)),
    "minkowski": (lambda u, v: scipy.spatial.distance.minkowski(u, v, 3), (U, V)),
    "sqeuclidean": (lambda u, v: scipy.spatial.distance.sqeuclidean(u, v), (U, V)),
    "with weights": (lambda u, v, w: scipy.spatial.distance.cityblock(u, v, w), (U, V, U)),
    "mahalanobis": (lambda u, v, m: scipy.spatial.distance.mahalanobis(u, v, m), (MATRIX[0], MATRIX[1], MATRIX)),
    "cdist": (lambda a, b: scipy.spatial.distance.cdist(a, b, "cosine"), (MATRIX, MATRIX.T)),
}
FUNCTIONS = LINALG | DISTANCES
WIDE = {"euclidean", "linregress"}
"""Functions whose result is float64 in SciPy up to 1.17; SciPy 1.18 keeps float32."""


def check(name: str, dtype: str, rtol: float) -> None:
    function, args = FUNCTIONS[name]
    given = [a.astype(dtype) for a in args]
    found, wanted = ps.trace(function, *given)(*given), function(*given)
    assert np.asarray(found).dtype == (np.float64 if name in WIDE else np.asarray(wanted).dtype)
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol / 10)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
def test_of_float32_there_is_what_scipy_gives(name: str) -> None:
    check(name, "float32", 3e-5)


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - {"chebyshev", "cityblock", "a whole power"}))
@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
def test_of_integers_there_is_float64(name: str) -> None:
    check(name, "int64", 1e-9)


@pytest.mark.parametrize("name", ["cosine", "minkowski", "jensenshannon", "sem", "iqr"])
def test_of_float16_there_is_what_scipy_gives(name: str) -> None:
    check(name, "float16", 5e-3)

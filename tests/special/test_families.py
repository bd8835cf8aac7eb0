"""SciPy's exponential and elliptic integrals, K0 and K1, zeta, W, polynomials, choices, functions of distributions.

Values are SciPy's, whose own errors are part of the units in the last place that are allowed; gradients agree with
central differences.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from primsplit.ir.errors import MissingRule, UnsupportedFunction
from tests.numpy.agreement import check_grads

Function = Callable[..., Any]
POSITIVE = np.concatenate([[0.0, np.inf, np.nan, -1.0], 10.0 ** np.arange(-14, 3), np.linspace(0.01, 30, 61), [600.0]])
BOTH = np.concatenate([POSITIVE, -POSITIVE[4:]])
UNIT = np.concatenate([[0.0, 1.0, np.nan, -0.1, 1.1], 10.0 ** -np.arange(1, 16), np.linspace(0.01, 0.99, 33)])
DEGREES = np.array([0, 1, 2, 3, 7])[:, None]
ORDERS = np.array([0, 1, 2, 3, 9])[:, None]
SHAPES = np.array([0.3, 1.0, 2.2, 17.0])[:, None]

ANGLES = np.concatenate([np.linspace(-7, 7, 31), [0.0, 1e-9, np.pi / 2]])
PARAMETERS = np.array([-1e4, -2.0, -0.1, 0.0, 1e-9, 0.3, 0.99, 1.5, np.nan])[:, None]
THREE = (np.array([1e-9, 0.4, 2.0])[:, None, None], np.array([0.0, 0.3, 1e5])[:, None], np.array([0.7, 1e-3, 2.0]))
RATIOS = np.array([-np.inf, -3.0, -1.0, 0.0, 1e-9, 0.3, 1.0001, 1e9, np.inf, np.nan])


def lambert(x: Any, branch: int = 0) -> Any:
    return sp.lambertw(x, branch).real


VALUES: dict[str, tuple[Function, tuple[Any, ...], float]] = {
    "exp1": (sp.exp1, (POSITIVE,), 16), "expi": (sp.expi, (BOTH,), 16), "expn": (sp.expn, (ORDERS + 0.5, POSITIVE), 64),
    "k0": (sp.k0, (POSITIVE,), 16), "k1": (sp.k1, (POSITIVE,), 16), "k0e": (sp.k0e, (POSITIVE,), 16),
    "k1e": (sp.k1e, (POSITIVE,), 16),
    "ellipk": (sp.ellipk, (np.concatenate([np.linspace(-3, 1, 41), [1 - 1e-9, 1.5, -1e5, np.nan]]),), 16),
    "ellipe": (sp.ellipe, (np.concatenate([np.linspace(-3, 1, 41), [1 - 1e-9, 1.5, -1e5, np.nan]]),), 64),
    "ellipkm1": (sp.ellipkm1, (10.0 ** -np.arange(0, 300, 7.0),), 16),
    "zeta of two": (lambda x, q: sp.zeta(x, q), (np.array([[0.5], [1], [1.1], [40]]), np.array([0.2, 1, 30])), 16),
    "zeta": (lambda x: sp.zeta(x), (np.array([-7.3, -2.0, 0.0, 0.5, 1.0, 1.01, 3.0, 60.0, np.nan]),), 64),
    "lambertw": (lambert, (np.concatenate([np.linspace(-0.36, 5, 40), 10.0 ** np.arange(1, 300, 20)]),), 64),
    "lambertw below": (lambda x: lambert(x, -1), (-np.concatenate([np.linspace(0.01, 0.36, 9), [1e-9, 1e-99]]),), 64),
    "polygamma": (lambda x: sp.polygamma(2, x), (POSITIVE[6:],), 32),
    "dawsn": (sp.dawsn, (BOTH,), 64), "erfi": (sp.erfi, (np.clip(BOTH, -20, 20),), 512),
    "fresnel": (lambda x: np.stack(sp.fresnel(x)), (BOTH,), 64), "spence": (sp.spence, (BOTH,), 64),
    "sici": (lambda x: sp.sici(x)[0], (BOTH,), 16), "ci": (lambda x: sp.sici(x)[1], (BOTH,), 2048),
    "shichi": (lambda x: np.stack(sp.shichi(x)), (BOTH,), 64),
    "ellipkinc": (sp.ellipkinc, (ANGLES, PARAMETERS), 32), "ellipeinc": (sp.ellipeinc, (ANGLES, PARAMETERS), 64),
    "elliprf": (sp.elliprf, THREE, 16), "elliprd": (sp.elliprd, THREE, 32), "elliprg": (sp.elliprg, THREE, 16),
    "elliprj": (sp.elliprj, (*(a[..., None] for a in THREE), np.array([0.7, -0.3, 1e-7, 1e9])), 1024),
    "owens_t": (sp.owens_t, (np.array([-2.0, 0.0, 1e-9, 0.7, 1.3, 50.0, np.inf, np.nan])[:, None], RATIOS), 32),
    "elliprc": (sp.elliprc, (np.array([0.0, 1e-9, 0.4, 2.0]), np.array([[0.3], [7.0], [0.4], [-2.0]])), 16),
    "agm": (sp.agm, (np.array([-3.0, 0.0, 1e-200, 0.4, 7.0, np.nan]), np.array([[-1.0], [0.0], [2.0], [0.4]])), 16),
    "binom": (lambda n: sp.binom(n, 3), (np.linspace(-3, 9, 25),), 64),
    "binom of real numbers": (sp.binom, (np.arange(0, 12.0)[:, None], np.arange(0, 9, 0.5)), 256),
    "comb": (sp.comb, (np.arange(0, 12.0)[:, None], np.arange(-2, 9.0)), 256),
    "comb with repetition": (lambda n: sp.comb(n, 2, repetition=True), (np.arange(1, 9.0),), 64),
    "comb of none with repetition": (lambda n: sp.comb(n, 0, repetition=True), (np.array([0.0, 0.1, 5.0]),), 4),
    "perm": (sp.perm, (np.arange(0, 12.0)[:, None], np.arange(-2, 9.0)), 256),
    "factorial": (sp.factorial, (np.array([-1.0, 0, 1, 2.5, 20]),), 64),
    "rgamma": (sp.rgamma, (np.array([-3.0, -2.5, -1, 0, 0.2, 0.5, 3, 9.5]),), 64),
    "poch": (sp.poch, (np.array([0.3, 2.0, 9.5]), 2.3), 64),
    "voigt_profile": (sp.voigt_profile, (np.linspace(-9, 9, 31), SHAPES, SHAPES[::-1]), 64),
    "voigt_profile without a width": (sp.voigt_profile, (np.linspace(-9, 9, 31), 0.0, 1.3), 16),
    "stdtr of many": (sp.stdtr, (np.array([2e4, 1e9, 1e17, np.inf])[:, None], np.linspace(-9, 9, 19)), 512),
    "stdtrit of many": (sp.stdtrit, (np.array([2e4, 1e9, 1e17, np.inf])[:, None], UNIT[5:]), 64),
    "zeta far out": (lambda x: sp.zeta(x), (np.array([1e3, 1e300, np.inf]),), 1),
    "zeta of two far out": (sp.zeta, (np.array([2.0, np.inf, np.inf]), np.array([np.inf, 0.5, 1.0])), 1),
    "agm at its ends": (sp.agm, (np.array([0.0, 0, 0, -1]), np.array([-np.inf, np.inf, -2, -np.inf])), 1),
    "ellipkinc at its ends": (sp.ellipkinc, (ANGLES, np.array([1.0, -np.inf])[:, None]), 64),
    "ellipeinc at its ends": (sp.ellipeinc, (ANGLES, np.array([1.0, -np.inf])[:, None]), 64),
    "stdtr": (sp.stdtr, (np.array([1.0, 2.5, 100.0])[:, None], np.linspace(-20, 20, 41)), 256),
    "stdtrit": (sp.stdtrit, (SHAPES, UNIT[5:]), 1024), "chdtr": (sp.chdtr, (3.0, BOTH), 64),
    "chdtrc": (sp.chdtrc, (3.0, POSITIVE), 64), "chdtri": (sp.chdtri, (SHAPES, UNIT[20:]), 256),
    "fdtr": (sp.fdtr, (4.0, 3.0, POSITIVE[4:]), 64), "fdtrc": (sp.fdtrc, (4.0, 3.0, POSITIVE[4:]), 64),
    "fdtri": (sp.fdtri, (SHAPES, 3.3, UNIT[20:40]), 2048), "gdtr": (sp.gdtr, (1.3, 2.0, POSITIVE), 64),
    "gdtrc": (sp.gdtrc, (1.3, 2.0, POSITIVE), 256), "pdtr": (sp.pdtr, (4, POSITIVE), 256),
    "pdtrc": (sp.pdtrc, (4, POSITIVE), 128), "bdtr": (sp.bdtr, (np.arange(5.0)[:, None], 4, UNIT[20:]), 256),
    "bdtr of fractions": (sp.bdtr, (np.array([0.5, 1.7, 4.2])[:, None], np.array([4.6]), UNIT[20:]), 256),
    "gammaincinv": (sp.gammaincinv, (SHAPES, UNIT), 256),
    "gammainccinv": (sp.gammainccinv, (SHAPES, np.append(UNIT, 1e-200)), 1024),
    "betaincinv": (sp.betaincinv, (SHAPES, SHAPES[::-1], UNIT), 512),
    **{
        name: (getattr(sp, name), (DEGREES, np.linspace(-1, 1, 21)), 4096)
        for name in ("eval_legendre", "eval_chebyt", "eval_chebyu", "eval_hermite", "eval_hermitenorm", "eval_laguerre")
    },
    "eval_genlaguerre": (sp.eval_genlaguerre, (DEGREES, 0.7, np.linspace(0, 3, 21)), 4096),
    "eval_gegenbauer": (sp.eval_gegenbauer, (DEGREES, 0.7, np.linspace(-1, 1, 21)), 4096),
    "eval_jacobi": (sp.eval_jacobi, (DEGREES, 0.7, 1.3, np.linspace(-1, 1, 21)), 4096),
}  # fmt: skip
"""Function, arguments of which the last float array is traced, and the units in the last place allowed."""


def traced(function: Function, args: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
    """The function of its float arrays alone, and these."""
    chosen = [i for i, a in enumerate(args) if isinstance(a, np.ndarray) and a.dtype.kind == "f"]

    def call(*arrays: Any) -> Any:
        given = list(args)
        for i, array in zip(chosen, arrays, strict=True):
            given[i] = array
        return function(*given)

    return call, tuple(args[i] for i in chosen)


@pytest.mark.sweep(81)
@pytest.mark.parametrize("name", VALUES)
def test_values_and_what_is_special_are_scipys(name: str) -> None:
    function, args, ulps = VALUES[name]
    call, arrays = traced(function, args)
    with np.errstate(all="ignore"):
        wanted = call(*arrays)
    eps = float(np.finfo(np.float64).eps)
    scale = eps if name.startswith("eval_") else 1e-290
    np.testing.assert_allclose(ps.trace(call, *arrays)(*arrays), wanted, rtol=ulps * eps, atol=16 * scale)


@pytest.mark.parametrize(
    "name",
    ["exp1", "k0", "ellipk", "zeta", "voigt_profile", "stdtr", "eval_legendre", "binom", "dawsn", "fresnel", "sici"],
)
def test_of_float32_there_is_float32(name: str) -> None:
    function, args, _ = VALUES[name]
    call, arrays = traced(function, args)
    single = tuple(np.clip(np.nan_to_num(a, nan=0.4), -9, 9).astype(np.float32) for a in arrays)
    with np.errstate(all="ignore"):
        wanted = call(*single)
    found = ps.trace(call, *single)(*single)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-5)


def test_jacobis_functions_are_scipys() -> None:
    m = np.append(UNIT, 1 - 1e-9)[:, None]
    for found, wanted in zip(ps.trace(sp.ellipj, ANGLES, m)(ANGLES, m), sp.ellipj(ANGLES, m), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=4e-14)


@pytest.mark.parametrize(
    ("h", "a", "exact"),
    [
        (0.25, 1.5, 0.149155894992056453), (5.125, 0.3, 6.60669581996900315e-8),
        (20.0, 3.5, 1.37681205930311685e-89), (36.0, 1.0, 2.09131203289864167e-284),
    ],
)  # fmt: skip
def test_owens_function_is_mpmaths_in_its_tails(h: float, a: float, exact: float) -> None:
    """SciPy's is wrong there."""
    number = ps.spec("float64", [])
    np.testing.assert_allclose(ps.trace(lambda h, a: sp.owens_t(h, a), number, number)(h, a), exact, rtol=1e-15)


X = np.array([0.3, 1.7, 2.9])
P = np.array([0.15, 0.55, 0.8])
WIDE = np.array([-0.4, 0.7, 1.9, 4.3])
GRADIENTS: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "exp1": (sp.exp1, (X,)), "expi": (sp.expi, (np.array([-2.0, 0.2, 5.0, 7.0, 14.0]),)),
    "expn": (lambda x: sp.expn(np.array([0, 1, 4])[:, None], x), (X,)),
    **{name: (getattr(sp, name), (X,)) for name in ("k0", "k1", "k0e", "k1e", "rgamma", "factorial")},
    **{name: (getattr(sp, name), (P,)) for name in ("ellipk", "ellipe", "ellipkm1")},
    **{name: (getattr(sp, name), (WIDE,)) for name in ("dawsn", "erfi")}, "spence": (sp.spence, (X,)),
    **{name: (lambda x, n=name: np.stack(getattr(sp, n)(x)), (WIDE,)) for name in ("fresnel", "sici", "shichi")},
    **{name: (getattr(sp, name), (WIDE, np.array([-0.7, 0.1, 0.6, 0.9]))) for name in ("ellipkinc", "ellipeinc")},
    "ellipkinc at a right angle": (sp.ellipkinc, (np.array([np.pi / 2, 0.0]), P[:2])),
    "ellipj": (lambda u, m: np.stack(sp.ellipj(u, m)), (WIDE[:3], P)),
    **{name: (getattr(sp, name), (X, X[::-1] + 0.2, X * X)) for name in ("elliprf", "elliprd", "elliprg")},
    "elliprg of equal numbers": (sp.elliprg, (np.array([1.3, 1.0]), np.array([1.3, 2.0]), np.array([0.6, 2.0]))),
    "elliprj": (sp.elliprj, (X, X[::-1], X * X, np.array([0.7, -0.3, 40.0]))),
    "owens_t": (sp.owens_t, (np.array([0.0, -0.6, 1.1, 2.0]), np.array([0.4, -1.7, 1.0, 0.3]))),
    **{name: (getattr(sp, name), (X, X[::-1] + 0.2)) for name in ("elliprc", "agm")},
    "zeta of two": (lambda x, q: sp.zeta(x, q), (X + 1.2, X)),
    "zeta": (lambda x: sp.zeta(x), (np.array([-2.3, 0.4, 2.2]),)),
    "lambertw": (lambert, (X,)), "lambertw below": (lambda x: lambert(x, -1), (-P / 4,)),
    "polygamma": (lambda x: sp.polygamma(1, x), (X,)), "binom": (lambda n: sp.binom(n, 3), (X,)),
    "binom of real numbers": (sp.binom, (X + 5, X)), "comb": (sp.comb, (X + 5, X)), "perm": (sp.perm, (X + 5, X)),
    "rgamma at poles": (sp.rgamma, (np.array([-2.0, -1.0, 0.0]),)), "poch": (sp.poch, (X, X[::-1].copy())),
    "voigt_profile": (sp.voigt_profile, (X, P + 0.3, P)),
    "stdtr": (sp.stdtr, (np.array([0.7, 2.5, 9.0]), np.array([-1.3, 0.0, 0.8]))),
    "stdtrit": (sp.stdtrit, (np.array([0.7, 3.3, 9.0]), P)),
    "chdtr": (sp.chdtr, (X[::-1], X)), "chdtrc": (lambda x: sp.chdtrc(2.5, x), (X,)),
    "chdtri": (lambda p: sp.chdtri(2.5, p), (P,)), "fdtr": (sp.fdtr, (X[::-1], X + 0.2, X)),
    "fdtrc": (lambda x: sp.fdtrc(2, 3, x), (X,)), "fdtri": (lambda p: sp.fdtri(3.0, 4.0, p), (P,)),
    "gdtr": (lambda a, x: sp.gdtr(a, 2.2, x), (X, X)), "gdtrc": (lambda a, x: sp.gdtrc(a, 2.2, x), (X, X)),
    "pdtr": (lambda m: sp.pdtr(2, m), (X,)), "pdtrc": (lambda m: sp.pdtrc(2, m), (X,)),
    "bdtr": (lambda p: sp.bdtr(2, 5, p), (P,)), "gammaincinv": (sp.gammaincinv, (X, P)),
    "gammainccinv": (lambda y: sp.gammainccinv(1.7, y), (P,)),
    "betaincinv": (sp.betaincinv, (X, X[::-1], P)),
    **{
        f"eval_{name}": (lambda x, n=name: getattr(sp, f"eval_{n}")(DEGREES, x), (P,))
        for name in ("legendre", "chebyt", "chebyu", "hermite", "hermitenorm", "laguerre")
    },
    "eval_genlaguerre": (lambda a, x: sp.eval_genlaguerre(DEGREES, a, x), (P, X)),
    "eval_gegenbauer": (lambda a, x: sp.eval_gegenbauer(DEGREES, a, x), (X, P)),
    "eval_jacobi": (lambda a, b, x: sp.eval_jacobi(DEGREES, a, b, x), (X, P, P)),
}  # fmt: skip


COMPOSED = {
    "stdtr", "stdtrit", "chdtr", "chdtrc", "chdtri", "fdtr", "fdtrc", "fdtri", "gdtr", "gdtrc", "pdtr", "pdtrc", "bdtr",
    "gammainccinv", "betaincinv", "elliprj",
}  # fmt: skip
"""A Loop, and arithmetic around incomplete gamma and beta functions and their inverses, whose programs are long."""


@pytest.mark.sweep(72)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in COMPOSED)) for n in GRADIENTS])
def test_first_and_second_derivatives_agree_with_central_differences(name: str) -> None:
    function, args = GRADIENTS[name]
    check_grads(lambda *xs: function(*xs), *args, value_tolerance=1e-11, step=2e-3)


@pytest.mark.sweep(15)
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n in {"stdtrit", "betaincinv", "fdtri"})) for n in sorted(COMPOSED)],
)
def test_derivatives_in_all_arguments_and_second_ones_in_the_last_agree_with_central_differences(name: str) -> None:
    function, (*shapes, last) = GRADIENTS[name]
    options: dict[str, Any] = {"symbolic": False, "value_tolerance": 1e-11, "step": 2e-3}
    check_grads(lambda x: function(*shapes, x), last, **options)
    if shapes:
        check_grads(lambda *xs: function(*xs), *shapes, last, order=1, **options)


def test_the_derivative_of_expn_in_its_order_is_refused() -> None:
    with pytest.raises(MissingRule, match="no closed form") as refused:
        ps.grad(lambda a: sp.expn(a, 0.3))(np.float64(2.0))
    assert refused.value.place is not None
    assert refused.value.place.filename == __file__


def test_what_depends_on_a_traced_order_is_refused() -> None:
    functions: list[Function] = [lambda n: sp.eval_legendre(n, 0.3), lambda n: sp.polygamma(n, 1.5)]
    for function in functions:
        with pytest.raises(UnsupportedFunction, match="known whole number"):
            ps.trace(function, np.float64(2.0))

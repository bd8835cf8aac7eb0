"""Files of special functions, loaded and differentiated: a file holds operators, not the functions' own rules.

The expected slopes are differences of SciPy's functions on both sides of a point.
"""

from pathlib import Path

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from tests.special.loaded import Function, wrong_slopes

ENDS = (0.05, 0.1, 0.25, 0.3, 1 / 3, 0.7, 1.1, 1.6, 1 / np.e, 19.0, 24.0, 25.0, 30.0, 60.0, 200.0)
"""Places where pieces of some functions meet, beside whole and half numbers."""
POINTS = np.array([*np.arange(-9.0, 13.5, 0.5), *ENDS, *(-e for e in ENDS)])
NAMES = (
    "exprel expit log_expit logit erf erfc erfcx erfinv erfcinv erfi dawsn gamma gammaln loggamma digamma rgamma "
    "j0 j1 y0 y1 i0 i0e i1 i1e k0 k0e k1 k1e exp1 expi spence zeta ellipk ellipe ellipkm1 entr ndtr ndtri log_ndtr "
    "cosm1 log1p expm1 cbrt exp2 exp10 sinc ber bei ker kei berp beip kerp keip softplus"
)
UFUNCS = {name: getattr(sp, name) for name in NAMES.split() if hasattr(sp, name)}
ORDERS = {
    f"{name}({v})": (lambda x, name=name, v=v: getattr(sp, name)(v, x))
    for name, orders in {
        "jv": (0, 1, 2, 0.5, 1.5, 5, -0.5),
        "yv": (0, 1, 2, 0.5),
        "iv": (0, 1, 2, 0.5, 1.5, 7),
        "kv": (0, 1, 2, 0.5),
        "ive": (0, 1, 2, 0.5),
        "kve": (0, 1, 0.5),
        "struve": (0, 1, 2, 0.5, -1, -0.5, -1.5),
        "modstruve": (0, 1, 2, 0.5, -1),
        "spherical_jn": (0, 1, 2, 5),
        "spherical_yn": (0, 1, 2),
        "spherical_in": (0, 1, 2),
        "spherical_kn": (0, 1),
        "expn": (0, 1, 2, 3),
        "polygamma": (1, 2),
    }.items()
    for v in orders
}
PARTS = {
    "Si": lambda x: sp.sici(x)[0],
    "Ci": lambda x: sp.sici(x)[1],
    "Shi": lambda x: sp.shichi(x)[0],
    "Chi": lambda x: sp.shichi(x)[1],
    "Fresnel S": lambda x: sp.fresnel(x)[0],
    "Fresnel C": lambda x: sp.fresnel(x)[1],
    "Ai": lambda x: sp.airy(x)[0],
    "Ai'": lambda x: sp.airy(x)[1],
    "Bi": lambda x: sp.airy(x)[2],
    "Bi'": lambda x: sp.airy(x)[3],
    "sn": lambda x: sp.ellipj(x, 0.5)[0],
    "dn by m": lambda x: sp.ellipj(0.7, x)[2],
    "lambertw": lambda x: sp.lambertw(x).real,
}
SEVERAL = {
    "boxcox by x": lambda x: sp.boxcox(x, 0.5),
    "boxcox by the exponent": lambda x: sp.boxcox(2.0, x),
    "boxcox of exponent 0": lambda x: sp.boxcox(x, 0.0),
    "boxcox1p by x": lambda x: sp.boxcox1p(x, 0.5),
    "boxcox1p by the exponent": lambda x: sp.boxcox1p(1.0, x),
    "inv_boxcox by x": lambda x: sp.inv_boxcox(x, 0.5),
    "inv_boxcox by the exponent": lambda x: sp.inv_boxcox(0.7, x),
    "inv_boxcox1p by the exponent": lambda x: sp.inv_boxcox1p(0.7, x),
    "huber": lambda x: sp.huber(1.5, x),
    "pseudo_huber": lambda x: sp.pseudo_huber(1.5, x),
    "pseudo_huber by delta": lambda x: sp.pseudo_huber(x, 1.5),
    "xlogy": lambda x: sp.xlogy(x, 2.0),
    "xlogy by y": lambda x: sp.xlogy(2.0, x),
    "xlog1py": lambda x: sp.xlog1py(x, x),
    "rel_entr": lambda x: sp.rel_entr(x, 1.0),
    "rel_entr by y": lambda x: sp.rel_entr(1.0, x),
    "kl_div": lambda x: sp.kl_div(x, 1.0),
    "kl_div by y": lambda x: sp.kl_div(1.0, x),
    "betainc": lambda x: sp.betainc(2.0, 3.0, x),
    "betaincc": lambda x: sp.betaincc(2.0, 3.0, x),
    "betainc by a": lambda x: sp.betainc(x, 3.0, 0.4),
    "betainc by b": lambda x: sp.betainc(2.0, x, 0.4),
    "gammainc": lambda x: sp.gammainc(2.0, x),
    "gammainc by a": lambda x: sp.gammainc(x, 1.5),
    "gammaincc": lambda x: sp.gammaincc(1.0, x),
    "gammaincc by a": lambda x: sp.gammaincc(x, 0.5),
    "gammainc of the fraction by a": lambda x: sp.gammainc(x, 7.0),
    "gammaincc of the fraction by a": lambda x: sp.gammaincc(x, 20.0),
    "betainc of the upper fraction by a": lambda x: sp.betainc(x, 2.5, 0.9),
    "betainc of the upper fraction by b": lambda x: sp.betainc(2.0, x, 0.9),
    "gammaincinv": lambda x: sp.gammaincinv(2.0, x),
    "gammaincinv by a": lambda x: sp.gammaincinv(x, 0.3),
    "gammainccinv": lambda x: sp.gammainccinv(2.0, x),
    "betaincinv": lambda x: sp.betaincinv(2.0, 3.0, x),
    "betaincinv by a": lambda x: sp.betaincinv(x, 3.0, 0.3),
    "stdtr": lambda x: sp.stdtr(3.0, x),
    "stdtr by df": lambda x: sp.stdtr(x, 0.7),
    "stdtrit": lambda x: sp.stdtrit(3.0, x),
    "stdtrit by df": lambda x: sp.stdtrit(x, 0.3),
    "fdtr": lambda x: sp.fdtr(2.0, 3.0, x),
    "fdtr by dfn": lambda x: sp.fdtr(x, 3.0, 1.0),
    "fdtri": lambda x: sp.fdtri(2.0, 3.0, x),
    "chdtr": lambda x: sp.chdtr(2.0, x),
    "chdtri": lambda x: sp.chdtri(2.0, x),
    "gdtr": lambda x: sp.gdtr(1.5, 2.0, x),
    "bdtr": lambda x: sp.bdtr(1, 3, x),
    "pdtr": lambda x: sp.pdtr(2, x),
    "hyp0f1": lambda x: sp.hyp0f1(1.5, x),
    "hyp1f1": lambda x: sp.hyp1f1(1.0, 2.0, x),
    "hyp2f1": lambda x: sp.hyp2f1(1.0, 2.0, 3.5, x),
    "ellipkinc by the angle": lambda x: sp.ellipkinc(x, 0.5),
    "ellipkinc": lambda x: sp.ellipkinc(0.5, x),
    "ellipeinc by the angle": lambda x: sp.ellipeinc(x, 0.5),
    "ellipeinc": lambda x: sp.ellipeinc(0.5, x),
    "elliprc": lambda x: sp.elliprc(x, 1.0),
    "elliprc by y": lambda x: sp.elliprc(1.0, x),
    "elliprf": lambda x: sp.elliprf(x, 1.0, 2.0),
    "elliprd": lambda x: sp.elliprd(x, 1.0, 2.0),
    "elliprd by z": lambda x: sp.elliprd(1.0, 2.0, x),
    "elliprg": lambda x: sp.elliprg(x, 1.0, 2.0),
    "elliprj": lambda x: sp.elliprj(x, 1.0, 2.0, 3.0),
    "elliprj by p": lambda x: sp.elliprj(0.5, 1.0, 2.0, x),
    "agm": lambda x: sp.agm(x, 1.0),
    "beta": lambda x: sp.beta(x, 1.0),
    "betaln": lambda x: sp.betaln(x, 2.0),
    "betaln by b": lambda x: sp.betaln(6.0, x),
    "binom": lambda x: sp.binom(5.0, x),
    "binom by n": lambda x: sp.binom(x, 2.5),
    "poch": lambda x: sp.poch(x, 2.5),
    "poch by m": lambda x: sp.poch(1.5, x),
    "hurwitz zeta": lambda x: sp.zeta(x, 1.5),
    "hurwitz zeta by q": lambda x: sp.zeta(2.5, x),
    "owens_t": lambda x: sp.owens_t(x, 0.5),
    "owens_t by a": lambda x: sp.owens_t(0.5, x),
    "owens_t far": lambda x: sp.owens_t(3.0, x),
    "voigt_profile": lambda x: sp.voigt_profile(x, 1.0, 0.5),
    "voigt_profile by gamma": lambda x: sp.voigt_profile(0.5, 1.0, x),
    "lpmv": lambda x: sp.lpmv(1, 2, x),
    "eval_jacobi": lambda x: sp.eval_jacobi(2, 0.5, 0.5, x),
    "logsumexp": lambda x: np.logaddexp(x, 0.5 * x),
}
CASES: dict[str, Function] = UFUNCS | ORDERS | PARTS | SEVERAL


EXACT: dict[str, tuple[Function, float]] = {
    "j0 at 8": (sp.j0, 8.0),
    "jv of order 1 at 0": (lambda x: sp.jv(1, x), 0.0),
    "struve at 0": (lambda x: sp.struve(0, x), 0.0),
    "dawsn at 2": (sp.dawsn, 2.0),
    "exprel at 0": (sp.exprel, 0.0),
    "boxcox of exponent 0": (lambda x: sp.boxcox(2.0, x), 0.0),
    "inv_boxcox of exponent 0": (lambda x: sp.inv_boxcox(0.7, x), 0.0),
    "xlogy at 0": (lambda x: sp.xlogy(x, 2.0), 0.0),
    "owens_t at 1": (lambda x: sp.owens_t(0.5, x), 1.0),
    "gamma at 3": (sp.gamma, 3.0),
    "stdtr at 0": (lambda x: sp.stdtr(3.0, x), 0.0),
    "betainc by a whole shape": (lambda x: sp.betainc(2.0, x, 0.4), 2.0),
    "gammaincc by a whole shape": (lambda x: sp.gammaincc(x, 7.0), 2.0),
    "binom at 7 of 5": (lambda x: sp.binom(5.0, x), 7.0),
}
"""Points where pieces of a function meet, and where it has a derivative."""


@pytest.mark.sweep(20)
@pytest.mark.parametrize("name", EXACT)
def test_the_slope_of_a_loaded_file_is_right_where_pieces_meet(name: str, tmp_path: Path) -> None:
    function, x = EXACT[name]
    ps.trace(lambda x: function(x), 0.3).save(tmp_path / "f.onnx")
    model = ps.load(tmp_path / "f.onnx")
    step = 1e-5
    difference = (function(x + step) - function(x - step)) / (2 * step)
    np.testing.assert_allclose(ps.grad(lambda x: model(x))(x), difference, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("function", "x"), [(sp.exprel, 0.0), (lambda x: sp.spherical_jn(0, x), 0.0)])
def test_a_loaded_gradient_file_has_a_right_slope(function: Function, x: float, tmp_path: Path) -> None:
    ps.export(lambda x: function(x), 0.3, path=tmp_path / "f.onnx")
    model = ps.load(tmp_path / "f.onnx")
    step = 1e-4
    difference = (function(x + step) - 2 * function(x) + function(x - step)) / step**2
    np.testing.assert_allclose(ps.jacobian(lambda x: model(x)[1])(x), difference, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_loaded_log1p_keeps_the_slope_of_its_formula_below_the_domain(dtype: type, tmp_path: Path) -> None:
    x = np.array([-200.0, -9.0, -1.5, -0.5, 0.0, 3.0], dtype)
    ps.trace(lambda x: np.log1p(x), x).save(tmp_path / "f.onnx")
    model = ps.load(tmp_path / "f.onnx")
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(model(x)))(x), 1 / (x + 1), rtol=1e-6)


@pytest.mark.sweep(220)
@pytest.mark.parametrize("name", CASES)
def test_the_slope_of_a_loaded_file_is_right_or_nan(name: str, tmp_path: Path) -> None:
    points = POINTS[POINTS >= -1.0] if name == "log1p" else POINTS  # below, see the test above
    assert wrong_slopes(CASES[name], tmp_path / "f.onnx", points) == []

"""NumPy's elementwise functions: values and dtypes against NumPy, gradients against central differences."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, RunError
from primsplit.numpy.ufuncs import ELEMENTWISE
from tests.numpy.agreement import check_agrees, check_grads
from tests.pointwise import between, gradient

UFUNCS = {u.__name__: u for u in map(np.__dict__.get, dir(np)) if isinstance(u, np.ufunc)}
PRODUCTS = {"matmul", "matvec", "vecmat", "vecdot"}


def run(function: Callable[..., Any], *args: Any) -> Any:
    """Return the results of the exported program for these arrays."""
    found = ps.trace(function, *args).session()(*map(np.asarray, args))
    return found if len(found) > 1 else found[0]


OTHER = between(-2, 2, seed=1)


# Values.

SPECIAL = [0.0, -0.0, 0.25, 0.5, -0.5, 1, -1, 1.5, -1.5, 2, -2, 2.5, 3, -3, 7, -7.3, 10, -10, 40, -40, 1e-20, -1e-20,
           1e4, -1e4, 1e20, -1e20, 170.6, np.nan, np.inf, -np.inf]  # fmt: skip
DTYPES = ["float64", "float32", "int64", "int32", "int8", "uint8", "uint16", "uint64", "bool"]


def points(dtype: str) -> Any:
    kind = np.dtype(dtype).kind
    if kind == "f":
        return np.array(SPECIAL).astype(dtype)
    if kind == "b":
        return np.array([True, False])
    ends = np.iinfo(dtype)
    below = [-1, -2, -3, -7] if kind == "i" else []
    return np.array([0, 1, 2, 3, 5, 7, 10, 63, 100, ends.max, ends.max - 1, ends.min, ends.min + 1, *below], dtype)


EXPONENTS = np.array([0, 1, -1, 10, -10, 400, -400, 2000, -2000], np.int32)


def operands(ufunc: np.ufunc, dtype: str) -> list[Any]:
    x = points(dtype)
    if ufunc.__name__ == "ldexp":
        return [x[:, None], EXPONENTS]
    if ufunc.__name__ == "power" and x.dtype.kind in "iu":
        return [x[:, None], x[(x >= 0) & (x < 8)]]
    if ufunc.__name__ == "reciprocal" and x.dtype.kind in "iu":
        return [x[x != 0]]  # NumPy's own answer for 1 / 0 depends on the platform
    return [x] if ufunc.nin == 1 else [x[:, None], x]


ULPS = {"power": 64, "float_power": 64, "tan": 16}
"""The errors allowed, in units in the last place, where 8 are not enough."""
NEAR_ZERO = "logaddexp2"
"""A sum that is exact to units in the last place of its larger argument."""


def assert_close(found: Any, wanted: Any, ulps: float, what: str) -> None:
    assert found.dtype == wanted.dtype, what
    assert found.shape == wanted.shape, what
    if wanted.dtype.kind != "f":
        np.testing.assert_array_equal(found, wanted, err_msg=what)
        return
    limits = np.finfo(wanted.dtype)
    least = limits.eps if what.startswith(NEAR_ZERO) else limits.smallest_normal
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(found, wanted, rtol=ulps * float(limits.eps), atol=ulps * float(least), err_msg=what)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", sorted(set(UFUNCS) - PRODUCTS))
def test_a_ufunc_gives_what_numpy_gives_in_every_dtype(name: str) -> None:
    ufunc = UFUNCS[name]
    for dtype in DTYPES:
        args = operands(ufunc, dtype)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                wanted = ufunc(*args)
            except TypeError:
                with pytest.raises(DtypeError):
                    ps.trace(ufunc, *args)
                continue
        found = run(ufunc, *args)
        pairs = zip(found, wanted, strict=True) if ufunc.nout > 1 else [(found, wanted)]
        for one, other in pairs:
            assert_close(one, np.asarray(other), ULPS.get(name, 8), f"{name} of {dtype}")


def test_every_ufunc_of_numpy_is_there_or_refused_with_a_reason() -> None:
    assert set(UFUNCS) - set(ELEMENTWISE) == set()


@pytest.mark.sweep(4)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_divisors_and_multiples_are_numpys(dtype: str) -> None:
    x, y = np.array([12, 0, 7, 0, 100, 84], dtype), np.array([18, 5, 0, 0, 75, 126], dtype)
    if np.iinfo(dtype).min < 0:
        x = x * np.array([1, 1, -1, 1, -1, 1], dtype)
    check_agrees(lambda x, y: (np.gcd(x, y), np.lcm(x, y), np.gcd(x[:, None], y), np.gcd.reduce(x), np.gcd(x, 6)), x, y)


def test_the_next_float_moves_as_the_number_does() -> None:
    check_grads(lambda x: np.nextafter(x, 1.0) * np.nextafter(2.0, x), between(-2, 3))
    assert ps.grad(lambda x: np.spacing(x) * 3.0)(1.0) == 0.0


def _overlapping(x: Any) -> Any:
    """Quotients over remainders, and fractions over a part of the whole numbers."""
    both, parts = np.zeros_like(x), np.zeros(4)
    np.divmod(x, 2.0, out=(both, both))
    np.modf(x, out=(parts[:3], parts[1:]))
    return np.concatenate([both, parts])


ARRAY_FUNCTIONS: list[tuple[str, Callable[..., Any], list[Any]]] = [
    ("round", lambda x: np.round(x, 1), [np.array([0.25, 1.234, -5.55])]),
    ("round to tens", lambda x: np.round(x, -1), [np.array([15, 25, -14, 7])]),
    ("round of integers", np.round, [np.array([15, -7])]),
    ("round method", lambda x: x.round(2), [np.array([0.256, 1.2345])]),
    ("fix", np.fix, [np.array([1.7, -1.7])]),
    ("isposinf", np.isposinf, [np.array(SPECIAL)]),
    ("isneginf", np.isneginf, [np.array(SPECIAL)]),
    ("isreal", np.isreal, [np.ones(3)]),
    ("iscomplex", np.iscomplex, [np.ones(3)]),
    ("isclose", np.isclose, [np.array(SPECIAL)[:, None], np.array(SPECIAL) * (1 + 1e-6)]),
    ("isclose nan", lambda x, y: np.isclose(x, y, equal_nan=True), [np.array([1, np.nan]), np.array([1.1, np.nan])]),
    ("isclose int", np.isclose, [np.array([1, 10**9]), np.array([1, 10**9 + 1])]),
    ("allclose", np.allclose, [np.ones(3), np.ones(3) + 1e-9]),
    ("array_equal", np.array_equal, [np.arange(3), np.arange(3)]),
    ("array_equal nan", lambda x, y: np.array_equal(x, y, equal_nan=True), [np.array([np.nan]), np.array([np.nan])]),
    ("array_equal shape", lambda x, y: np.array_equal(x, y) | (x[0] > 9), [np.arange(3), np.arange(4)]),
    ("where", lambda x: np.where(x > 1, x, 0), [np.arange(4)]),
    ("where number", lambda x: np.where(x, 1.5, 2), [np.array([0.0, 2.0])]),
    ("where float32", lambda x: np.where(x > 1, x, 0.5), [np.arange(4, dtype=np.float32)]),
    ("clip int", lambda x: np.clip(x, 1, 2), [np.arange(4)]),
    ("clip below", lambda x: np.clip(x, 1, None), [np.arange(4.0)]),
    ("clip keyword", lambda x: np.clip(x, max=1.5), [np.arange(4)]),
    ("clip method", lambda x: x.clip(1, 2), [np.arange(4.0)]),
    ("clip from above of infinities", lambda x: np.clip(x, None, 2.0), [np.array([-np.inf, 1, np.inf])]),
    ("clip from below of infinities", lambda x: np.clip(x, 2.0, None), [np.array([-np.inf, 1, np.inf])]),
    ("clip to NaN", lambda x, y: np.clip(x, y, 2), [np.array([1.0, 3.0]), np.array([np.nan, 2.0])]),
    ("clip from NaN", lambda x, y: np.clip(x, y[0], 2), [np.array([1.0, 3.0]), np.array([np.nan, 2.0])]),
    ("clip crossed", lambda x: np.clip(x, 3, 1), [np.arange(5.0)]),
    ("clip crossed arrays", np.clip, [np.arange(5.0), np.full(5, 3.0), np.full(5, 1.0)]),
    ("nan_to_num", np.nan_to_num, [np.array(SPECIAL, np.float32)]),
    ("nan_to_num chosen", lambda x: np.nan_to_num(x, nan=1, posinf=2, neginf=3), [np.array(SPECIAL)]),
    ("nan_to_num int", np.nan_to_num, [np.arange(3)]),
    ("angle", np.angle, [np.array(SPECIAL)]),
    ("angle in degrees", lambda x: np.angle(x, deg=True), [np.array([-1, 2])]),
    *((f"angle of {d}", np.angle, [np.array([0, 1], d)]) for d in ("bool", "int8", "uint8", "int16", "int32")),
    ("truth squared", lambda x: x**2, [np.array([True, False])]),
    ("truth cubed", lambda x: x**3, [np.array([True, False])]),
    ("floats added as integers", lambda x: np.add(x, 2.7, dtype=np.int32, casting="unsafe"), [np.array([1.6, -1.6])]),
    ("where a list says so", lambda x: np.divide(x, x - 1, where=[True, False], out=x * 2), [np.array([3.0, 1.0])]),
    ("real", lambda x: x.real + np.real(x) + np.imag(x) + x.imag + x.conj(), [np.arange(3.0)]),
    ("polyval", np.polyval, [np.array([1.0, -2, 3]), np.arange(4)]),
    ("polyval list", lambda x: np.polyval([1, 2, 3], x), [np.arange(4)]),
    ("polyval at a number", lambda p: np.polyval(p, 2.0), [np.arange(4, dtype=np.float32)]),
    ("polyval of float32", lambda x: np.polyval([1, 2, 3], x), [np.arange(4, dtype=np.float32)]),
    ("sinc int", np.sinc, [np.array([0])]),
    ("lists", lambda x: x * [1.5, 2.0] + np.add([1, 2], x), [np.arange(2)]),
    ("bounds that bound nothing", lambda x: np.clip(x, -5, 300), [np.arange(3, dtype=np.uint8)]),
    ("a bound that bounds nothing", lambda x: x.clip(max=256), [np.arange(3, dtype=np.uint8)]),
    ("where of too large a number", lambda x: np.where(x > 1, x, 300), [np.arange(3, dtype=np.uint8)]),
    ("select of too small a number", lambda x: np.select([x > 1], [x], -2), [np.arange(3, dtype=np.uint8)]),
    ("choice of too large a number", lambda x: np.choose([0, 1, 0], [x, 300]), [np.arange(3, dtype=np.uint8)]),
    ("choice of a float", lambda x: np.choose([0, 1, 0], [x, 1.5]), [np.arange(3, dtype=np.float32)]),
    ("bounds below", lambda x: np.clip(x, -2000, 2), [np.array([-128, 5, 127], np.int8)]),
    ("compare out of range", lambda x: (x < 300) & (x >= -1) & (x != 256), [np.arange(3, dtype=np.uint8)]),
    ("compare int64 with uint64", lambda x, y: (x[:, None] < y) | (y == x[:, None]),
     [np.array([-1, 0, 2**63 - 1]), np.array([0, 2**63 - 1, 2**64 - 1], np.uint64)]),
    ("compare with more than 64 bits", lambda x: np.stack([x < 2**64, x == 2**64, x > -(2**64)]),
     [np.array([0, 2**64 - 1], np.uint64)]),
    ("outputs that overlap", lambda x: _overlapping(x), [np.array([7.5, -7.25, 2.5])]),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args"), [r[1:] for r in ARRAY_FUNCTIONS], ids=[r[0] for r in ARRAY_FUNCTIONS])
def test_an_array_function_gives_what_numpy_gives(function: Callable[..., Any], args: list[Any]) -> None:
    with np.errstate(all="ignore"):
        wanted = np.asarray(function(*args))
    assert_close(run(function, *args), wanted, 8, "")


# Gradients.

GRADIENTS: list[tuple[Any, ...]] = [
    ("sin", np.sin, between(-3, 3)), ("cos", np.cos, between(-3, 3)), ("tan", np.tan, between(-1, 1)),
    ("arcsin", np.arcsin, between(-0.8, 0.8)), ("arccos", np.arccos, between(-0.8, 0.8)),
    ("arctan", np.arctan, between(-3, 3)), ("sinh", np.sinh, between(-2, 2)), ("cosh", np.cosh, between(-2, 2)),
    ("tanh", np.tanh, between(-2, 2)), ("arcsinh", np.arcsinh, between(-3, 3)),
    ("arccosh", np.arccosh, between(1.5, 4)), ("arctanh", np.arctanh, between(-0.7, 0.7)),
    ("exp", np.exp, between(-2, 2)), ("exp2", np.exp2, between(-2, 2)), ("expm1", np.expm1, between(-2, 2)),
    ("log", np.log, between(0.5, 4)), ("log2", np.log2, between(0.5, 4)), ("log10", np.log10, between(0.5, 4)),
    ("log1p", np.log1p, between(-0.5, 4)), ("sqrt", np.sqrt, between(0.5, 4)), ("cbrt", np.cbrt, between(0.5, 4)),
    ("square", np.square, between(-2, 2)), ("reciprocal", np.reciprocal, between(0.5, 2)),
    ("absolute", np.abs, between(0.5, 2)), ("negative", np.negative, between(-1, 1)),
    ("positive", np.positive, between(-1, 1)), ("deg2rad", np.deg2rad, between(-90, 90)),
    ("rad2deg", np.rad2deg, between(-2, 2)), ("sinc", np.sinc, between(-3, 3)),
    ("sinc near 0", np.sinc, between(-0.01, 0.01)), ("add", np.add, between(-1, 1), between(-1, 1, (4,))),
    ("subtract", np.subtract, between(-1, 1), between(-1, 1, (3, 1))),
    ("multiply", np.multiply, between(-1, 1, (4,)), between(-1, 1)),
    ("divide", np.divide, between(-1, 1), between(1, 2, (4,))),
    ("power", np.power, between(0.5, 2), between(-2, 2, (4,))),
    ("float_power", np.float_power, between(0.5, 2), between(-2, 2, (4,))),
    ("power of constants", lambda x: np.power(x, np.array([0.0, 2.0, 1.5, -1.0])), between(0.5, 2)),
    ("power of integers", lambda x: x ** np.array([0, 2, 3, -1]), between(-2, -0.5)),
    ("constant to a power", lambda x: 2.0**x + np.array([1.5, 0.5, 3.0, 1.0]) ** x, between(-1, 1)),
    ("hypot", np.hypot, between(0.5, 1), between(-2, 2)), ("arctan2", np.arctan2, between(0.1, 2), -between(0.1, 2)),
    ("logaddexp", np.logaddexp, between(-2, 2), between(-2, 2, (4,))),
    ("logaddexp at ties", lambda x: np.logaddexp(x, 0.0) + np.logaddexp(x, x), np.zeros(3)),
    ("logaddexp2", np.logaddexp2, between(-2, 2), -between(-2, 2)),
    ("maximum", np.maximum, between(-2, 2), OTHER),
    ("minimum", np.minimum, between(-2, 2), OTHER),
    ("fmax", np.fmax, between(-2, 2), OTHER), ("fmin", np.fmin, between(-2, 2), OTHER),
    ("remainder", np.remainder, between(2.1, 2.9), between(1, 1.01)),
    ("fmod", np.fmod, between(-2.9, -2.1), between(1, 1.01)),
    ("divmod", lambda x, y: np.divmod(x, y)[1], between(-2.9, -2.1), between(1, 1.01)),
    ("floor_divide", lambda x, y: x * (x // y), between(2.1, 2.9), between(1, 1.01)),
    ("copysign", np.copysign, between(0.5, 2), between(-2, 2)), ("modf", lambda x: np.modf(x)[0], between(2.1, 2.9)),
    ("frexp", lambda x: np.frexp(x)[0], between(2.4, 3.6)),
    ("ldexp", lambda x: np.ldexp(x, np.array([1, -2, 3, 0])), between(-1, 1)),
    ("clip", lambda x: np.clip(x, -0.5, 0.5), between(-2, 2)),
    ("clip to arrays", np.clip, between(-2, 2), between(-1, -0.5, (4,)), between(0.5, 1, (4,))),
    ("where", lambda x, y: np.where(x > 0, x * y, y), between(-1, 1), between(-1, 1, (4,))),
    ("nan_to_num", np.nan_to_num, between(-1, 1)),
    ("heaviside", lambda x, y: np.heaviside(x, y) * x, between(-1, 1), between(-1, 1)),
    ("polyval", lambda x: np.polyval([1.5, 2.0, -3.0], x), between(-1, 1)),
    ("angle", lambda x: np.angle(x) * x, between(-1, 1)),
    ("round", lambda x: np.round(x, 1) * x, between(0.01, 0.04)), ("sign", lambda x: np.sign(x) * x, between(0.5, 1)),
    ("real", lambda x: np.real(x) * np.conj(x) + x.imag, between(-1, 1)),
    *((f"x**{p}", lambda x, p=p: x**p, between(0.5, 1)) for p in (0, 1, 2, 3, 7, 16, 17, -1, -3, 0.5, -0.5, 2.5)),
]  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("function", "args"), [(r[1], r[2:]) for r in GRADIENTS], ids=[r[0] for r in GRADIENTS])
def test_first_and_second_derivatives_agree_with_central_differences(
    function: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    check_grads(function, *args)


def test_the_coefficients_of_a_polynomial_have_derivatives_too() -> None:
    check_grads(np.polyval, between(-1, 1, (4,)), between(-1, 1), symbolic=False)


@pytest.mark.parametrize("sizes", [(1, 1), (4, 1), (1, 3), (0, 1), (1, 0), (0, 0)])
def test_symbolic_sizes_may_turn_out_to_be_0_or_1(sizes: tuple[int, int]) -> None:
    n, m = sizes

    def function(x: Any, y: Any) -> Any:
        return np.hypot(x, y) + np.where(x > y, x, np.logaddexp(x, y)) ** y

    made = ps.split(function, ps.spec("float64", ["N"]), ps.spec("float64", ["M"])).joint()
    x, y = np.linspace(1, 2, n), np.linspace(1.1, 3, m)
    wanted = function(x, y)
    value, dx, dy = made.session()(x, y, np.ones_like(wanted))
    np.testing.assert_allclose(value, wanted, rtol=1e-13)
    step = 1e-6
    for found, point, moved in ((dx, x, lambda p: function(p, y)), (dy, y, lambda p: function(x, p))):
        assert found.shape == point.shape
        for i in range(point.size):
            shift = step * np.eye(point.size)[i]
            slope = (moved(point + shift).sum() - moved(point - shift).sum()) / (2 * step)
            assert found[i] == pytest.approx(slope, rel=1e-7)


# Conventions and edge cases.


INF = np.inf
CONVENTIONS: list[tuple[str, Callable[..., Any], list[Any], Any]] = [
    ("abs'(0) = 0", np.abs, [[0.0, -2.0, 3.0]], [0, -1, 1]),
    ("sqrt'(0) is infinite", np.sqrt, [[0.0, 4.0]], [INF, 0.25]),
    ("0 times sqrt'(0) is 0", lambda x: 0.0 * np.sqrt(x), [[0.0]], [0]),
    ("0 times cbrt'(0) is 0", lambda x: 0.0 * np.cbrt(x), [[0.0]], [0]),
    ("ties of maximum are halved", np.maximum, [[1.0, 2.0], [1.0, 0.0]], [0.5, 1]),
    ("ties of minimum are halved", np.minimum, [[1.0, 2.0], [1.0, 0.0]], [0.5, 0]),
    ("fmax passes beside NaN", np.fmax, [[1.0, np.nan], [np.nan, 2.0]], [1, 0]),
    ("clip passes on its bounds", lambda x: np.clip(x, -1, 1), [[-1.0, 1.0, 1.1]], [1, 1, 0]),
    ("clip to arrays passes on its bounds", np.clip, [[-1.0, 1.1], [-1.0, -1.0], [1.0, 1.0]], [1, 0]),
    ("0**0", lambda x: x**0, [[0.0]], [0]),
    ("0**0 with a traced exponent", np.power, [[0.0], [0.0]], [0]),
    ("0**1", np.power, [[0.0], [1.0]], [1]),
    ("0**2", np.power, [[0.0], [2.0]], [0]),
    ("0**(1/2)", np.power, [[0.0], [0.5]], [INF]),
    ("a negative base", lambda x: x**3.0, [[-2.0]], [12]),
    ("a negative base, traced exponent", np.power, [[-2.0], [3.0]], [12]),
    ("hypot at the origin", np.hypot, [[0.0], [0.0]], [0]),
    ("arctan2 at the origin", np.arctan2, [[0.0], [0.0]], [0]),
    ("arctan2 far from the origin", np.arctan2, [[1e-200], [1e-200]], [5e199]),
    ("logaddexp of infinity", np.logaddexp, [[-INF, 0.0, INF], [0.0, -INF, 0.0]], [0, 1, 1]),
    ("logaddexp of equal infinities", np.logaddexp, [[-INF, INF, np.nan], [-INF, INF, 0.0]], [np.nan] * 3),
    ("logaddexp2 of equal infinities", np.logaddexp2, [[-INF, INF, 0.0], [-INF, INF, -INF]], [np.nan, np.nan, 1]),
    ("no cotangent asks for no slope", lambda x: np.logaddexp(x, x) * 0.0, [[-INF]], [0]),
    ("remainder at a whole quotient", np.remainder, [[6.0, 0.0], [3.0, 3.0]], [1, 1]),
    ("modf at an integer", lambda x: np.modf(x)[0], [[2.0]], [1]),
    ("the side of where that is not chosen", lambda x: np.sqrt(np.where(x > 0, x, 0.0)), [[-1.0, 4.0]], [0, 0.25]),
    ("rounding", lambda x: np.floor(x) + np.rint(x) + np.trunc(x) + np.ceil(x), [[1.3]], [0]),
    ("x**-12 does not overflow", lambda x: x**-12, [[1e-20]], [-1.2e261]),
    ("sinc at 0", np.sinc, [[0.0]], [0]),
    ("nan_to_num has no gradient where it acts", np.nan_to_num, [[np.nan, INF, 1.0]], [0, 0, 1]),
]


@pytest.mark.parametrize(("function", "point", "wanted"), [c[1:] for c in CONVENTIONS], ids=[c[0] for c in CONVENTIONS])
def test_a_derivative_at_a_special_point_is_the_one_promised(
    function: Callable[..., Any], point: list[Any], wanted: list[float]
) -> None:
    np.testing.assert_allclose(gradient(function, *point), wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("x", "p", "wanted"), [(0.0, 2.0, 0.0), (0.0, 0.5, 0.0), (0.0, 0.0, -np.inf), (2.0, 3.0, 8 * np.log(2))]
)
def test_the_slope_of_a_power_in_its_exponent_at_base_0_is_that_on_the_right(x: float, p: float, wanted: float) -> None:
    assert gradient(np.power, [x], [p], wrt=1) == pytest.approx(wanted)


def test_the_second_derivative_of_sinc_at_0_is_smooth() -> None:
    curvature = ps.grad(ps.grad(np.sinc))(0.0)
    assert curvature == pytest.approx(-(np.pi**2) / 3, rel=1e-14)


def test_hypot_neither_overflows_nor_underflows() -> None:
    x, y = np.array([3e200, 3e-200]), np.array([4e200, 4e-200])
    np.testing.assert_allclose(run(np.hypot, x, y), [5e200, 5e-200], rtol=1e-15)
    np.testing.assert_allclose(gradient(np.hypot, x, y), [0.6, 0.6], rtol=1e-15)


def test_arctan2_keeps_quadrants_and_signed_zeros() -> None:
    y, x = np.meshgrid([0.0, -0.0, 1.0, -1.0, INF, -INF], [0.0, -0.0, 1.0, -1.0, INF, -INF])
    found, wanted = run(np.arctan2, y, x), np.arctan2(y, x)
    np.testing.assert_allclose(found, wanted, rtol=1e-15)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


@pytest.mark.parametrize("exponent", [2, 3, -1, 0.5, -0.5, 6, -12])
def test_a_literal_power_needs_no_pow_in_primal_or_pullback(exponent: float) -> None:
    made = ps.split(lambda x: x**exponent, ps.spec("float64", ["N"]))
    model = made.joint().to_onnx()
    assert "Pow" not in [node.op_type for node in model.graph.node]


def test_the_pullback_of_a_square_is_two_products() -> None:
    made = ps.split(lambda x: x**2, ps.spec("float64", ["N"]))
    assert [op.kind for op in made.pullback.ops] == ["Mul", "Mul"]
    assert [made.split.kind(c) for c in made.captures] == ["input"]


def test_an_integer_to_a_whole_power_stays_an_integer_exactly() -> None:
    x = np.array([3, -7])
    np.testing.assert_array_equal(run(lambda v: v**23, x), x**23)


def test_a_run_that_gives_integers_a_negative_exponent_fails() -> None:
    program = ps.trace(np.power, ps.spec("int64", [2]), ps.spec("int8", [2]))
    np.testing.assert_array_equal(program(np.array([2, 3]), np.array([0, 4], np.int8)), [1, 81])
    with pytest.raises(RunError):
        program(np.array([2, 3]), np.array([0, -1], np.int8))


def test_integers_divided_by_zero_give_zero_as_in_numpy() -> None:
    x, zero = np.array([5, -5]), np.array([0, 0])
    for found in run(lambda a, b: (a // b, a % b, np.fmod(a, b)), x, zero):
        np.testing.assert_array_equal(found, [0, 0])


def test_a_polynomial_may_have_any_number_of_coefficients() -> None:
    program = ps.trace(np.polyval, ps.spec("float64", ["N"]), ps.spec("float32", ["M"]))
    for count, points in ((4, 3), (1, 1), (2, 0)):
        p, x = np.linspace(-1.0, 2.0, count), np.linspace(0.5, 1.5, points, dtype=np.float32)
        found = program(p, x)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, np.polyval(p, x), rtol=1e-14)
    check_grads(np.polyval, np.array([0.5, -1.0, 2.0]), np.array([0.3, 1.2]))


def with_zeros(dtype: str) -> list[np.ndarray[Any, Any]]:
    """All pairs of a few numbers, zeros of both signs among them."""
    numbers = np.array([0.0, -0.0, 1, -1, 2, -2, INF, -INF, np.nan, 0.5, -0.5, 3.5, -3.5], dtype)
    return [half.ravel() for half in np.meshgrid(numbers, numbers)]


SIGNED: list[tuple[str, Callable[..., Any]]] = [
    ("remainder", np.remainder), ("floor_divide", np.floor_divide), ("divmod", np.divmod), ("fmod", np.fmod),
    ("remainder of a number", lambda x, _: 2.0 % x), ("remainder by a number", lambda x, _: x % -1.0),
    ("modf", lambda x, _: np.modf(x)), ("nextafter", np.nextafter), ("heaviside", np.heaviside),
    ("outer", lambda x, _: np.outer(x[:13], x[:13])), ("power by -1/2", lambda x, _: x**-0.5),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("name", "function"), SIGNED, ids=[name for name, _ in SIGNED])
def test_zeros_have_numpys_sign(name: str, function: Callable[..., Any], dtype: str) -> None:
    x, y = with_zeros(dtype)
    with np.errstate(all="ignore"):
        wanted = function(x, y)
    found = ps.trace(function, x, y)(x, y)
    for one, other in zip(*([v] if isinstance(v, np.ndarray) else v for v in (found, wanted)), strict=True):
        assert_close(one, other, 8, name)
        np.testing.assert_array_equal(np.signbit(one[other == 0]), np.signbit(other[other == 0]))

"""Derivatives written into arrays at hand: every variant, prepared or not, and what `out` must not be."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, RunError, ShapeError, SpecError

X = np.array([2.0, 3.0])
V = np.array([1.0, -1.0])
VALUE, JACOBIAN = np.array([7.0, 6.0]), np.array([[4.0, 1.0], [3.0, 2.0]])


def planes(x: Any) -> Any:
    return np.stack([x[0] ** 2 + x[1], x[0] * x[1]])


def cubes(x: Any) -> Any:
    return np.sum(x**3)


def power(t: Any) -> Any:
    return t**4


SLOPE, CURVATURE = np.array([12.0, 27.0]), np.diag([12.0, 18.0])
MADE: list[tuple[str, Any, tuple[Any, ...], Any]] = [
    ("gradient", ps.grad(cubes), (X,), SLOPE),
    ("value and gradient", ps.value_and_grad(cubes), (X,), (35.0, SLOPE)),
    ("Jacobian by columns", ps.jacobian(planes, mode="forward"), (X,), JACOBIAN),
    ("Jacobian by rows", ps.jacobian(planes, mode="reverse", chunk=1), (X,), JACOBIAN),
    ("value and Jacobian", ps.value_and_jacobian(planes), (X,), (VALUE, JACOBIAN)),
    ("derivative", ps.derivative(power), (2.0,), 32.0),
    ("value and derivative", ps.value_and_derivative(power), (2.0,), (16.0, 32.0)),
    ("second derivative", ps.derivative(ps.derivative(power)), (2.0,), 48.0),
    ("both derivatives", ps.value_and_derivative(ps.derivative(power)), (2.0,), (32.0, 48.0)),
    ("product", ps.hvp(cubes), (X, V), CURVATURE @ V),
    ("value, gradient and product", ps.value_grad_and_hvp(cubes), (X, V), (35.0, SLOPE, CURVATURE @ V)),
    ("Hessian", ps.hessian(cubes), (X,), CURVATURE),
    ("value, gradient and Hessian", ps.value_grad_and_hessian(cubes, chunk=1), (X,), (35.0, SLOPE, CURVATURE)),
    ("Laplacian", ps.laplacian(cubes), (X,), 30.0),
    ("nested", ps.grad(lambda p: np.sum(p["a"] * p["b"])), ({"a": X, "b": V},), {"a": V, "b": X}),
]


def room(like: Any) -> Any:
    """Arrays nested like the result, with other numbers in them."""
    if isinstance(like, dict):
        return {key: room(value) for key, value in like.items()}
    return tuple(map(room, like)) if isinstance(like, tuple) else np.full_like(like, 99.0, dtype=np.float64)


def assert_equal(found: Any, wanted: Any) -> None:
    if isinstance(wanted, dict):
        found, wanted = [found[k] for k in wanted], [*wanted.values()]
    for a, b in zip(found, wanted, strict=True) if isinstance(wanted, tuple | list) else [(found, wanted)]:
        np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.parametrize(("transformed", "given", "wanted"), [m[1:] for m in MADE], ids=[m[0] for m in MADE])
def test_every_derivative_is_written_into_arrays_at_hand(transformed: Any, given: Any, wanted: Any) -> None:
    prepared = transformed.prepare(*given)
    for write in (transformed.run_into, transformed.program(*given).run_into, prepared.run_into):
        out = room(wanted)
        assert write(out, *given) is out
        assert_equal(out, wanted)
    assert_equal(prepared(*given), wanted)


CALLED: list[tuple[str, Callable[[Any], Any], Any]] = [
    ("pushforward", lambda out: ps.jvp(planes, (X,), (V,), out=out), (VALUE, JACOBIAN @ V)),
    ("linear function", lambda out: ps.linearize(planes, X)[1](V, out=out), JACOBIAN @ V),
    ("pullback", lambda out: ps.vjp(planes, X)[1](V, out=out), (V @ JACOBIAN,)),
    ("pullback of one", lambda out: ps.vjp(planes, X, wrt=0)[1](V, out=out), V @ JACOBIAN),
    ("product", lambda out: ps.hvp(cubes, (X,), V, out=out), CURVATURE @ V),
]


@pytest.mark.parametrize(("call", "wanted"), [c[1:] for c in CALLED], ids=[c[0] for c in CALLED])
def test_what_is_asked_for_at_once_takes_out(call: Callable[[Any], Any], wanted: Any) -> None:
    out = room(wanted)
    assert call(out) is out
    assert_equal(out, wanted)


def test_results_without_a_tangent_are_none_in_out() -> None:
    def f(x: Any) -> Any:
        return {"y": x * x, "place": np.argmax(x)}

    out = {"y": np.zeros(2), "place": None}
    assert ps.linearize(f, X)[1](V, out=out) is out
    np.testing.assert_array_equal(out["y"], 2.0 * X * V)
    place = np.zeros((), np.int64)
    pair = ({"y": np.zeros(2), "place": place}, {"y": np.zeros(2), "place": None})
    ps.jvp(f, (X,), (V,), out=pair)
    assert place == 1


def test_the_pullback_at_a_state_of_then_writes_into_arrays_too() -> None:
    scale = ps.state("scale", 3.0)

    def scaled(x: Any) -> Any:
        y = scale * x
        scale[...] = scale + 1.0
        return y

    _, pullback = ps.vjp(scaled, X)
    out = (np.zeros(2),)
    assert pullback(np.ones(2), out=out) is out
    np.testing.assert_array_equal(out[0], [3.0, 3.0])
    with pytest.raises(ShapeError, match=r"the pullback is float64\[2\], and the array of out for it float64\[3\]"):
        pullback(np.ones(2), out=(np.zeros(3),))


def test_a_thousand_calls_into_one_array_prepare_nothing() -> None:
    hessian, out = ps.hessian(cubes), np.empty((2, 2))
    hessian.run_into(out, X)
    kept = ps.counts()
    for scale in np.linspace(1.0, 2.0, 1000):
        hessian.run_into(out, scale * X)
        np.testing.assert_allclose(out, scale * CURVATURE)
    assert ps.counts() == kept


def test_a_functions_own_argument_out_stays_its_own() -> None:
    def f(x: Any, out: Any) -> Any:
        return np.sum(x * x * out)

    np.testing.assert_array_equal(ps.grad(f)(X, out=V), 2.0 * X * V)
    found = np.empty(2)
    np.testing.assert_array_equal(ps.grad(f).run_into(found, X, out=V), 2.0 * X * V)


HESSIAN = ps.hessian(cubes)
ANY_SIZE = ps.trace(HESSIAN, ps.spec("float64", ["N"]))
PREPARED = HESSIAN.prepare(X)
TOLD = r"the result y is float64[2,2], and the array of out for it"
FITTING: list[tuple[str, Any, type[Exception], str]] = [
    ("another size", np.full((2, 3), 99.0), ShapeError, f"{TOLD} float64[2,3]"),
    ("another rank", np.full(4, 99.0), ShapeError, f"{TOLD} float64[4]"),
    ("another dtype", np.full((2, 2), 99.0, np.float32), DtypeError, f"{TOLD} float32[2,2]"),
    ("a tuple", (np.full((2, 2), 99.0),), SpecError, "out is nested otherwise"),
    ("a number", 99.0, SpecError, "out takes an array for y, not a float"),
]


@pytest.mark.parametrize("write", [HESSIAN.run_into, ANY_SIZE.run_into, PREPARED.run_into], ids=["", "N", "prepared"])
@pytest.mark.parametrize(("out", "error", "told"), [f[1:] for f in FITTING], ids=[f[0] for f in FITTING])
def test_what_does_not_fit_is_refused_by_name_and_left_as_it_is(
    write: Callable[..., Any], out: Any, error: type[Exception], told: str
) -> None:
    with pytest.raises(error) as caught:
        write(out, X)
    assert told in str(caught.value)
    assert "test_out.py" in str(caught.value)
    assert np.all(np.asarray(out) == 99.0)


def test_none_of_several_arrays_is_written_where_one_does_not_fit() -> None:
    out = np.full((), 99.0), np.full(2, 99.0), np.full((3, 3), 99.0)
    with pytest.raises(ShapeError, match=r"float64\[2,2\]"):
        ps.value_grad_and_hessian(cubes).run_into(out, X)
    assert all(np.all(a == 99.0) for a in out)


def test_a_prepared_run_that_fails_writes_nothing() -> None:
    """A program that is not prepared has written what it had before it failed."""

    def checked(x: Any) -> Any:
        if x[0] < 0:
            raise ValueError("negative")
        return x * 2.0, np.cumsum(x)

    prepared = ps.trace(checked, X).prepare(X)
    out = np.full(2, 99.0), np.full(2, 99.0)
    with pytest.raises(RunError, match="negative"):
        prepared.run_into(out, -X)
    assert all(np.all(a == 99.0) for a in out)


def test_a_prepared_result_goes_into_arrays_of_any_layout() -> None:
    wide = np.full((2, 4), 99.0)
    PREPARED.run_into(wide[:, ::2], X)
    np.testing.assert_array_equal(wide, [[12.0, 99.0, 0.0, 99.0], [0.0, 99.0, 18.0, 99.0]])


LINEAR = ps.linearize(planes, X)[1]
TRACED: list[Callable[[Any], Any]] = [
    lambda x: HESSIAN.run_into(np.empty((2, 2)), x),
    lambda x: ANY_SIZE.run_into(np.empty((2, 2)), x),
    lambda x: ps.jvp(planes, (x,), (x,), out=(np.empty(2), np.empty(2))),
    lambda x: ps.hvp(cubes, (x,), x, out=np.empty(2)),
    lambda x: LINEAR(x, out=np.empty(2)),
]


@pytest.mark.parametrize("call", TRACED)
def test_a_traced_result_is_written_into_no_array(call: Callable[[Any], Any]) -> None:
    with pytest.raises(SpecError, match="this one is traced"):
        ps.trace(call, X)


def test_products_that_are_prepared_say_where_out_goes() -> None:
    with pytest.raises(SpecError, match=r"hvp\(f\)\.run_into\(out"):
        ps.hvp(cubes, out=np.empty(2))


def test_results_go_into_parts_of_arrays() -> None:
    whole = np.zeros((2, 4))
    assert HESSIAN.run_into(whole[:, ::2], X).base is whole
    np.testing.assert_allclose(whole, np.insert(CURVATURE, [1, 2], 0.0, axis=1))


def turned(z: Any) -> Any:
    return np.fft.fft(z) * z[0]


def test_complex_results_go_into_complex_arrays() -> None:
    z, v = np.array([1.0 + 2.0j, -0.5j, 3.0]), np.array([1.0j, 2.0, 1.0 - 1.0j])
    slope = np.fft.fft(v) * z[0] + np.fft.fft(z) * v[0]
    program, out = ps.trace(turned, z), np.zeros(3, complex)
    for write in (program.run_into, program.prepare(z).run_into):
        assert write(out, z) is out
        np.testing.assert_allclose(out, turned(z))
    pair = (np.zeros(3, complex), np.zeros(3, complex))
    ps.jvp(turned, (z,), (v,), out=pair)
    np.testing.assert_allclose(pair, (turned(z), slope))
    np.testing.assert_allclose(ps.linearize(turned, z)[1](v, out=out), slope)
    found = ps.vjp(turned, z)[1](v, out=(out,))[0]
    assert found is out
    np.testing.assert_allclose(np.vdot(found, v).real, np.vdot(v, slope).real)


def test_an_array_that_cannot_be_written_to_is_refused() -> None:
    out = np.zeros((2, 4))[:, ::2]
    out.flags.writeable = False
    with pytest.raises(SpecError, match="the array of out for y cannot be written to"):
        HESSIAN.run_into(out, X)

"""Complex arrays in loops, branches, calls and batches: two real ones go through them, with their derivatives."""

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, ShapeError, TraceError
from primsplit.testing import check_grads

A, B = np.array([0.3, 0.1, -0.2]), np.array([0.2, 0.5, 0.1])
ENERGY = np.array([[1.0, 0.5 - 0.2j], [0.5 + 0.2j, -0.7]])


def evolved(steps, phase):
    """A state of two levels, by Taylor's polynomial of second order."""
    state = np.stack([np.cos(phase) + 0j, 1j * np.sin(phase)])

    def step(state, dt):
        state = state - 1j * dt * (ENERGY @ state) - 0.5 * dt * dt * (ENERGY @ (ENERGY @ state))
        return state, {"populations": np.abs(state) ** 2, "states": state}

    state, found = ps.scan(step, state, steps)
    coherence = found["states"][:, 0] * found["states"][:, 1].conj()
    return found["populations"][:, 0].sum() + np.vdot(state, state).real + coherence.imag.sum()


def counted(x, y):
    c = x + 1j * y
    return np.abs(ps.fori_loop(0, 4, lambda i, z: 0.5 * z * z + c, 0 * c)) ** 2


def of_no_steps(x, y):
    c = x + 1j * y
    return np.abs(ps.fori_loop(0, 0, lambda i, z: z * z, c)) ** 2


def beside_others(x, y):
    c = x + 1j * y
    z, n = ps.fori_loop(0, 3, lambda i, s: (s[0] * c, s[1] + 1), (1j, 0))
    return z.real * n + z.imag


def over_complex_rows(x, y):
    z = x + 1j * y
    last, rows = ps.scan(lambda c, w: (c * 0.5 + w, c * w), 1 + 0j, z)
    again, others = ps.scan(lambda c, w: (c * 0.5 + w, c * w), z[0], z, reverse=True)
    return np.sum(np.abs(rows) ** 2) + last.real + (others.imag**3).sum() + again.imag


def in_parts(x, y):
    last, rows = ps.scan(lambda c, w: (0.5 * c + w * c * c, c * w), 1 + 0j, x + 1j * y, checkpoint="sqrt")
    return np.sum(np.abs(rows) ** 2) + last.real


def nested(x, y):
    z = x + 1j * y

    def outer(c, w):
        inner = ps.scan(lambda d, v: (d + v * w, None), c, z)[0]
        return 0.3 * inner, inner

    last, rows = ps.scan(outer, 0j, z)
    return np.abs(last) ** 2 + np.sum(rows.imag**2)


def written_to(x, y):
    z = x + 1j * y

    def body(i, c):
        c[1] = c[0] * z[-1]
        c[0] += 1j * c[1]
        return c

    return np.sum(np.abs(ps.fori_loop(0, 3, body, z)) ** 2) + z.real.sum()


def growing(x, y):
    z = x + 1j * y
    return np.sum(np.abs(ps.fori_loop(0, 3, lambda i, c: np.concatenate([c, c[-1:] * z[:1]]), z)) ** 2)


def mapped(x, y):
    z = x + 1j * y
    return np.sum(np.abs(ps.map(lambda w: w * w * z[0], z)))


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    "loop", [counted, of_no_steps, over_complex_rows, in_parts, nested, written_to, growing, mapped]
)
def test_a_complex_carry_is_that_of_the_python_loop_with_derivatives_of_second_order(loop: Callable[..., Any]) -> None:
    check_grads(loop, A, B, order=2)


def test_a_complex_number_starts_a_carry_beside_others() -> None:
    check_grads(beside_others, A[0], B[0], order=2)


@pytest.mark.parametrize("start", [0.25, 1])
def test_a_real_number_starts_a_carry_that_becomes_complex(start: float) -> None:
    def f(x, y):
        return np.abs(ps.fori_loop(0, 3, lambda i, z: 0.5 * z * z + (x + 1j * y), start)) ** 2

    check_grads(f, np.array(0.3), np.array(0.2), order=2)


def test_one_file_evolves_a_state_for_every_number_of_steps() -> None:
    check_grads(evolved, np.linspace(0.1, 0.3, 4), np.array(0.4), order=2)
    joint = ps.split(evolved, ps.spec("float64", ["N"]), ps.spec("float64", [])).joint()
    for n in (0, 1, 7):
        steps = np.linspace(0.1, 0.3, n)
        value, slopes, _ = joint(steps, 0.4)
        np.testing.assert_allclose(value, evolved(steps, 0.4), rtol=1e-13)
        assert slopes.shape == (n,)


@pytest.mark.parametrize(("x", "y"), [(0.4, 0.3), (0.5, 0.1), (-0.9, 0.4)])
def test_a_loop_that_a_complex_number_ends_has_a_gradient(x: float, y: float) -> None:
    def escaped(x, y):
        c = x + 1j * y
        z, n = ps.while_loop(lambda s: (np.abs(s[0]) < 2) & (s[1] < 40), lambda s: (s[0] ** 2 + c, s[1] + 1), (0j, 0))
        return np.log(np.abs(z)) + n

    check_grads(escaped, np.array(x), np.array(y), order=2)


@pytest.mark.parametrize(("x", "y"), [(0.45, 0.4), (0.15, 0.1), (-0.95, 0.4), (0.25, 0.1)])
def test_branches_take_and_give_complex_numbers(x: float, y: float) -> None:
    def f(x, y):
        z = x + 1j * y
        unit = ps.cond(np.abs(z) > 0.5, lambda z: z / np.abs(z), lambda z: z * z, z)
        kept = ps.cond(x > 0.2, lambda: unit, lambda: 0.0)
        chosen = ps.switch((x * 10).astype(int), [lambda z: z, lambda z: z.conj(), lambda z: 1j], unit)
        return unit.real * 2 + kept.imag * 3 + chosen.real * chosen.imag

    check_grads(f, np.array(x), np.array(y), order=2)


def test_what_a_side_writes_to_a_complex_array_stays_inside_of_it() -> None:
    def side(c):
        c[0] *= 2j
        return c

    def f(x, y):
        z = x + 1j * y
        found = ps.cond(x[0] > 0.2, side, lambda c: c * 1, z)
        known = ps.cond(True, side, lambda c: c * 1, z)
        return np.sum(np.abs(found - z) ** 2) + np.sum(np.abs(known - z) ** 2)

    check_grads(f, A, B, order=2)


def test_a_part_that_is_zero_is_made_where_the_array_was_made() -> None:
    """A body that asks for it must not keep it for the function around it."""

    def f(x):
        z = 1j * x
        inside = ps.cond(x > 0, lambda: z.real + z.imag, lambda: z.real - 1.0)
        return inside + z.real * 2 + np.abs(z)

    check_grads(f, np.array(0.7))


def test_parts_of_float32_stay_float32() -> None:
    def f(x, y):
        return np.abs(ps.scan(lambda c, w: (c * w + 1j, None), 0j, x + 1j * y)[0])

    x, y = A.astype(np.float32), B.astype(np.float32)
    found = ps.split(f, x, y).joint()(x, y)
    assert {a.dtype for a in found} == {np.dtype(np.float32)}
    np.testing.assert_allclose(found[0], f(x, y), rtol=1e-6)


def bounded(x, y):
    z = x + 1j * y
    for _ in range(14):
        z = z * z + (0.3 + 0.2j)
        if abs(z) > 1.2:
            z = z / abs(z) * 0.9
    return z.real + z.imag


def escaping(x, y):
    z, steps = 0j, 0
    for _ in range(70):
        z = z * z + (x + 1j * y)
        if abs(z) > 2:
            break
        steps = steps + 1
    return abs(z) + steps


def exchanged(x, y):
    a, b = np.stack([x + 1j, y * 2j]), np.stack([y - 1j, 0.5 * x + 0j])
    first = a
    for i in range(14):
        if a[0].real > b[1].imag:
            a, b = b, a
        a[0] = a[0] * (0.9 + 0.1j)
        b = b * (0.8 - 0.1j * (i % 2))
    return np.sum(np.abs(a) ** 2) + np.sum(b.imag) + first[0].real


@pytest.mark.sweep(4)
@pytest.mark.parametrize("function", [bounded, escaping, exchanged])
def test_complex_numbers_go_through_joined_branches(function: Callable[..., Any]) -> None:
    check_grads(function, np.array(0.4), np.array(0.3))
    program = ps.trace(function, 0.4, 0.3)
    for x, y in ((0.1, 0.2), (0.9, 0.5), (-1.0, 0.3), (2.0, 1.0)):
        np.testing.assert_allclose(program(x, y), function(np.float64(x), np.float64(y)), rtol=1e-9)


def seen_in_each_form(call: Callable[[Callable[..., Any], str], Callable[..., Any]]) -> Callable[..., Any]:
    def shifted(z, w):
        return {"sum": z * z + w, "size": np.abs(w)}

    def turned(z):
        return np.exp(z) * z.conj() * 1j

    first, second = call(shifted, "shifted"), call(turned, "turned")

    def f(x, y):
        z = x + 1j * y
        made = first(z, np.array([1.0, 2j, 3.0]))
        return np.sum(np.abs(second(made["sum"])) ** 2) + np.sum(made["size"] * z.imag)

    return f


CALLS: dict[str, Callable[[Callable[..., Any], str], Callable[..., Any]]] = {
    "cached": lambda f, name: ps.cached(f, name=name),
    "checkpoint": lambda f, name: ps.checkpoint(f),
    "primitive": lambda f, name: ps.primitive(f, name=name),
    "primitive that stays a call": lambda f, name: ps.primitive(f, name=name, inline=False),
}


def first_and_second(f: Callable[..., Any]) -> list[Any]:
    def slope(x, y):
        return sum(np.sum(g**2) for g in ps.grad(f, (0, 1))(x, y))

    return [*ps.value_and_grad(f, (0, 1))(A, B)[1], *ps.grad(slope, (0, 1))(A, B)]


@pytest.mark.parametrize("name", CALLS)
def test_calls_take_and_give_complex_arrays(name: str) -> None:
    plain = first_and_second(seen_in_each_form(lambda f, name: f))
    for found, wanted in zip(first_and_second(seen_in_each_form(CALLS[name])), plain, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11)


def test_a_stored_recording_of_complex_arrays_is_read_again(tmp_path: pathlib.Path) -> None:
    counts = []
    for _ in range(2):
        square = ps.cached(lambda z: {"z": z * z + 1j}, name="square", store=tmp_path)
        gradient = ps.grad(lambda x, square=square: np.sum(np.abs(square(x + 1j)["z"]) ** 2))
        np.testing.assert_allclose(gradient(A), 4 * A**3 + 4 * A + 4, rtol=1e-12)
        counts.append((square.statistics.misses, square.statistics.read))
    assert counts == [(1, 0), (0, 1)]


def test_a_batch_of_complex_arrays_is_each_examples_own() -> None:
    def powers(z):
        return ps.scan(lambda c, _: (c * z, c), 1j, length=3)[1]

    def batched(x, y):
        return np.sum(ps.vmap(powers, out_axes=1)(x + 1j * y).real ** 2)

    def by_hand(x, y):
        z = x + 1j * y
        return np.sum(np.stack([0 * x, -z.imag, -(z * z).imag]) ** 2)

    for found, wanted in zip(first_and_second(batched), first_and_second(by_hand), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11)
    given = ps.vmap(lambda x, y: np.abs(ps.fori_loop(0, 2, lambda i, z: z * z, x + 1j * y)))(A, B)
    np.testing.assert_allclose(given, np.abs((A + 1j * B) ** 4), rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "error", "told"),
    [
        (lambda z: ps.fori_loop(0, 3, lambda i, c: np.abs(c), z), DtypeError, "real or complex"),
        (lambda z: ps.fori_loop(0, 3, lambda i, c: c * 1j, z.real), DtypeError, "astype"),
        (lambda z: ps.cond(z.real > 0, lambda: z, lambda: z.real), DtypeError, "false: float64"),
        (lambda z: ps.fori_loop(0, 3, lambda i, c: (c, c), z), TraceError, "nested differently"),
        (lambda z: ps.fori_loop(0, 3, lambda i, c: c[None], z), ShapeError, "number of axes"),
        (lambda z: ps.fori_loop(0, 3, lambda i, c: c.astype(np.complex64), z), DtypeError, "float32 and float64"),
    ],
)
def test_a_carry_that_is_not_complex_throughout_is_refused(function: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told) as caught:
        ps.trace(lambda x: np.abs(function(x + 1j)), 0.5)
    assert len(str(caught.value).splitlines()) < 10

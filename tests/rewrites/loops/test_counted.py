"""Loops of a known number of steps that stack something are Scans in the file."""

import numpy as np
import pytest

import primsplit as ps


def turned(h, n):
    return ps.fori_loop(0, n, lambda i, c: np.sin(c) * (1 + 0.1 * i), h)


def energy(h, n):
    return np.sum(turned(h, n) ** 2)


def by_hand(h, n):
    for i in range(n):
        h = np.sin(h) * (1 + 0.1 * i)
    return np.sum(h**2)


def differences(function, h, step=1e-6):
    rows = [(function(h + step * u) - function(h - step * u)) / (2 * step) for u in np.eye(h.size)]
    return np.reshape(rows, (h.size, -1)).squeeze(axis=1) if h.size else np.zeros(0)


def loops_of(program):
    return [n.op_type for n in program.to_onnx().graph.node if n.op_type in {"Loop", "Scan", "If"}]


def test_only_what_stacks_and_has_a_known_end_is_a_scan() -> None:
    vector = ps.spec("float64", [3])
    assert loops_of(ps.trace(lambda h: turned(h, 5), vector)) == ["Loop"]
    assert loops_of(ps.split(lambda h: energy(h, 5), vector).joint()) == ["Scan", "Scan"]
    stacked = ps.trace(lambda h: ps.scan(lambda c, _: (np.sin(c), c), h, length=4), vector)
    assert loops_of(stacked) == ["Scan"]
    growing = ps.trace(lambda h: ps.scan(lambda c, _: (np.append(c, 1.0), c[0]), h, length=4)[1], vector)
    assert loops_of(growing) == ["Loop"]
    ended = ps.split(lambda h: np.sum(ps.while_loop(lambda c: c[0] > 0.1, lambda c: 0.5 * np.sin(c), h)), vector)
    assert loops_of(ended.joint())[0] == "Loop"


def test_a_loop_that_is_read_twice_is_still_run_once() -> None:
    both = ps.trace(lambda h: (energy(h, 5), ps.grad(lambda h: energy(h, 5))(h)), ps.spec("float64", [3]))
    assert loops_of(both) == ["Scan", "Scan"]


@pytest.mark.parametrize("size", [3, 1, 0])
def test_a_number_of_steps_that_the_run_tells_may_be_none_or_less(size: int) -> None:
    joint = ps.split(energy, ps.spec("float64", ["D"]), ps.spec("int64", [])).joint()
    h = np.linspace(0.2, 0.9, size)
    for steps in (0, 1, 4, -2):
        value, gradient = joint(h, np.int64(steps))
        np.testing.assert_allclose(value, by_hand(h, steps), rtol=1e-12)
        expected = differences(lambda h, n=steps: by_hand(h, n), h)
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_the_second_derivative_is_right(steps: int) -> None:
    h = np.linspace(0.2, 0.9, 3)
    gradient = ps.grad(lambda h: energy(h, steps))
    step = 1e-5
    expected = [(gradient(h + step * u) - gradient(h - step * u)) / (2 * step) for u in np.eye(3)]
    np.testing.assert_allclose(ps.hessian(lambda h: energy(h, steps))(h), expected, rtol=1e-6, atol=1e-8)


def test_what_a_scan_stacks_from_the_end_stays_in_order() -> None:
    def rows(h):
        return ps.scan(lambda c, _: (c * h[0], c + h[1]), h[2], length=4, reverse=True)[1]

    h = np.array([1.5, 0.25, 2.0])
    program = ps.trace(rows, ps.spec("float64", [3]))
    np.testing.assert_allclose(program(h), (2.0 * 1.5 ** np.arange(4.0) + 0.25)[::-1])

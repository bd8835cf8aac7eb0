"""Checkpointed scans: the same numbers, and fewer bytes kept."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError
from primsplit.testing import check_grads


def recurrence(checkpoint, *, reverse=False):
    def f(h, xs):
        def step(h, x):
            new = np.tanh(h * x + 0.1)
            return new, new.sum() * x

        last, ys = ps.scan(step, h, xs, checkpoint=checkpoint, reverse=reverse)
        return last.sum() + (ys * ys).sum()

    return f


def kept(function, steps: int) -> int:
    split = ps.split(function, ps.spec("float64", [256]), ps.spec("float64", [steps]))
    return sum(int(c["bytes"]) for c in split.capture_table())


def test_fewer_bytes_are_kept() -> None:
    """A scan keeps every carry; the square root about twice the root of them; three snapshots three and a part."""
    everything, root, three = (kept(recurrence(c), 900) for c in (None, "sqrt", 3))
    assert everything > 900 * 256 * 8
    assert root < everything / 10
    assert three < root


def counted(checkpoint):
    def f(h, xs):
        def step(h, _):
            new = np.tanh(h * 0.9 + 0.1)
            return new, new.sum()

        last, ys = ps.scan(step, h, length=len(xs), checkpoint=checkpoint)
        return last.sum() + (ys * ys).sum()

    return f


def test_steps_that_are_only_counted_are_checkpointed_too() -> None:
    everything, root, three = (kept(counted(c), 900) for c in (None, "sqrt", 3))
    assert root < everything / 10
    assert three < root
    specs = ps.spec("float64", [3]), ps.spec("float64", ["N"])
    with_root, plain = (ps.split(counted(c), *specs, wrt="h").joint() for c in ("sqrt", None))
    for steps in (0, 1, 5, 100):
        h, xs = np.array([0.1, -0.2, 0.3]), np.zeros(steps)
        for a, b in zip(with_root(h, xs), plain(h, xs), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    with pytest.raises(ShapeError, match="is no schedule"):
        kept(counted("nonsense"), 9)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("checkpoint", ["sqrt", 1, 2, 4])
@pytest.mark.parametrize(
    "steps", [0, 1, pytest.param(2, marks=pytest.mark.slow), 7, pytest.param(12, marks=pytest.mark.slow)]
)
def test_the_numbers_are_those_of_the_scan(checkpoint, reverse, steps) -> None:
    random = np.random.default_rng(steps)
    h, xs = random.normal(size=3), random.normal(size=steps)
    found = ps.value_and_grad(recurrence(checkpoint, reverse=reverse), wrt=(0, 1))(h, xs)
    expected = ps.value_and_grad(recurrence(None, reverse=reverse), wrt=(0, 1))(h, xs)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    for a, b in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_the_square_root_serves_every_length() -> None:
    specs = ps.spec("float64", [3]), ps.spec("float64", ["N"])
    root, plain = (ps.split(recurrence(c), *specs).joint() for c in ("sqrt", None))
    random = np.random.default_rng(0)
    for steps in (0, 1, 2, 5, 100):
        h, xs = random.normal(size=3), random.normal(size=steps)
        for a, b in zip(root(h, xs), plain(h, xs), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_the_second_derivative_goes_through_checkpoints() -> None:
    random = np.random.default_rng(1)
    check_grads(recurrence("sqrt"), random.normal(size=2), random.normal(size=6), order=2)
    check_grads(recurrence(2), random.normal(size=2), random.normal(size=6), order=2, symbolic=False)


@pytest.mark.parametrize(("checkpoint", "told"), [("cube", "no schedule"), (0, "no schedule"), (3, "known when")])
def test_a_schedule_that_cannot_be_kept_is_refused(checkpoint, told) -> None:
    with pytest.raises(ShapeError, match=told):
        ps.trace(recurrence(checkpoint), ps.spec("float64", [3]), ps.spec("float64", ["N"]))


def test_the_hessian_of_a_branch_before_checkpoints_keeps_the_sizes_of_rows_that_no_step_makes() -> None:
    """The last block of steps is empty where the length is a square, and its stacks still have rows of N."""

    def step(carry, element):
        y, s = carry
        return (np.sin(y), s), s

    def f(y, s):
        if np.sum(y) > 0.15:
            s = np.exp(-s)
        (y, s), rows = ps.scan(step, (y, s), y, checkpoint="sqrt")
        return np.sum(y * rows)

    for length in (4, 3, 1):
        check_grads(f, np.linspace(0.2, 0.7, length), 0.3)


def test_rows_of_nothing_have_sizes_that_only_a_vector_of_sizes_tells() -> None:
    """The steps left over are none; what they would stack is as long as u, which their pullback does not read."""

    def loss(p, u):
        def body(carry, x):
            call = ps.primitive(inline=False)(lambda q: np.tanh(u) + 0.3 * np.tanh(np.sum(q * carry)))
            return 0.8 * np.sin(carry) + np.tanh(np.sum(call(x))), None

        return np.sum(ps.scan(body, p, p, checkpoint="sqrt")[0])

    def slopes(p, u):
        return ps.grad(loss, (0, 1))(p, u)

    def product(p, u, v, w):
        return ps.jvp(slopes, (p, u), (v, w))[1]

    lengths = ps.spec("float64", [3]), ps.spec("float64", ["N"])
    first, second = ps.trace(slopes, *lengths), ps.trace(product, *lengths, *lengths)
    p, step = np.array([0.1, 0.4, 0.2]), 1e-6
    for size in (0, 1, 2, 3):
        u = np.array([0.3, -0.2, 0.5])[:size]
        found = second(p, u, np.cos(p), np.sin(u))
        moved = [first(p + s * np.cos(p), u + s * np.sin(u)) for s in (step, -step)]
        for a, b, c in zip(found, *moved, strict=True):
            np.testing.assert_allclose(a, (b - c) / (2 * step), rtol=1e-6, atol=1e-8)


def test_steps_left_over_that_map_elements_have_a_second_derivative() -> None:
    """Three steps are three parts of one, and what is left over is nothing."""

    def turn(carry, element):
        y, s = carry
        return (np.tanh(ps.map(lambda e: np.sin(e * s) + np.sum(y), y)), s), y[0] * element

    def f(y, s):
        def step(given):
            carry, count = given
            return ps.scan(turn, carry, carry[0], checkpoint="sqrt")[0], count + 1

        ((y, s), _) = ps.while_loop(lambda given: given[1] < 1, step, ((y, s), 0))
        return np.sum(np.sin(y + s))

    def steepness(y, s):
        by_y, by_s = ps.grad(f, (0, 1))(y, s)
        return np.sum(by_y**2) + by_s**2

    y, step = np.array([0.1, 0.2, -0.3]), 1e-5
    found = ps.grad(steepness)(y, 0.3)
    moved = [[steepness(y + h * unit, 0.3) for unit in np.eye(3)] for h in (step, -step)]
    np.testing.assert_allclose(found, np.subtract(*moved) / (2 * step), rtol=1e-6, atol=1e-10)

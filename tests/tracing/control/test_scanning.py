"""`scan` and `map`: one body for every length, and a gradient that walks back."""

import statistics

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.ir.errors import RunError, ShapeError
from primsplit.testing import check_grads


def recurrence(xs, h0, w):
    """Fixture F10: h' = tanh(w h + x), y = h' x; the last h and the sum of the ys."""

    def step(h, x):
        new = np.tanh(w * h + x)
        return new, new * x

    last, ys = ps.scan(step, h0, xs)
    return last + ys.sum()


EXPECTED = {
    5: (
        2.80162850379299,
        [0.672951036715, 0.912289377617, 1.062268934379, 1.127709646094, 1.258202571269],
        0.260759757697,
        0.924337681655,
    ),
    3: (1.985938716025543, None, 0.294603971979, 0.566744990175),
    0: (0.3, [], 1.0, 0.0),
}


@pytest.fixture(scope="module")
def recurrence_file():
    return ps.split(recurrence, ps.spec("float64", ["N"]), 0.3, 0.7).joint()


@pytest.mark.parametrize("n", EXPECTED)
def test_one_file_serves_every_length(n, recurrence_file) -> None:
    value, d_xs, d_h0, d_w = recurrence_file(np.linspace(0.1, 0.9, n), 0.3, 0.7)
    expected = EXPECTED[n]
    np.testing.assert_allclose(value, expected[0], rtol=1e-10)
    np.testing.assert_allclose([d_h0, d_w], expected[2:], rtol=1e-10)
    if expected[1] is not None:
        np.testing.assert_allclose(d_xs, expected[1], rtol=1e-10)


def test_the_second_derivative_goes_through_a_scan() -> None:
    check_grads(recurrence, np.linspace(0.1, 0.9, 4), 0.3, 0.7, order=2)


def test_a_third_derivative_goes_through_a_scan() -> None:
    def third(xs):
        inner = ps.grad(lambda w: recurrence(xs, 0.3, w))
        return ps.grad(ps.grad(inner))

    w, step = 0.7, 1e-4
    xs = np.linspace(0.1, 0.9, 4)
    second = ps.grad(ps.grad(lambda v: recurrence(xs, 0.3, v)))
    expected = (second(w + step) - second(w - step)) / (2 * step)
    np.testing.assert_allclose(third(xs)(w), expected, rtol=1e-6)


def kept_of(function, *specs):
    return [c for c in ps.split(function, *specs).capture_table() if c["kind"] == "intermediate"]


def test_what_is_there_already_is_not_kept() -> None:
    """The elements, the stacked results and what does not vary cost nothing; a carry is the step before's result."""

    def all_there(xs, w):
        def step(h, x):
            new = np.tanh(w * h + x)
            return new, new

        return ps.scan(step, 0.5, xs)[1]

    assert kept_of(all_there, ps.spec("float64", ["N"]), 0.7) == []
    assert [c["type"] for c in kept_of(recurrence, ps.spec("float64", ["N"]), 0.3, 0.7)] == ["float64[N]"]


def test_a_constant_of_the_body_is_not_stacked() -> None:
    def f(xs, w):
        return ps.scan(lambda c, x: (c + x * np.exp(w), None), 0.0, xs)[0]

    assert all("N" not in c["type"] for c in kept_of(f, ps.spec("float64", ["N"]), 0.7))


def test_what_does_not_vary_is_computed_once() -> None:
    program = ps.trace(
        lambda xs, w: ps.scan(lambda c, x: (c + x @ np.tanh(w).T, None), np.zeros((2, 3)), xs)[0],
        ps.spec("float64", ["N", 2, 3]),
        ps.spec("float64", [3, 3]),
    )
    body = next(op for op in program.block.ops if op.kind == "Scan").attributes["body"]
    assert [op.kind for op in body.ops] == ["MatMul", "Add"]


def test_the_reverse_walk_keeps_the_order_of_the_sequences() -> None:
    def f(xs, w):
        def step(h, x):
            new = np.tanh(w * h + x)
            return new, (new * x, h)

        last, (a, b) = ps.scan(step, 0.3, xs, reverse=True)
        return last + (a * np.arange(4)).sum() + (b**2 * np.arange(4)).sum()

    check_grads(f, np.linspace(0.1, 0.9, 4), 0.7, order=2)


def test_matrices_of_the_body_get_their_gradient() -> None:
    random = np.random.default_rng(0)

    def f(xs, w, h):
        def step(h, x):
            new = np.tanh(x @ w + h @ w.T)
            return new, new

        return ps.scan(step, h, xs)[1].sum()

    check_grads(f, random.normal(size=(3, 2, 4)), random.normal(size=(4, 4)), np.zeros((2, 4)), order=2)


def test_scans_nest() -> None:
    def f(x, w):
        def outer(c, row):
            last, ys = ps.scan(lambda d, e: (np.tanh(d * w + e), d * e), c, row)
            return last, ys.sum()

        c, ys = ps.scan(outer, 0.5, x)
        return c + (ys**2).sum()

    check_grads(f, np.random.default_rng(0).normal(size=(3, 4)), 0.7, order=2)


def test_a_branch_inside_keeps_nothing_ragged() -> None:
    def f(xs, w):
        def step(c, x):
            new = ps.cond(x > 0, lambda c: np.tanh(c * w + x), lambda c: c * c * w, c)
            return new, new

        c, ys = ps.scan(step, 0.5, xs)
        return c * (ys**2).sum()

    check_grads(f, np.array([0.3, -0.4, 0.2, -0.1, 0.7]), 0.8, order=2)


def test_a_loop_inside_may_run_as_often_as_each_step_wants() -> None:
    def f(xs, w):
        def step(c, x):
            new = ps.while_loop(lambda v: v > 1, lambda v: w * np.sin(v) + 0.5 * v, c + x)
            return new, new

        c, ys = ps.scan(step, 0.5, xs)
        return c * (ys**2).sum()

    check_grads(f, np.array([0.3, 2.4, 0.2, 3.1, 0.7]), 0.3, order=2)


def test_a_length_stands_for_sequences() -> None:
    def f(x):
        c, ys = ps.scan(lambda c, _: (np.sin(c) * x, c), x, length=4, reverse=True)
        return c.sum() + (ys * np.arange(4.0)[:, None]).sum()

    check_grads(f, np.array([0.4, 0.9]), order=2)


def test_map_is_a_scan_without_carry() -> None:
    def f(x):
        return ps.map(lambda row: np.outer(row, row).sum() * row, x).sum()

    check_grads(f, np.random.default_rng(0).normal(size=(3, 4)), order=2)
    empty = ps.trace(lambda x: ps.map(np.sin, x), ps.spec("float64", ["N", 3]))
    assert empty(np.zeros((0, 3))).shape == (0, 3)


def test_a_triangle_written_with_scan_serves_every_length() -> None:
    """Fixture F8: sum of i x_i. A Python loop over x would serve one length alone."""

    def f(xs):
        return ps.scan(lambda c, x: ((c[0] + c[1] * x, c[1] + 1), None), (0.0, 1.0), xs)[0][0]

    gradient = ps.split(f, ps.spec("float64", ["N"])).joint()
    for n in (5, 3, 10, 0):
        np.testing.assert_allclose(gradient(np.ones(n))[1], np.arange(1, n + 1))


def test_a_long_scan_is_a_short_program() -> None:
    program = ps.split(recurrence, ps.spec("float64", [1000]), 0.3, 0.7).joint()
    assert len(list(walk(program.block))) < 60
    d_xs = program(np.linspace(0.0, 0.1, 1000), 0.3, 0.7)[1]
    assert np.isfinite(d_xs).all()


def test_checkpoints_keep_the_length_of_what_is_stacked() -> None:
    def f(xs):
        def step(c, x):
            return c + x, np.sin(c * x)

        return (ps.scan(step, 0.5, xs, checkpoint="sqrt")[1] * xs).sum()

    file = ps.split(f, ps.spec("float64", ["N"])).joint()
    for n in (5, 1, 0):
        xs = np.linspace(0.1, 0.9, n)
        np.testing.assert_allclose(file(xs)[0], f(xs), rtol=1e-12)
    program = ps.trace(
        lambda xs: ps.scan(lambda c, x: (c, x * c), 2.0, xs, checkpoint="sqrt")[1], ps.spec("float64", ["N"])
    )
    assert str(program.block.results[0].type) == "float64[N]"


def test_lengths_that_differ_are_refused_when_they_are_known() -> None:
    def f(a, b):
        return ps.scan(lambda c, x: (c + x[0] * x[1], None), 0.0, (a, b))[0]

    with pytest.raises(ShapeError, match="one length"):
        ps.trace(f, ps.spec("float64", [3]), ps.spec("float64", [4]))
    with pytest.raises(ShapeError, match="as its sequences are long"):
        ps.trace(lambda x, n: ps.scan(lambda c, v: (c + v, None), 0.0, x, length=n), np.ones(3), np.int64(3))


PRODUCTS = {
    "a sum without a loop": lambda a, b: ps.scan(lambda c, x: (c + x[0] * x[1], None), 0.0, (a, b))[0],
    "a loop": lambda a, b: ps.scan(lambda c, x: (np.tanh(c * x[0] + x[1]), None), 0.5, (a, b))[0],
    "a carry that grows": lambda a, b: ps.scan(lambda c, x: (np.append(c, x[0] * x[1]), None), np.ones(1), (a, b))[
        0
    ].sum(),
    "parts": lambda a, b: ps.scan(lambda c, x: (np.tanh(c * x[0] + x[1]), c), 0.5, (a, b), checkpoint="sqrt")[0],
    "no carry": lambda a, b: sum(y.sum() for y in ps.map(lambda x: (x[0] * 2, x[1]), (a, b))),
    "a length": lambda a, b: ps.scan(lambda c, x: (c + x, None), np.sum(a), b, length=len(a))[0],
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_lengths_that_only_a_run_knows_differ_in_none(name) -> None:
    f = PRODUCTS[name]
    a, b = np.array([0.3, 0.5, 0.7]), np.array([1.0, -1.0, 2.0])
    program = ps.trace(f, ps.spec("float64", ["N"]), ps.spec("float64", ["M"]))
    np.testing.assert_allclose(program(a, b), f(a, b))
    for other in (b[:1], b[:0], np.arange(5.0)):
        with pytest.raises(RunError):
            program(a, other)


def test_on_plain_arrays_it_is_the_loop() -> None:
    last, ys = ps.scan(lambda c, x: (c + x, c * x), 1.0, np.arange(3.0))
    assert last == 4.0
    np.testing.assert_array_equal(ys, [0.0, 1.0, 4.0])
    assert ps.scan(lambda c, x: (c, x * 2), 1.0, np.zeros((0, 2)))[1].shape == (0, 2)


HANDED_ROUND = {
    "two swap": lambda c, e: ((c[1], c[0], c[2] + np.sin(c[0] * c[1] * e + c[0])), None),
    "a delay line": lambda c, e: ((c[1], c[2], np.sin(c[0] * c[1] + c[2] * e)), c[0]),
    "a ring": lambda c, e: ((c[1], c[2], c[0]), np.sin(c[0] * c[1] * c[1] + c[2] * e) * c[0]),
}


@pytest.mark.parametrize("name", HANDED_ROUND)
def test_carries_that_are_handed_on_have_gradients(name) -> None:
    def f(a, b, xs):
        (p, q, r), ys = ps.scan(HANDED_ROUND[name], (a, b, a * b), xs)
        return p + 2.0 * q * r + (0.0 if ys is None else np.sum(ys * ys))

    for length in (4, 1, 0):
        check_grads(f, 1.3, 0.7, np.linspace(0.3, 1.1, length))


def test_what_no_step_changes_is_computed_once_though_a_step_says_it_twice() -> None:
    def f(rate, xs):
        return ps.scan(lambda c, x: (c * np.exp(rate) + x * np.exp(rate), None), 0.0, xs)[0]

    program = ps.split(f, np.float64(0.3), np.arange(3.0)).joint()
    assert [op.kind for op in program.block.ops].count("Exp") == 1
    value, slope, _ = program(np.float64(0.3), np.arange(3.0))
    e = np.exp(0.3)
    np.testing.assert_allclose([value, slope], [2 * e + e**2, 2 * e + 2 * e**2], rtol=1e-14)


def test_a_scan_over_nothing_runs_no_step_on_plain_arrays() -> None:
    """Its outputs have the dtypes and shapes of a step that is recorded; nothing is computed or written."""
    slot = ps.state("steps", np.zeros(2))
    steps = []

    def step(carry, x):
        if not isinstance(x, ps.Array):
            steps.append(x)
        slot[...] = slot + 1
        if carry > 0:
            return carry, {"a": x.astype(np.float32), "b": (x > 0, np.stack([carry, 1 / carry]))}
        return carry - 1.0, {"a": x.astype(np.float32), "b": (x > 0, np.stack([carry, 1 / carry]))}

    with np.errstate(all="raise"):
        carry, found = ps.scan(step, 0.0, np.zeros((0, 3)))
    assert carry == 0.0
    assert (found["a"].dtype, found["a"].shape) == (np.float32, (0, 3))
    assert (found["b"][0].dtype, found["b"][0].shape) == (np.bool_, (0, 3))
    assert (found["b"][1].dtype, found["b"][1].shape) == (np.float64, (0, 2))
    assert steps == []
    np.testing.assert_array_equal(slot, np.zeros(2))


def test_a_step_that_no_recording_holds_is_run_for_the_shapes_of_nothing() -> None:
    _, found = ps.scan(lambda carry, x: (carry, statistics.fmean([x])), 0.0, np.zeros(0))
    assert (found.dtype, found.shape) == (np.float64, (0,))


def test_a_scan_of_plain_arrays_over_nothing_changes_nothing() -> None:
    seen, counts, array = [], {"steps": 0}, np.zeros(2)

    def body(c, e):
        seen.append(float(np.sum(c)))
        counts["steps"] += 1
        array[0] = 7
        return c, c * e

    carry, rows = ps.scan(body, np.ones(2), np.zeros(0))
    np.testing.assert_array_equal(carry, np.ones(2))
    assert rows.shape == (0, 2)
    assert not seen
    assert counts == {"steps": 0}
    np.testing.assert_array_equal(array, [0, 0])

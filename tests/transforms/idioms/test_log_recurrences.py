"""The forward algorithm in log space becomes products of scaled exponentials where it is differentiated."""

import numpy as np
import pytest
from scipy.special import logsumexp

import primsplit as ps
from primsplit.ir import walk
from primsplit.testing import check_grads

STATES, STEPS = 3, 40


def by_scipy(a, matrix, b):
    return logsumexp(a[:, None] + matrix, axis=0) + b


def by_rows(a, matrix, b):
    return b + logsumexp(matrix.T + a, axis=1)


def by_logaddexp(a, matrix, b):
    return np.logaddexp.reduce(a[:, None] + matrix, axis=0) - (-b)


def by_hand(a, matrix, b):
    x = np.reshape(a, (-1, 1)) + matrix
    top = x.max(axis=0)
    return np.log(np.exp(x - top[None]).sum(axis=0)) + top + b


def with_kept_axes(a, matrix, b):
    x = a[:, None] + matrix
    top = x.max(axis=0, keepdims=True)
    return np.squeeze(np.log(np.exp(x - top).sum(axis=0, keepdims=True)) + top, 0) + b


def of_seen(a, matrix, b):
    return logsumexp(a[:, None] + matrix, axis=0) - 0.5 * b**2 + np.tanh(b[0])


STEPS_OF = [by_scipy, by_rows, by_logaddexp, by_hand, with_kept_axes, of_seen]


def likelihood(step, **options):
    def f(matrix, start, terms):
        last, _ = ps.scan(lambda a, b: (step(a, matrix, b), None), start, terms, **options)
        return logsumexp(last)

    return f


def data(states=STATES, steps=STEPS, dtype=np.float64):
    random = np.random.default_rng(0)
    matrix = np.log(random.dirichlet(np.ones(states), states))
    return [x.astype(dtype) for x in (matrix, random.normal(size=states), random.normal(size=(steps, states)))]


def plain(matrix, start, terms):
    """The last vector by NumPy and SciPy."""
    for b in terms:
        start = logsumexp(start[:, None] + matrix, axis=0) + b
    return start


def posterior(matrix, start, terms):
    """The derivatives by the forward-backward algorithm, with SciPy."""
    forward, backward = [start], [np.zeros(len(start))]
    for b in terms:
        forward.append(logsumexp(forward[-1][:, None] + matrix, axis=0) + b)
    for b in terms[::-1]:
        backward.append(logsumexp(matrix + (b + backward[-1])[None], axis=1))
    total, backward = logsumexp(forward[-1]), backward[::-1]
    seen = np.exp(np.add(forward, backward) - total)
    pairs = [
        np.exp(a[:, None] + matrix + (b + c)[None] - total)
        for a, b, c in zip(forward, terms, backward[1:], strict=False)
    ]
    return total, sum(pairs), seen[0], seen[1:]


def is_replaced(f, *args):
    """Whether the program asks if products do."""
    return any(op.kind == "If" for op in walk(ps.split(f, *args, seed="ones").joint().block))


@pytest.mark.parametrize("step", STEPS_OF)
def test_each_way_to_write_it_is_found_and_has_the_right_slopes(step) -> None:
    f = likelihood(step)
    assert is_replaced(f, *data())
    check_grads(f, *data(), order=1)


@pytest.mark.parametrize(("states", "steps"), [(2, 33), (8, 100), (21, 50), (5, 257)])
def test_slopes_are_the_posterior_of_the_forward_backward_algorithm(states, steps) -> None:
    args = data(states, steps)
    found = ps.split(likelihood(by_scipy), *args, seed="ones").joint()(*args)
    for got, wanted in zip(found, posterior(*args), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-11)


def test_float32_has_the_digits_of_the_scan() -> None:
    args = data(8, 100, np.float32)
    found = ps.split(likelihood(by_scipy), *args, seed="ones").joint()(*args)
    for got, wanted in zip(found, posterior(*(a.astype(float) for a in args)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_walk_may_come_from_the_end(reverse) -> None:
    matrix, start, terms = data()
    total, *_ = ps.split(likelihood(of_seen, reverse=reverse), matrix, start, terms, seed="ones").joint()(
        matrix, start, terms
    )
    order = terms[::-1] if reverse else terms
    np.testing.assert_allclose(total, logsumexp(plain(matrix, start, -0.5 * order**2 + np.tanh(order[:, :1]))))


def test_second_derivatives_go_through_the_products() -> None:
    f = likelihood(by_scipy)
    matrix, start, terms = data(2, 34)
    check_grads(lambda m, s: f(m, s, terms), matrix, start, order=2)


EXTREMES = {
    "an impossible step": lambda matrix, start, terms: (np.where(np.eye(3) > 0, -np.inf, matrix), start, terms),
    "a state that cannot be": lambda matrix, start, terms: (matrix, start, np.where(terms > 2.0, -np.inf, terms)),
    "a range beyond the numbers": lambda matrix, start, terms: (matrix, start, 400.0 * terms),
    "the largest range of products": lambda matrix, start, terms: (10.0 * matrix, start, 40.0 * terms),
    "a state that wins late": lambda matrix, start, terms: (
        np.where(np.eye(3) > 0, 0.0, -2000.0),
        start,
        np.where(np.arange(40)[:, None] < 18, [[9.0, -90.0, 0.0]], [[-90.0, 9.0, 0.0]]),
    ),
    "a start with one state": lambda matrix, start, terms: (matrix, np.array([0.0, -np.inf, -np.inf]), terms),
    "a start far off": lambda matrix, start, terms: (matrix, start - 1e5 + np.array([0.0, -2000.0, 3.0]), terms),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_a_run_of_a_large_range_has_the_digits_too(name) -> None:
    args = EXTREMES[name](*data())
    found = ps.split(likelihood(by_scipy), *data(), seed="ones").joint()(*args)
    with np.errstate(all="ignore"):
        for got, wanted in zip(found, posterior(*args), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("place", ["matrix", "start", "terms"])
def test_a_nan_stays_one(place) -> None:
    args = dict(zip(("matrix", "start", "terms"), data(), strict=True))
    made = ps.split(likelihood(by_scipy), *args.values(), seed="ones").joint()
    args[place] = args[place].copy()
    args[place].flat[1] = np.nan
    assert np.isnan(made(*args.values())[0])


def test_one_file_serves_every_length() -> None:
    matrix, start, terms = data(4, 200)
    made = ps.split(likelihood(by_scipy), matrix, start, ps.spec("float64", ["T", 4]), seed="ones").joint()
    for steps in (0, 1, 31, 32, 33, 64, 200):
        args = matrix, start, terms[:steps]
        for got, wanted in zip(made(*args), posterior(*args), strict=True):
            np.testing.assert_allclose(got, np.broadcast_to(wanted, np.shape(got)), rtol=1e-11)


def smoothed(reverse=False):
    """A weighted sum of the vectors before and after each step, which is none of a likelihood's."""

    def f(matrix, start, terms):
        def step(a, b):
            new = by_scipy(a, matrix, b)
            return new, (new, a)

        last, (after, before) = ps.scan(step, start, terms, reverse=reverse)
        weights = np.cos(np.arange(STATES))
        return np.sum(after * weights) + np.sum(before**2) * 1e-3 + last[0]

    return f


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_that_stacks_its_vectors_is_replaced_too(reverse) -> None:
    matrix, start, terms = args = data(STATES, 70)
    f = smoothed(reverse)
    assert is_replaced(f, *args)
    check_grads(f, *args, order=1, symbolic=False)
    states = [start]
    for b in terms[::-1] if reverse else terms:
        states.append(logsumexp(states[-1][:, None] + matrix, axis=0) + b)
    value = np.sum(states[1:] * np.cos(np.arange(STATES))) + np.sum(np.square(states[:-1])) * 1e-3 + states[-1][0]
    np.testing.assert_allclose(ps.split(f, *args, seed="ones").joint()(*args)[0], value, rtol=1e-13)


def test_stacked_vectors_of_any_length_and_of_a_large_range() -> None:
    def f(matrix, start, terms):
        def step(a, b):
            new = by_scipy(a, matrix, b)
            return new, new

        return np.sum(ps.scan(step, start, terms)[1])

    matrix, start, terms = data(STATES, 100)
    made = ps.split(f, matrix, start, ps.spec("float64", ["T", STATES]), seed="ones").joint()
    for steps, scale in ((0, 1.0), (31, 1.0), (33, 1.0), (100, 1.0), (100, 400.0)):
        value, *_, slopes = made(matrix, start, scale * terms[:steps])
        total, state = 0.0, start
        for b in scale * terms[:steps]:
            state = logsumexp(state[:, None] + matrix, axis=0) + b
            total = total + np.sum(state)
        np.testing.assert_allclose(value, total, rtol=1e-13)
        weights = np.sum(slopes, axis=1)  # adding a number to all terms of a step adds it to all later vectors
        np.testing.assert_allclose(weights, STATES * np.arange(steps, 0, -1.0), rtol=1e-10)


LEFT = {
    "few steps": (likelihood(by_scipy), data(3, 31)),
    "a matrix of each step": (likelihood(lambda a, m, b: logsumexp(a[:, None] + m * b, axis=0)), data()),
    "another function": (likelihood(lambda a, m, b: np.log(np.exp(a[:, None] + m).sum(axis=0)) + b), data()),
    "the carry once more": (likelihood(lambda a, m, b: by_scipy(a, m, b) + 0.1 * a), data()),
    "a stack of what is no vector": (
        lambda m, s, t: np.sum(ps.scan(lambda a, b: (by_scipy(a, m, b), np.exp(a)), s, t)[1]),
        data(),
    ),
    "an axis of the states after": (likelihood(lambda a, m, b: logsumexp(a[:, None] + m, axis=1) + b), data()),
}


@pytest.mark.parametrize("name", LEFT)
def test_other_steps_stay(name) -> None:
    f, args = LEFT[name]
    assert not is_replaced(f, *args)
    check_grads(f, *args, order=1)

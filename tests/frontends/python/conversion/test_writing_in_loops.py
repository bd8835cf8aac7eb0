"""Python loops that write into arrays and append to lists: what they record is what they would have computed.

The functions of the table are problems 26, 27 and 35 of More, Garbow and Hillstrom, Testing Unconstrained Optimization
Software, ACM TOMS 7, 1981, written element by element; the expected values are those of whole-array formulas.
"""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import TraceError
from primsplit.testing import check_grads


def trigonometric(x):
    total = 0.0
    for v in x:
        total += np.cos(v)
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = len(x) - total + (i + 1) * (1 - np.cos(x[i]))
        y[i] -= np.sin(x[i])
    return y


def brown_almost_linear(x):
    y = x.copy()
    y += x.sum() - (len(x) + 1)
    product = 1.0
    for v in x:
        product *= v
    y[-1] = product - 1
    return y


def chebyquad(x):
    n = len(x)
    y = np.zeros_like(x)
    for j in range(n):
        before, now = 1.0, 2 * x[j] - 1
        twice = 2 * now
        for i in range(n):
            y[i] += now
            before, now = now, twice * now - before
    y /= n
    for i in range(1, n, 2):
        y[i] += 1 / ((i + 1) ** 2 - 1)
    return y


def whole_trigonometric(x):
    return len(x) - np.cos(x).sum() + np.arange(1, len(x) + 1) * (1 - np.cos(x)) - np.sin(x)


def whole_brown(x):
    return np.append(x[:-1] + x.sum() - (len(x) + 1), np.prod(x) - 1)


def whole_chebyquad(x):
    degrees = np.arange(1, len(x) + 1)[:, None]
    inside = np.cos(degrees * np.arccos(2 * x - 1)).mean(1)
    return inside + np.where(degrees[:, 0] % 2 == 0, 1 / np.maximum(degrees[:, 0] ** 2 - 1, 1), 0)


X = np.array([0.15, 0.4, 0.55, 0.8])


@pytest.mark.parametrize(
    ("function", "whole"),
    [(trigonometric, whole_trigonometric), (brown_almost_linear, whole_brown), (chebyquad, whole_chebyquad)],
    ids=lambda f: f.__name__,
)
def test_elements_written_in_a_loop_are_part_of_the_program(function, whole) -> None:
    program = ps.trace(function, ps.spec("float64", [4]))
    np.testing.assert_allclose(program(X), whole(X), rtol=1e-10)
    check_grads(lambda x: (function(x) ** 2).sum(), X, order=2, symbolic=False)


def test_what_is_overwritten_has_no_gradient_and_the_argument_is_left_alone() -> None:
    def f(x):
        x[0] = x[1] * x[2]
        x *= 2.0
        x[2:] = x[:2]
        return (x**2).sum()

    given = np.array([1.0, 2.0, 3.0, 4.0])
    gradient = ps.grad(f)(given)
    np.testing.assert_array_equal(given, [1.0, 2.0, 3.0, 4.0])
    # f = 8 (x1 x2)**2 + 8 x1**2
    np.testing.assert_allclose(gradient, [0.0, 16 * 6 * 3 + 16 * 2, 16 * 6 * 2, 0.0])


def test_a_list_that_a_loop_appends_to_may_be_summed_stacked_and_joined() -> None:
    def f(x):
        rows, kept = [], []
        for i in range(3):
            rows.append(x[i] * (i + 1))
            if x[i] > 0:
                kept.append(x[i] ** 2)
        return sum(rows) + np.stack(rows).sum() + np.concatenate([v[None] for v in rows]).sum() + sum(kept)

    np.testing.assert_allclose(ps.grad(f)(np.array([1.0, -1.0, 2.0])), [5.0, 6.0, 13.0])


def test_a_list_that_a_recorded_body_appends_to_is_refused() -> None:
    def f(x):
        found = []

        def step(c, v):
            found.append(c * v)
            return c + v, None

        ps.scan(step, 0.0, x)
        return found[0]

    with pytest.raises(TraceError, match="outside the function") as caught:
        ps.grad(f)(np.ones(3))
    assert len(str(caught.value).splitlines()) < 10


def test_a_loop_over_an_axis_serves_its_length_alone_and_says_so() -> None:
    """Fixture F8 as a Python loop: the answer for five elements is none for three."""

    def unrolled(xs):
        return sum((i + 1) * x for i, x in enumerate(xs))

    gradient = ps.split(unrolled, ps.spec("float64", [5])).joint()
    np.testing.assert_array_equal(gradient(np.ones(5))[1], [1.0, 2.0, 3.0, 4.0, 5.0])
    with pytest.raises(ps.PrimsplitError, match="has size 3 at axis 0, not 5"):
        gradient(np.ones(3))
    with pytest.raises(ps.PrimsplitError, match=r"size N, which is known only at run time(.|\n)*ps\.scan"):
        ps.trace(unrolled, ps.spec("float64", ["N"]))
    whole = ps.split(lambda xs: (np.arange(1, xs.shape[0] + 1) * xs).sum(), ps.spec("float64", ["N"])).joint()
    for n in (5, 3, 10, 0):
        np.testing.assert_array_equal(whole(np.ones(n))[1], np.arange(1, n + 1))


def doubled(*given):
    """Double the last argument in place, and return it."""
    row = given[-1]
    row *= 2
    return row


def _summed_in_place(total, row):
    total += row
    return total, total


@pytest.mark.parametrize(
    "given",
    [
        lambda y: ps.cond(y[0] > 0, doubled, doubled, y),
        lambda y: ps.cond(True, doubled, doubled, y),
        lambda y: ps.switch(0, [doubled], y),
        lambda y: ps.fori_loop(0, 2, doubled, y),
        lambda y: ps.while_loop(lambda row: row[0] < 4, doubled, y),
        lambda y: ps.map(doubled, np.stack([y, y])),
        ps.checkpoint(doubled),
        ps.guarded(doubled),
        ps.cached(doubled),
        ps.primitive(doubled),
        ps.vmap(doubled),
        lambda y: ps.scan(_summed_in_place, y, np.stack([y, y, y]))[1],
    ],
    ids=[
        "cond",
        "cond of a known",
        "switch",
        "fori_loop",
        "while_loop",
        "map",
        "checkpoint",
        "guarded",
        "cached",
        "primitive",
        "vmap",
        "scan",
    ],
)
def test_what_a_body_writes_to_what_it_is_given_stays_inside_of_it(given) -> None:
    def f(x):
        y = x * 1.0
        return given(y), y

    x = np.array([1.0, 2.0])
    found, left = f(x)
    np.testing.assert_array_equal(left, x)
    np.testing.assert_array_equal(ps.trace(f, x)(x)[0], found)


def test_rows_that_a_scan_stacks_are_those_of_their_steps() -> None:
    rows = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(ps.scan(_summed_in_place, np.zeros(2), rows)[1], np.cumsum(rows, axis=0))


@pytest.mark.parametrize(
    "given",
    [
        lambda y: ps.cond(y[0] > 0, lambda v: v, lambda v: 2 * v, y),
        lambda y: ps.cond(y[0] > 0, lambda: y, lambda: 2 * y),
        lambda y: ps.cond(True, lambda: y, lambda: 2 * y),
        lambda y: ps.switch(1, [lambda: 2 * y, lambda: y]),
        lambda y: ps.while_loop(lambda c: c[0] > 5, lambda c: c / 2, y),
        lambda y: ps.while_loop(lambda c: c[0] > 0.9, lambda _: y - 1, y + 0.5),
        lambda y: ps.fori_loop(0, 0, lambda _, c: c / 2, y),
        lambda y: ps.scan(lambda c, v: (c + v, None), y, np.zeros((0, 2)))[0],
    ],
    ids=["cond", "cond of an outer", "cond of a known", "switch", "while_loop", "a step's", "fori_loop", "scan"],
)
def test_what_a_loop_or_branch_gives_is_no_array_from_before(given) -> None:
    def f(x):
        y = x * 1.0
        found = given(y)
        y[0] = 7.0
        found[1] += 1.0
        return found, y

    x = np.array([1.0, 2.0])
    for told, expected in zip(ps.trace(f, x)(x), f(x), strict=True):
        np.testing.assert_array_equal(told, expected)

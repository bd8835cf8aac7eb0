"""The code behind a Python branch is recorded once, after the If; code that must stay in the sides stays there."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.testing import check_grads

POINTS = [np.array(p) for p in ([0.3, 0.7, -0.4], [-0.3, 0.9, 0.2], [0.6, -0.8, -0.2], [-0.5, -0.1, 1.1])]


def kinds(function, size=3):
    """The operators of the traced program, outermost block only."""
    return [op.kind for op in ps.trace(function, ps.spec("float64", [size])).block.ops]


def layers(count):
    """A function of `count` branches, each with three operators behind it."""

    def f(x):
        y = x
        for i in range(count):
            y = np.tanh(y) if x[i] > 0 else 0.5 * y
            y = np.exp(np.sin(y)) + y
        return y.sum()

    return f


def test_a_program_grows_with_its_branches_and_not_with_its_paths() -> None:
    sizes = [len(list(walk(ps.trace(layers(n), ps.spec("float64", [6])).block))) for n in range(1, 7)]
    assert np.unique(np.diff(sizes)).size == 1
    assert kinds(layers(6), 6).count("If") == 6
    gradient = ps.split(layers(6), ps.spec("float64", [6])).joint()
    assert len(list(walk(gradient.block))) < 30 * 6


def one_line(x):
    total = 0.0
    for v in (x[0], x[1], x[2]):
        total = total + (v if v > 0 else -2.0 * v)
    return total


def chosen_number(x):
    factor = 2.0 if x[0] > 0 else 3.0
    return (np.sin(x) * factor).sum()


def chosen_exponent(x):
    power = 2 if x[0] > 0 else 3
    return (np.sin(x) ** power).sum()


def chosen_axis(x):
    table = np.stack([x, x**2])
    axis = 0 if x[0] > 0 else 1
    return np.cumsum(table, axis=axis)[1, 2]


def chosen_length(x):
    part = x[1:] if x[0] > 0 else x
    return np.exp(part).sum() / part.shape[0]


def chosen_mask(x):
    mask = x > 0.5 if x[0] > 0 else x < 0
    return (np.exp(x[mask]) ** 2).sum()


def chosen_numbering(x):
    picked = x[x > 0] if x[0] > 0 else x[x < 0]
    return (np.exp(picked) ** 2).sum() + picked.shape[0] * x[1]


def one_argument_or_two(x):
    a, b = (x, x) if x[0] > 0 else (np.sin(x), np.cos(x))
    return (a * b).sum()


def returns_early(x):
    if x[0] < 0:
        return x.sum()
    z = np.exp(x)
    if x[1] < 0:
        return z.sum()
    return (z * z).sum()


def two_results_of_one_op(x):
    first, second = np.split(np.exp(x if x[0] > 0 else -x), [1])
    return first.sum() * second.sum()


def read_on_one_side_too(x):
    y = np.sin(x)
    if x[0] > 0:
        y = y + x
        extra = y.sum()
    else:
        y = y * x
        extra = 0.0
    z = np.exp(y)
    return z.sum() * 2.0 + extra


def branch_in_a_shared_function(x):
    def leaky(v):
        return v if v > 0 else 0.1 * v

    inner = leaky(x[1]) if x[0] > 0 else leaky(x[2])
    return leaky(inner - 0.25) ** 2


def large_table(x):
    table = np.arange(300.0) if x[0] > 0 else np.arange(300.0) ** 0.5
    return (np.outer(x, table) ** 2).sum() * 1e-6


def one_value_in_two_roles(x):
    """Behind the first branch, `b` is read for itself on both sides, and for `c` on one."""
    b = np.cos(x)
    c = b if b[0] > 0.9 else x
    if x[2] > 0:
        c = np.clip(b, -0.95, 0.95) if x[1] < 0 else c
    return (b + c**2 + b * c).sum()


def asserted_between(x):
    y = np.sin(x) if x[1] > 0 else np.cos(x)
    assert y.sum() != 7, "seven"
    z = 2 * y if y.sum() > 0 else 3 * y
    return (z * z).sum()


FUNCTIONS = [
    layers(3),
    one_line,
    chosen_number,
    chosen_exponent,
    chosen_axis,
    chosen_length,
    chosen_mask,
    chosen_numbering,
    one_argument_or_two,
    returns_early,
    two_results_of_one_op,
    read_on_one_side_too,
    branch_in_a_shared_function,
    large_table,
    one_value_in_two_roles,
    asserted_between,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_joined_program_does_what_python_does(function) -> None:
    program = ps.trace(function, ps.spec("float64", [3]))
    for x in POINTS:
        np.testing.assert_allclose(program(x), function(x), rtol=1e-12)
    first, *others = ((x,) for x in POINTS)
    check_grads(function, *first, also_at=others)


@pytest.mark.parametrize("function", [chosen_length, chosen_mask, chosen_numbering, asserted_between])
def test_one_joined_program_serves_every_length(function) -> None:
    program = ps.trace(function, ps.spec("float64", ["N"]))
    for x in (*POINTS, np.array([0.3, -0.2]), np.linspace(-1.0, 1.0, 7)):
        np.testing.assert_allclose(program(x), function(x), rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "last"),
    [
        (one_line, "Add"),
        (chosen_number, "ReduceSum"),
        (chosen_mask, "ReduceSum"),
        (one_argument_or_two, "ReduceSum"),
        (chosen_axis, "GatherND"),
        (returns_early, "If"),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_what_follows_comes_after_the_if(function, last) -> None:
    assert kinds(function)[-1] == last


def test_alternatives_on_one_line_are_not_one_step() -> None:
    def f(x):
        t = x.sum()
        return t**3 if t > 1 else t**2

    assert kinds(f) == ["ReduceSum", "Greater", "If"]


def test_calls_whose_rules_differ_are_not_one_step() -> None:
    """The programs of the calls are the same; what their rules answer is not."""

    def scaled(factor):
        @ps.primitive
        def double(x):
            return 2.0 * x

        @ps.rrule(double)
        def rule(x):
            return double(x), lambda dy: factor * dy

        return double

    ten, hundred = scaled(10.0), scaled(100.0)

    def f(x):
        double = ten if x[0] > 0 else hundred
        return double(x).sum()

    np.testing.assert_array_equal(ps.grad(f)(np.ones(3)), np.full(3, 10.0))
    np.testing.assert_array_equal(ps.grad(f)(-np.ones(3)), np.full(3, 100.0))


def test_parameters_of_two_names_are_not_one_though_their_numbers_are() -> None:
    def f(x):
        name = "up" if x[0] > 0 else "down"
        return (x * ps.param(np.ones(3), name)).sum()

    file = ps.split(f, ps.spec("float64", [3]), wrt=["up", "down"]).joint()
    for sign, other in (("up", "down"), ("down", "up")):
        x = np.ones(3) if sign == "up" else -np.ones(3)
        found = dict(zip(file.outputs, file(x, np.ones(3), np.ones(3)), strict=True))
        np.testing.assert_array_equal(found[f"d_{sign}"], x)
        np.testing.assert_array_equal(found[f"d_{other}"], np.zeros(3))


def test_what_follows_a_branch_in_a_batch_is_computed_once() -> None:
    batched = ps.vmap(layers(3))
    x = np.stack(POINTS)
    np.testing.assert_allclose(batched(x), [layers(3)(row) for row in x], rtol=1e-12)
    program = ps.trace(batched, ps.spec("float64", [4, 3]))
    assert [op.kind for op in walk(program.block)].count("Exp") == 3

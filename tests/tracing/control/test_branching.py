"""`cond` and `switch`: one side is run and differentiated, the other keeps nothing."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, ShapeError, TraceError
from primsplit.testing import check_grads


def branching(x):
    """Fixture F5: the sum cubed above 1, squared below."""
    return ps.cond(x.sum() > 1, lambda t: t.sum() ** 3, lambda t: t.sum() ** 2, x)


@pytest.mark.parametrize(
    ("x", "value", "gradient"),
    [([0.1, 0.2, 0.3], 0.36, 1.2), ([1.1, 1.2, 1.3], 46.656, 38.88), ([0.0, 1.1, 1.0], 9.261, 13.23)],
)
def test_both_sides_are_in_one_file(x, value, gradient) -> None:
    file = ps.split(branching, ps.spec("float64", ["N"])).joint()
    found, d_x = file(np.array(x))
    np.testing.assert_allclose(found, value, rtol=1e-10)
    np.testing.assert_allclose(d_x, np.full(3, gradient), rtol=1e-10)


@pytest.mark.parametrize("x", [[0.1, 0.2, 0.3], [1.1, 1.2, 1.3]])
def test_the_second_derivative_goes_through_a_branch(x) -> None:
    check_grads(branching, np.array(x), order=2)


def test_the_side_that_is_not_taken_keeps_nothing() -> None:
    def f(x):
        return ps.cond(x[0] > 0, lambda: np.exp(np.sin(x)).sum(), lambda: x.sum())

    split = ps.split(f, ps.spec("float64", [4]))
    kept = [c for c in split.capture_table() if c["kind"] == "intermediate" and c["type"].startswith("float")]
    names = [c["name"] for c in kept]
    high, low = (dict(zip(split.forward.outputs, split.forward(np.full(4, s)), strict=True)) for s in (1.0, -1.0))
    assert names
    assert all(high[n].size == 4 for n in names)
    assert all(low[n].size == 0 for n in names)


def test_a_captured_number_comes_back_with_its_axes() -> None:
    def f(x, w):
        h = np.exp(w)
        return ps.cond(x[0] > 0, lambda: (np.tanh(x * h) * x).sum(), lambda: np.sin(h) * x[1])

    check_grads(f, np.array([0.1, 0.2, 0.3]), 0.4, order=2)
    check_grads(f, np.array([-0.1, 0.2, 0.3]), 0.4, order=2)


def test_the_other_side_may_be_nan() -> None:
    """A Where of both sides keeps the NaN of sqrt's derivative at 0; cond does not evaluate it (jax#347)."""

    def chosen(x):
        return ps.cond(x < 1, lambda: x, lambda: np.sqrt(x - 1))

    assert ps.grad(chosen)(0.0) == 1.0


@pytest.mark.parametrize(("index", "gradient"), [(-1, 1.0), (0, 1.0), (1, 4.0), (2, np.exp(2.0)), (5, np.exp(2.0))])
def test_switch_holds_its_index_to_the_functions_there_are(index, gradient) -> None:
    def f(x, i):
        return ps.switch(i, [np.sum, lambda v: (v**2).sum(), lambda v: np.exp(v).sum()], x)

    np.testing.assert_allclose(ps.grad(f)(np.array([2.0]), np.int64(index)), [gradient], rtol=1e-12)


def test_a_narrow_index_chooses_among_more_functions_than_it_counts() -> None:
    functions = [lambda x, k=k: k * x for k in range(140)]
    program = ps.trace(lambda i, x: ps.switch(i, functions, x), np.int8(0), 0.5)
    assert [program(np.int8(i), 0.5) for i in (-128, 3, 127)] == [0.0, 1.5, 63.5]


def test_nested_arguments_and_results_pass_through() -> None:
    def f(tree):
        new = ps.cond(tree["a"].sum() > 0, lambda t: {"a": t["b"], "b": t["a"]}, lambda t: t, tree)
        return (new["a"] * np.array([1.0, 2.0])).sum() + (new["b"] ** 2).sum()

    for sign in (1.0, -1.0):
        check_grads(f, {"a": sign * np.array([0.5, 0.7]), "b": np.array([0.2, 0.3])}, order=2)


def test_sizes_may_differ_between_the_sides() -> None:
    def f(x):
        part = ps.cond(x[0] > 0, lambda: x[:2], lambda: x)
        return (part**2).sum()

    np.testing.assert_allclose(ps.grad(f)(np.array([1.0, 2.0, 3.0])), [2.0, 4.0, 0.0])
    np.testing.assert_allclose(ps.grad(f)(np.array([-1.0, 2.0, 3.0])), [-2.0, 4.0, 6.0])


@pytest.mark.parametrize(
    ("sides", "error", "told"),
    [
        ((lambda x: x, lambda x: (x, x)), TraceError, r"nested differently(.|\n)*true: \*\n +false: \(\*, \*\)"),
        (
            (lambda x: {"a": [x]}, lambda x: {"a": [x.astype(np.float32)]}),
            DtypeError,
            r"\.a\[0\] .* float32 and float64(.|\n)*true: float64\[3\]\n +false: float32\[3\]",
        ),
        (
            (lambda x: x, lambda x: x[None]),
            ShapeError,
            r"number of axes(.|\n)*true: float64\[3\]\n +false: float64\[1,3\]",
        ),
    ],
)
def test_sides_that_do_not_fit_are_told_apart(sides, error, told) -> None:
    with pytest.raises(error, match=told) as caught:
        ps.trace(lambda x: ps.cond(x.sum() > 0, *sides, x), ps.spec("float64", [3]))
    assert len(str(caught.value).splitlines()) < 10


def test_on_plain_arrays_it_is_python() -> None:
    assert ps.cond(np.bool_(True), lambda x: x + 1, lambda x: x, 1) == 2
    assert ps.switch(np.int64(7), [lambda: "a", lambda: "b"]) == "b"


def test_a_known_condition_leaves_no_if() -> None:
    program = ps.trace(lambda x: ps.cond(np.bool_(True), np.sin, np.cos, x), ps.spec("float64", [3]))
    assert [op.kind for op in program.block.ops] == ["Sin"]


def test_the_functions_of_a_switch_that_do_not_fit_are_told_by_their_numbers() -> None:
    def chosen(x):
        return ps.switch(1 * (x.sum() > 0), [lambda x: x, lambda x: x, lambda x: (x,)], x)

    with pytest.raises(TraceError, match=r"function 1: \*\n +function 2: \(\*,\)"):
        ps.trace(chosen, ps.spec("float64", [3]))

"""Primitives with rules: what their programs may read."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RuleError, TraceError
from primsplit.onnx.provenance import line_of, read_lines
from tests.numpy.agreement import check_grads


@ps.primitive
def mean_square(x: Any) -> Any:
    return (x * x).sum() / x.shape[0]


@ps.rrule(mean_square)
def _mean_square(x: Any) -> Any:
    return mean_square(x), lambda dz: (2.0 * dz * x / x.shape[0],)


def test_a_primitive_with_a_rule_reads_a_size_that_was_read_around_it() -> None:
    def f(x: Any) -> Any:
        return mean_square(x * x.shape[0]) + mean_square(np.concatenate([x, x]) / (x.shape[0] + 1.0))

    check_grads(f, np.array([0.3, -1.2, 0.8]), resize=(1,))


def test_a_primitive_with_a_rule_reads_no_value_that_is_not_its_argument() -> None:
    def f(x: Any) -> Any:
        @ps.primitive
        def scaled(y: Any) -> Any:
            return y * x

        ps.rrule(scaled)(lambda y: (scaled(y), lambda dz: (dz,)))
        return scaled(x + 1.0)

    with pytest.raises(TraceError, match="reads a traced value that is not an argument") as caught:
        ps.trace(f, np.ones(3))
    assert "test_primitives.py" in str(caught.value)


@ps.primitive
def times(x: Any, y: Any) -> Any:
    return x * y


@ps.rrule(times)
def _times(x: Any, y: Any) -> Any:
    """Row P2: the rule of a product, in the form in which rule authors write it: each cotangent put off."""
    to_x, to_y = ps.project_to(x), ps.project_to(y)
    return times(x, y), lambda dz: (lambda: to_x(dz * y), lambda: to_y(dz * x))


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [((3, 4), (4,)), ((3, 4), (3, 1)), ((3, 4), (1, 4)), ((4,), (3, 4)), ((3, 1), (1, 4)), ((2,), ())],
)
def test_a_rule_projects_its_cotangents_onto_its_arguments(wide: tuple[int, ...], narrow: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    check_grads(times, random.normal(size=wide), random.normal(size=narrow))


def test_a_rule_meets_pythons_numbers_as_its_primitive_does() -> None:
    x = np.array([1.0, -2.0, 0.5], np.float32)
    gradient = ps.grad(lambda x: np.sum(times(2.0, x)))(x)
    assert gradient.dtype == np.float32
    np.testing.assert_array_equal(gradient, np.full(3, 2.0, np.float32))
    by_number, by_array = ps.grad(lambda y, x: np.sum(times(y, x)), wrt=(0, 1))(2.0, x)
    assert by_number == -0.5
    assert by_array.dtype == np.float32
    ps.testing.check_rrule(times, 2.0, np.ones(3))


@ps.primitive
def leaky(x: Any, slope: Any = 0.25) -> Any:
    return np.where(x > 0, x, slope * x)


@ps.rrule(leaky)
def _leaky(x: Any, slope: Any = 0.25) -> Any:
    return leaky(x, slope), lambda dz: (np.where(x > 0, dz, slope * dz), np.sum(np.where(x > 0, 0.0, x * dz)))


@ps.primitive
def scaled(x: Any, factor: Any = 0.5) -> Any:
    return x * factor


@ps.frule(scaled)
def _scaled(x: Any, factor: Any = 0.5) -> Any:
    def pushforward(tx: Any, tf: Any = None) -> Any:
        return (0.0 if tx is None else tx * factor) + (0.0 if tf is None else x * tf)

    return scaled(x, factor), pushforward


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_rule_speaks_of_arguments_that_are_left_to_their_defaults(dtype: type) -> None:
    x = np.array([1.0, -2.0], dtype)
    for call, wanted in (
        (lambda x: leaky(x), [1.0, 0.25]),
        (lambda x: leaky(x, 0.125), [1.0, 0.125]),
        (lambda x: leaky(x, slope=0.125), [1.0, 0.125]),
        (lambda x: scaled(x), [0.5, 0.5]),
        (lambda x: scaled(x, 0.125), [0.125, 0.125]),
    ):
        gradient = ps.grad(lambda x, call=call: np.sum(call(x)))(x)
        assert gradient.dtype == dtype
        np.testing.assert_array_equal(gradient, wanted)
        np.testing.assert_array_equal(ps.jvp(call, (x,), (np.ones_like(x),))[1], wanted)


@pytest.mark.parametrize("function", [leaky, scaled, ps.forward(lambda x, a: a * x)], ids=str)
def test_the_derivative_by_a_python_number_beside_float32_has_the_numbers_dtype(function: Any) -> None:
    x = np.array([-1.0, -2.0], np.float32)
    by_x, by_number = ps.grad(lambda x, a: np.sum(function(x, a)), wrt=(0, 1))(x, 0.5)
    assert (by_x.dtype, by_x.tolist()) == (np.float32, [0.5, 0.5])
    assert (by_number.dtype, float(by_number)) == (np.float64, -3.0)
    assert float(ps.jvp(lambda x, a: np.sum(function(x, a)), (x, 0.5), (None, 1.0))[1]) == -3.0


def test_forward_brings_its_cotangents_to_the_dtype_of_their_arrays() -> None:
    product = ps.forward(lambda x, y: x * y)
    by_x, by_y = ps.grad(lambda x, y: np.sum(product(x, y)), wrt=(0, 1))(np.ones(2, np.float32), np.full(2, 3.0))
    assert (by_x.dtype, by_x.tolist(), by_y.dtype, by_y.tolist()) == (np.float32, [3.0, 3.0], np.float64, [1.0, 1.0])


def test_a_rule_of_more_cotangents_than_its_primitive_has_arguments_is_refused() -> None:
    @ps.primitive
    def doubled(x: Any) -> Any:
        return 2.0 * x

    ps.rrule(doubled)(lambda x: (doubled(x), lambda dz: (2.0 * dz, None)))
    with pytest.raises(RuleError, match="returned 2 cotangents for 1 arguments"):
        ps.grad(lambda x: np.sum(doubled(x)))(np.ones(2))


@ps.primitive
def square(x: Any) -> Any:
    copy = x
    copy += 1.0
    return x * x


@ps.rrule(square)
def _square(x: Any) -> Any:
    copy = x
    copy += 1.0
    return x * x, lambda dz: (2.0 * x * dz,)


def test_what_adds_to_a_number_makes_another_and_what_adds_to_an_array_changes_it() -> None:
    """The array first, so that nothing recorded for it serves the numbers."""
    x = np.array([3.0, 1.0])
    for get, value, slope in (
        (lambda x: x[0, ...], 16.0, 8.0),
        (lambda x: x[0], 9.0, 6.0),
        (lambda x: x[0] + 0.0 * np.float64(2.0), 9.0, 6.0),
    ):
        found, gradient = ps.value_and_grad(lambda x, get=get: square(get(x)))(x)
        assert found == value
        np.testing.assert_array_equal(gradient, [slope, 0.0])
        assert ps.jvp(lambda x, get=get: square(get(x)), (x,), (np.ones(2),))[1] == slope
    for number in (3.0, np.float64(3.0)):
        assert ps.trace(lambda x, number=number: x * square(number), 1.0)(1.0) == 9.0


@pytest.mark.parametrize("staged", [False, True])
def test_a_nested_cotangent_may_be_put_off_in_part_in_a_rule_of_first_order(staged: bool) -> None:
    @ps.primitive
    def scaled(p: Any, x: Any) -> Any:
        return p["a"] * x + p["b"]

    def rule(p: Any, x: Any) -> Any:
        return scaled(p, x), lambda dz: ({"a": lambda: dz * x, "b": dz}, lambda: dz * p["a"])

    ps.rrule(scaled, staged=staged, first_order_only=True)((lambda *_: rule) if staged else rule)
    p = {"a": np.array([2.0, 3.0]), "b": np.array([1.0, 1.0])}
    d_p, d_x = ps.grad(lambda p, x: scaled(p, x).sum(), (0, 1))(p, np.array([5.0, 7.0]))
    assert [d_p["a"].tolist(), d_p["b"].tolist(), d_x.tolist()] == [[5.0, 7.0], [1.0, 1.0], [2.0, 3.0]]


def test_a_projection_gives_the_dtype_of_the_argument_and_none_where_it_has_no_tangent() -> None:
    x, y = np.ones((2, 3), np.float32), np.full(3, 2.0)
    d_x, d_y = ps.grad(lambda x, y: times(x, y).sum(), (0, 1))(x, y)
    assert d_x.dtype == np.float32
    np.testing.assert_array_equal(d_x, np.full((2, 3), 2.0))
    np.testing.assert_array_equal(d_y, np.full(3, 2.0))
    counts = np.arange(3)
    np.testing.assert_array_equal(ps.grad(lambda y: times(counts, y).sum())(y), counts)


def test_the_ops_of_a_librarys_function_have_the_line_of_their_own_call() -> None:
    """It is recorded once: at the line that called it first, in another function perhaps."""

    def first(x: Any) -> Any:
        return np.sum(np.log1p(x) ** 3)

    def second(x: Any) -> Any:
        y = np.sin(x)
        return np.sum(np.log1p(y) ** 3)

    for function in (first, second):
        made = ps.split(function, ps.spec("float64", [3])).joint().to_onnx()
        assert {line.function for line in read_lines(made).values()} == {function.__name__}


def test_the_ops_of_a_users_primitive_keep_their_lines() -> None:
    made = ps.trace(lambda x: mean_square(x) + 1.0, ps.spec("float64", [3])).to_onnx()
    lines = [line_of(node.name, read_lines(made)) for node in made.graph.node]
    assert sum(line is not None and line.function == "mean_square" for line in lines) >= 2

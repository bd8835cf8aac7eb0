"""Primitives with rules: what their programs may read."""

from typing import Any

import numpy as np

import primsplit as ps
from primsplit.onnx.provenance import line_of, read_lines


@ps.primitive
def mean_square(x: Any) -> Any:
    return (x * x).sum() / x.shape[0]


@ps.rrule(mean_square)
def _mean_square(x: Any) -> Any:
    return mean_square(x), lambda dz: (2.0 * dz * x / x.shape[0],)


@ps.primitive
def times(x: Any, y: Any) -> Any:
    return x * y


@ps.rrule(times)
def _times(x: Any, y: Any) -> Any:
    """Row P2: the rule of a product, in the form in which rule authors write it: each cotangent put off."""
    to_x, to_y = ps.project_to(x), ps.project_to(y)
    return times(x, y), lambda dz: (lambda: to_x(dz * y), lambda: to_y(dz * x))


def test_a_rule_meets_pythons_numbers_as_its_primitive_does() -> None:
    x = np.array([1.0, -2.0, 0.5], np.float32)
    gradient = ps.grad(lambda x: np.sum(times(2.0, x)))(x)
    assert gradient.dtype == np.float32
    np.testing.assert_array_equal(gradient, np.full(3, 2.0, np.float32))
    by_number, by_array = ps.grad(lambda y, x: np.sum(times(y, x)), wrt=(0, 1))(2.0, x)
    assert by_number == -0.5
    assert by_array.dtype == np.float32
    ps.testing.check_rrule(times, 2.0, np.ones(3))


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

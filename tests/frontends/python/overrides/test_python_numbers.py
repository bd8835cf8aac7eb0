"""Traced numbers where Python has its own: functions of `math`, extremes, rounding, classes, `item` and `tolist`."""

import functools
import math
import numbers
import typing
from collections.abc import Callable, Hashable, Iterable, Sized
from math import exp
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.testing import check_grads

X = np.array([0.7, 1.9, -0.4])
POSITIVE = np.array([0.7, 1.9, 0.4])


def numbers_of_math(x: Any) -> Any:
    a, b = x[0], x[1]
    s = math.sin(a) * exp(b) + math.sqrt(b) + math.log(b, 3) + math.atan2(a, b) + math.hypot(a, b) + math.pow(b, a)
    return x * (s + math.fsum([a, b, 1]) + math.prod([a, b]) + math.lgamma(b) + math.erf(a) + math.pi + math.tanh(2))


def parts_of_numbers(x: Any) -> Any:
    fraction, whole = math.modf(-3 * x[0])
    wrapped = math.remainder(7 * x[0], 2 * x[1]) + math.remainder(x[0], math.pi)
    near = math.isclose(x[0], 0.69) + 2 * math.isclose(x[0], x[1]) + 4 * math.isclose(x[0], 0.6, abs_tol=0.2)
    return (
        x * math.floor(x[1])
        + math.ceil(x[0]) * x[0]
        + math.copysign(x[0], -1.0)
        + math.trunc(x[1]) * math.ldexp(x[0], 3)
    ) * (fraction + whole * x[0] + wrapped + near + math.dist(x, [0.0, 1.0, x[0]]))


def rounded(x: Any) -> Any:
    return x * (round(x[1]) + round(x[0], 1)) + round(2.6)


@pytest.mark.parametrize(
    ("function", "point"),
    [(numbers_of_math, POSITIVE), (parts_of_numbers, X), (rounded, X)],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_functions_of_python_numbers_are_recorded_as_they_stand(function: Callable[[Any], Any], point: Any) -> None:
    check_grads(function, point, symbolic=False, order=1, value_tolerance=1e-12)


@pytest.mark.parametrize("y", [2.0, -2.0, 0.75])
def test_the_remainder_goes_to_the_nearest_multiple_and_to_the_even_one(y: float) -> None:
    for x in (0.0, 0.9, 1.0, 1.1, 2.5, 3.0, 3.5, 5.0, -1.0, -3.0, -4.9, 1e9):
        assert ps.trace(lambda x: math.remainder(x, y), x)(x) == math.remainder(x, y)


def test_a_python_number_stays_one() -> None:
    x = np.ones(3, np.float32)
    assert ps.trace(lambda x: x * math.sin(x[0]), x)(x).dtype == np.float32
    assert ps.trace(lambda x: x * math.dist(x, [1, 2, 3]) + math.modf(x[0])[1], x)(x).dtype == np.float32
    assert ps.trace(lambda x: x * np.sum([x[0], x[1]]), x)(x).dtype == np.float32
    assert ps.trace(lambda x: x * sorted(x.tolist())[1] * max(x.tolist(), key=abs), x)(x).dtype == np.float32


def elements_as_python_numbers(x: Any) -> Any:
    first, second, third = x.tolist()
    return x.astype(np.float32) * x[:1].item() + first * second + third * x.reshape(3, 1).item(2, 0) + x.item(1)


def test_an_element_is_a_python_number_in_any_dtype_of_the_array() -> None:
    x = X.astype(np.float32)
    found = ps.trace(elements_as_python_numbers, x)(x)
    assert found.dtype == elements_as_python_numbers(x).dtype == np.float32
    np.testing.assert_allclose(found, elements_as_python_numbers(x), rtol=1e-6)
    check_grads(lambda x: x.sum().item() * x[:1].item() * x, X)
    check_grads(lambda x: sum(v * v for v in (x * x).tolist()), X, symbolic=False, order=1)
    with pytest.raises(ps.PrimsplitError, match="array of size 1"):
        ps.trace(lambda x: x.item(), X)


def test_a_class_is_asked_for_as_numpy_would_answer() -> None:
    asked: list[Any] = []

    def f(x: Any, s: Any, n: Any) -> Any:
        assert isinstance(x, np.ndarray)
        assert not isinstance(x, float | list)
        assert isinstance(x, ps.Array)
        asked.extend([isinstance(x[0], float), isinstance(x[0], numbers.Real), isinstance(x[0], np.ndarray)])
        assert np.isscalar(x[0])
        assert not np.isscalar(x)
        asked.extend([isinstance(s, float), isinstance(n, int), isinstance(x[0] * s > 1, np.bool_), told(x), told(s)])
        return x * s

    @functools.singledispatch
    def told(value: Any) -> str:
        return "something"

    told.register(np.ndarray, lambda value: "array")
    told.register(float, lambda value: "float")
    assert ps.trace(f, X, 2.0, 3)(X, 2.0, 3) is not None
    assert asked == [True, True, False, True, True, True, "array", "float"]
    single: list[bool] = []
    ps.trace(lambda x: single.append(isinstance(x[0], float)) or x, X.astype(np.float32))
    assert single == [False]


def of_any_shape(x: Any) -> Any:
    """An angle or several, as people tell them apart."""
    if isinstance(x, Sized | Iterable):
        return np.sum(np.sin([v for v in x]))  # noqa: C416  # what is tested
    return math.sin(x) if isinstance(x, (Hashable, str)) else x


@pytest.mark.parametrize("point", [0.7, X])
def test_an_abstract_class_goes_by_what_numpy_would_have(point: Any) -> None:
    assert not isinstance(X, Hashable)
    check_grads(of_any_shape, point, symbolic=False, order=1)
    check_grads(lambda x: of_any_shape(x[0]) * (2.0 if isinstance(x, Hashable) else x), X, symbolic=False, order=1)
    check_grads(lambda x: np.sin(x) if isinstance(x, typing.Iterable) else x * x, point)
    check_grads(lambda x: 2.0 * x if isinstance(x, typing.Hashable) else x * x, point, symbolic=False, order=1)


@pytest.mark.parametrize(
    "kinds",
    [
        typing.Optional[float],  # noqa: UP045  # what is tested
        typing.Union[int, typing.Iterable],  # noqa: UP007  # what is tested
        typing.Iterable | int,
        (str, typing.Iterable | None),
        np.ndarray | None,
        None | str,
    ],
    ids=str,
)
@pytest.mark.parametrize("point", [0.7, X])
def test_a_union_of_classes_goes_by_what_numpy_would_have(kinds: Any, point: Any) -> None:
    check_grads(lambda x: np.sin(x) if isinstance(x, kinds) else x * x, point)


def by_class(x: Any) -> Any:
    if type(x) == np.ndarray and type(x[0]) in (float, np.float64):  # noqa: E721  # what is tested
        x = 2 * x
    chosen = {np.ndarray: 3.0, float: 5.0, list: 7.0}
    steps = np.arange(3)
    factor = chosen[type(x)] * chosen[type(x.item(0))] * chosen[type([])] * chosen[type(steps)]
    assert isinstance(type(x), type)
    return x * factor * steps


def test_classes_are_compared_as_numpys() -> None:
    check_grads(by_class, np.array([0.5, 1.5, 2.5]), symbolic=False, order=1)


BY_TYPE: dict[str, Any] = {
    "is": lambda x: 2 * x if type(x) is np.ndarray else x * x if type(x) is float else np.sin(x),
    "is not": lambda x: np.atleast_1d(x) ** 2 if type(x) is not np.ndarray else 2 * x,
    "its name": lambda x: 2 * x if type(x).__name__ == "ndarray" else x * x,
    "a subclass": lambda x: 2 * x if issubclass(type(x), np.ndarray) else x * x,
    "a table": lambda x: {float: 2.0, np.ndarray: 5.0}.get(type(x), 3.0) * x,
}


@pytest.mark.parametrize("name", BY_TYPE)
@pytest.mark.parametrize("point", [0.5, np.array([0.5, 1.5])], ids=["number", "array"])
def test_what_is_asked_of_a_type_alone_has_the_function_run_again(name: str, point: Any) -> None:
    np.testing.assert_array_equal(ps.trace(BY_TYPE[name], point)(point), BY_TYPE[name](point))


def test_a_type_that_is_only_told_has_it_run_once() -> None:
    runs = []

    def f(x: Any) -> Any:
        runs.append(1)
        assert x is not None, f"no value, {type(x)}"
        return 2 * x

    ps.trace(f, 0.5)
    assert runs == [1]


def test_a_whole_number_is_told_by_the_arrays_of_a_guard() -> None:
    slope = ps.grad(lambda x: sum(x[1] ** i for i in range(int(x[0]))), branches="guard")
    assert [slope(np.array([n, 2.0]))[1] for n in (2.5, 3.0, 4.9)] == [1.0, 5.0, 17.0]

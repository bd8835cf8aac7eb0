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
from primsplit.frontends.python.converter.operators import OPERATORS
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
    check_grads(function, point, symbolic=False, value_tolerance=1e-12)


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
    check_grads(lambda x: sum(v * v for v in (x * x).tolist()), X, symbolic=False)
    with pytest.raises(ps.PrimsplitError, match="array of size 1"):
        ps.trace(lambda x: x.item(), X)


def extremes_of_many(x: Any) -> Any:
    ordered = sorted(x, reverse=True)
    return max(x) * min(v * v for v in x) + ordered[1] ** 2 + sorted(x)[2] + max(0, x[0]) + min(x[1], 0.5)


def extremes_by_keys(x: Any) -> Any:
    by_size = sorted(x, key=abs)
    falling = sorted(x, key=lambda v: np.cos(v), reverse=True)
    nearest = min(range(len(x)), key=lambda i: (x[i] - 0.4) ** 2)
    return max(x, key=lambda v: v * v) * by_size[0] + falling[1] ** 3 + nearest * x[0] + max(x[1], 0.1, key=math.sin)


def warped_distance(x: Any) -> Any:
    """Dynamic time warping: a minimum of three for each pair."""
    n, m = 5, 4
    total = np.full((n + 1, m + 1), np.inf)
    total[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            total[i + 1, j + 1] = abs(x[i] - x[5 + j]) + min(total[i, j + 1], total[i + 1, j], total[i, j])
    return total[-1, -1]


@pytest.mark.parametrize("function", [extremes_of_many, extremes_by_keys, warped_distance], ids=lambda f: f.__name__)
def test_extremes_of_python_choose_without_a_branch_where_there_would_be_too_many(function: Any) -> None:
    x = np.random.default_rng(0).normal(size=10)
    check_grads(function, x, symbolic=False)
    single = ps.trace(function, x.astype(np.float32))
    assert single(x.astype(np.float32)).dtype == function(x.astype(np.float32)).dtype
    assert not any(op.kind == "If" for op in single.block.ops)


def test_the_first_of_equal_extremes_is_chosen() -> None:
    x = np.array([2.0] * 8)
    np.testing.assert_array_equal(ps.grad(lambda x: max(x))(x), np.eye(8)[0])
    np.testing.assert_array_equal(ps.grad(lambda x: min(x))(x), np.eye(8)[0])
    np.testing.assert_array_equal(ps.grad(lambda x: max(x, key=lambda v: v * v))(x), np.eye(8)[0])
    np.testing.assert_array_equal(ps.grad(lambda x: sorted(x, key=abs, reverse=True)[1])(x), np.eye(8)[1])


def test_extremes_of_sizes_are_sizes() -> None:
    def f(x: Any) -> Any:
        return np.zeros(2).sum() + np.sum(x[: min(len(x), 3)]) * max(len(x), 2)

    made = ps.trace(f, ps.spec("float64", ["N"]))
    for n in (0, 1, 2, 5):
        x = np.arange(1.0, n + 1)
        np.testing.assert_allclose(made(x), f(x))


def picked(x: Any, labels: Any) -> Any:
    """Cross entropy as people write it."""
    logs = x - np.log(np.sum(np.exp(x), axis=1, keepdims=True))
    logs[range(len(x)), labels] *= 2.0
    return -logs[range(len(x)), labels].mean() + len(range(len(x)))


def test_a_range_of_a_size_is_an_index_and_no_loop() -> None:
    made = ps.split(picked, ps.spec("float64", ["N", 3]), ps.spec("int64", ["N"]), wrt="x").joint()
    for n in (1, 4):
        x, labels = np.sin(np.arange(3.0 * n)).reshape(n, 3), np.arange(n) % 3
        value, slope = made(x, labels)
        np.testing.assert_allclose(value, picked(x.copy(), labels))
        np.testing.assert_allclose(slope, ps.grad(picked)(x, labels))
    with pytest.raises(ps.PrimsplitError, match=r"(?s)iteration asks for the size N.*ps\.fori_loop"):
        ps.trace(lambda x: sum(x[i] for i in range(len(x))), ps.spec("float64", ["N"]))


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
    check_grads(of_any_shape, point, symbolic=False)
    check_grads(lambda x: of_any_shape(x[0]) * (2.0 if isinstance(x, Hashable) else x), X, symbolic=False)
    check_grads(lambda x: np.sin(x) if isinstance(x, typing.Iterable) else x * x, point)
    check_grads(lambda x: 2.0 * x if isinstance(x, typing.Hashable) else x * x, point, symbolic=False)


def by_class(x: Any) -> Any:
    if type(x) == np.ndarray and type(x[0]) in (float, np.float64):  # noqa: E721  # what is tested
        x = 2 * x
    chosen = {np.ndarray: 3.0, float: 5.0, list: 7.0}
    steps = np.arange(3)
    factor = chosen[type(x)] * chosen[type(x.item(0))] * chosen[type([])] * chosen[type(steps)]
    assert isinstance(type(x), type)
    return x * factor * steps


def test_classes_are_compared_as_numpys() -> None:
    check_grads(by_class, np.array([0.5, 1.5, 2.5]), symbolic=False)


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


def converted(x: Any) -> Any:
    a, b = map(float, x[:2])
    z = complex(x[0], imag=b) * complex("1+2j")
    table = np.array([0.5, 1.5, 2.5])
    s = float(np.sum(x)) * int(2.9 * x[1]) + abs(z) + float("0.5")
    return a * table[int(x[1])] * s * (b > 1) + float(x[:1].sum()) / float(len(x))


@pytest.fixture(name="_as_in_a_package")
def _taken_for_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of this file are taken for those of an installed package: `float(x)` of the user's own is refused."""
    monkeypatch.setitem(vars(OPERATORS[False]), "is_package", True)


@pytest.mark.usefixtures("_as_in_a_package")
def test_classes_of_numbers_convert_traced_ones() -> None:
    check_grads(converted, X, symbolic=False)
    check_grads(lambda x: float(np.sum(x)) / int(x.shape[0]) / float(len(x)), X)
    whole = ps.trace(lambda x: int(x), 0.5)
    assert [whole(x) for x in (-1.7, -0.2, 0.0, 2.9)] == [-1, 0, 0, 2]
    single = np.ones(2, np.float32)
    assert ps.trace(lambda x: x * float(x[0]), single)(single).dtype == np.float32


def of_numpys_classes(x: Any) -> Any:
    single, whole = np.float32(x), np.int64(x[1]) + np.uint8(np.bool_(x[2]))
    turned = np.complex64(x[0], x[1]) * np.complex128(2 + 1j) + np.complex128(x[2])
    assert x.dtype.type is np.float64
    assert type(x[0]) is np.float64
    return single * np.float32(0.5), np.float64(single[1]) * whole, np.float64(x) is x, turned.imag, np.double(len(x))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_classes_of_numpy_convert_traced_numbers_where_they_are_called() -> None:
    made = ps.trace(of_numpys_classes, X)(X)
    for found, wanted in zip(made, of_numpys_classes(X), strict=True):
        assert np.asarray(found).dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    check_grads(lambda x: np.float64(np.sum(x)) ** 2 * np.float64([x[0], 1.5]), X, symbolic=False)
    with pytest.raises(ps.PrimsplitError, match=r"np\.matrix has no form for traced arrays"):
        ps.trace(lambda x: np.matrix(x) * 2, X)
    with pytest.raises(ps.PrimsplitError, match=r"Write np\.block\(x\)"):
        ps.trace(lambda x: np.bmat([[np.atleast_2d(x), np.atleast_2d(x)]]), X)
    with pytest.raises(ps.PrimsplitError, match="product of matrices"):
        ps.trace(lambda x: np.bmat(np.atleast_2d(x)), X)
    kinds = ps.trace(lambda x: [kind(x[0]) for kind in (np.float64, np.float32)], X)
    np.testing.assert_array_equal(kinds(X), [X[0], np.float32(X[0])])


def answered(x: Any) -> Any:
    try:
        return float(x) * x
    except TypeError:  # as NumPy raises for several numbers
        pass
    try:
        return int(x[0]) * x
    except ValueError:
        return 10 * x
    except OverflowError:
        return 20 * x


@pytest.mark.usefixtures("_as_in_a_package")
def test_what_cannot_be_converted_is_answered_by_the_users_handler() -> None:
    for first in (1.5, np.nan, np.inf):
        x = np.array([first, 2.0])
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(ps.trace(answered, X[:2])(x), answered(x))


def test_a_whole_number_is_told_by_the_arrays_of_a_guard() -> None:
    slope = ps.grad(lambda x: sum(x[1] ** i for i in range(int(x[0]))), branches="guard")
    assert [slope(np.array([n, 2.0]))[1] for n in (2.5, 3.0, 4.9)] == [1.0, 5.0, 17.0]


KINDS = {float: "float", np.float64: "NumPy's", int: "int"}


def uses_of_classes(x: Any) -> list[Any]:
    float(x[0])

    class Length(float):
        pass

    match 2.5:
        case int(_):
            matched = "int"
        case float(whole):
            matched = f"float {whole}"
    half, single = 0.5, np.float32(1)
    return [
        *(isinstance(v, float) for v in (half, 2, x[0], single, Length(1))), isinstance(True, int | str), matched,
        isinstance(x[0], int | np.float64), isinstance(half, Length), type(Length(1)) is Length, issubclass(bool, int),
        type(half) is float, type(x[0]) is np.float64, type(single) in (float, np.float32), KINDS[type(half)],
        KINDS[float], KINDS[type(x[0])], x.dtype == np.float64, x.dtype in (np.float32, float), np.finfo(float).eps,
        np.dtype([("a", float), ("b", np.int32)]), np.dtype(complex), np.iinfo(np.int32).max, float("inf"),
        int("ff", 16), float.fromhex("0x1p3"), repr(float), np.float32.__name__, list(map(int, "12")),
        np.vectorize(lambda v: v, otypes=[float])(2), np.result_type(np.float32, float), np.float64(3) / 2,
    ]  # fmt: skip


@pytest.mark.usefixtures("_as_in_a_package")
def test_a_class_of_numbers_is_itself_where_it_converts_nothing_traced() -> None:
    found: list[Any] = []
    ps.trace(lambda x: found.append(uses_of_classes(x)) or x, X)
    assert found[-1] == uses_of_classes(X)


def shifted_sum(*values: Any) -> Any:
    if all(v == -math.inf for v in values):
        return -math.inf
    return max(values) + math.log(sum(math.exp(v - max(values)) for v in values))


def of_many_conditions(x: Any) -> Any:
    total = shifted_sum(x[2], x[0])
    for k in range(5):
        total = shifted_sum(total, x[k % 3], 0.5 * x[(k + 1) % 3])
        if any(v > 0.13 * k for v in x) and not all(v > -0.3 for v in x):
            total = 0.9 * total + x[1]
    return total


def test_all_and_any_of_many_are_one_condition() -> None:
    check_grads(of_many_conditions, X, also_at=[(-X,)], symbolic=False)

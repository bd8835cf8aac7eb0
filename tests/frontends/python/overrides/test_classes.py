"""Python's number classes where they are called: they convert traced numbers."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.python.converter.operators import OPERATORS
from primsplit.testing import check_grads

X = np.array([0.7, 1.9, -0.4])


def converted(x: Any) -> Any:
    a, b = map(float, x[:2])
    z = complex(x[0], imag=b) * complex("1+2j")
    table = np.array([0.5, 1.5, 2.5])
    s = float(np.sum(x)) * int(2.9 * x[1]) + abs(z) + float("0.5")
    return a * table[int(x[1])] * s * (b > 1) + float(x[:1].sum()) / float(len(x))


@pytest.mark.usefixtures("_in_both_kinds_of_code")
def test_classes_of_numbers_convert_traced_ones() -> None:
    check_grads(converted, X, symbolic=False, order=1)
    check_grads(lambda x: float(np.sum(x)) / int(x.shape[0]) / float(len(x)), X)
    whole = ps.trace(lambda x: int(x), 0.5)
    assert [whole(x) for x in (-1.7, -0.2, 0.0, 2.9)] == [-1, 0, 0, 2]
    single = np.ones(2, np.float32)
    assert ps.trace(lambda x: x * float(x[0]), single)(single).dtype == np.float32


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


@pytest.mark.usefixtures("_in_both_kinds_of_code")
def test_what_cannot_be_converted_is_answered_by_the_users_handler() -> None:
    for first in (1.5, np.nan, np.inf):
        x = np.array([first, 2.0])
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(ps.trace(answered, X[:2])(x), answered(x))


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


@pytest.mark.usefixtures("_in_both_kinds_of_code")
def test_a_class_of_numbers_is_itself_where_it_converts_nothing_traced() -> None:
    found: list[Any] = []
    ps.trace(lambda x: found.append(uses_of_classes(x)) or x, X)
    assert found[-1] == uses_of_classes(X)


@pytest.fixture(name="_in_both_kinds_of_code", params=["the user's own", "an installed package's"])
def _as_in_a_package(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of this file is taken for the user's own, and for that of an installed package."""
    monkeypatch.setitem(vars(OPERATORS[False]), "is_package", request.param == "an installed package's")


def clamped(x: Any) -> Any:
    total = 0.0
    for k in range(3):
        control = min(max(x[0] * k, -1.0), 1.0)
        total = max(total, control * x[1])
    return total + float(total) ** 2


@pytest.mark.parametrize("first", [0.3, 0.7, -0.4])
def test_a_number_that_is_a_float_or_a_numpy_number_is_an_argument_again(first: float) -> None:
    x = np.array([first, 1.9])
    assert ps.trace(clamped, X[:2])(x) == pytest.approx(clamped(x), rel=1e-15)
    steps = 1e-6 * np.eye(2)
    slopes = [(clamped(x + step) - clamped(x - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(ps.grad(clamped)(x), slopes, rtol=1e-7, atol=1e-9)

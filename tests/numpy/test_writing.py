"""Writing to arrays: `x[key] = v`, views, augmented assignment, `ufunc.at`, and the functions that write."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, PrimsplitError, ShapeError, TraceError, UnsupportedFunction
from tests.numpy.agreement import check_grads

random = np.random.default_rng(0)
X = random.standard_normal((4, 3, 5))
X += 0.3 * np.sign(X)
V = random.standard_normal((3, 5))
V += 0.5 * np.sign(V)
whole = slice(None)

Write = Callable[[Any, Any], Any]


def setting(key: Any, value: Callable[[Any], Any]) -> Write:
    def write(y: Any, v: Any) -> None:
        y[key(y) if callable(key) else key] = value(v)

    return write


def at(ufunc: np.ufunc, key: Any, value: Callable[[Any], Any]) -> Write:
    return lambda y, v: ufunc.at(y, key, value(v))


def chained(y: Any, v: Any) -> None:
    row = y[1]
    row[0] = v[0]
    y[1, 1] = v[1]
    y *= row.sum()


def masked_numbers(y: Any, v: Any) -> None:
    """A number's own mask, as code for arrays of any shape has it, and one for whole rows; one of two is True."""
    for number, is_low in ((y[0, 0, 0], y[0, 0, 0] < y[0, 0, 1]), (y[0, 0, 1], y[0, 0, 0] >= y[0, 0, 1])):
        copy = np.ones_like(number)
        copy[is_low] = np.sin(number[is_low]) * v[0, 0]
        y[0, 0, 2] += copy
    y[0][is_low] = y[1][is_low] * v[is_low]
    y[2][~is_low] = y[1][~is_low] * v[~is_low]


def view_of_view(y: Any, v: Any) -> None:
    rest = y[1:]
    first = rest[0]
    first[...] = v
    y *= 2
    rest *= first.sum()


def augmented(y: Any, v: Any) -> None:
    y[0] += v
    y[:, 1] *= 2
    y[[0, 0, 1]] += 1
    y[y > 1] -= 0.5


def overlapping(y: Any, v: Any) -> None:
    y[1:] = y[:-1]


def overlapping_views(y: Any, v: Any) -> None:
    below, above, behind = y[1:], y[:-1], y[2:]
    below[...] = above
    above[...] = below
    np.copyto(behind, above[1:])
    above[...] = below * v
    turned = y[::-1]
    turned[...] = y


def given_as_flat(y: Any, v: Any) -> None:
    y[0].flat = v
    y[1:3].flat = v[:2] ** 2
    y[:, 1].flat = [0.5, 1.5, 2.5]


def transposed(y: Any, v: Any) -> None:
    y.T[0] = v[0, 0]
    y.swapaxes(0, 1)[2] += 1
    np.moveaxis(y, 2, 0)[1:3] *= 2
    np.expand_dims(y, 0)[0, 3] = v
    y[:, :1].squeeze(1)[0] = 4.0
    np.flip(y, 0)[0] -= v
    y.flat[:3] = 9.0


def parts(y: Any, v: Any) -> None:
    left, right = np.split(y, 2)
    left[0] = v
    right *= left
    y[3, 0] = 1.0


def broadcast_in_place(y: Any, v: Any) -> None:
    y += v
    y[0] -= v[:1]


def swapped(y: Any, v: Any) -> None:
    y[0], y[1] = y[1] * v, y[0].copy()


WRITES: dict[str, Write] = {
    "an int": setting(1, lambda v: v),
    "a negative int": setting(-1, lambda v: v),
    "two ints": setting((1, 2), lambda v: v[0]),
    "one element": setting((1, 2, 3), lambda v: v[0, 0]),
    "a column": setting((whole, 1), lambda v: v[0]),
    "the last column": setting((..., -1), lambda v: v[:, 0]),
    "a number": setting(1, lambda v: 0.0),
    "everything": setting(whole, lambda v: v),
    "everything by a scalar": setting(..., lambda v: v[0, 0]),
    "a slice": setting(slice(1, None), lambda v: v),
    "slices of two axes": setting((slice(1, -1), slice(1, 3)), lambda v: v[1:]),
    "a step": setting(slice(None, None, 2), lambda v: v),
    "a reversal": setting(slice(None, None, -1), lambda v: v),
    "a negative step with bounds": setting((whole, whole, slice(4, 0, -2)), lambda v: v[:, :2]),
    "new axes": setting((None, 0, None), lambda v: v[None, None]),
    "an empty slice": setting(slice(3, 1), lambda v: v),
    "leading axes of size 1": setting(0, lambda v: v[None, None]),
    "an index array": setting([0, 2], lambda v: v),
    "repeated indices, of which the last stays": setting([0, 2, 0], lambda v: np.stack([v, v * 2, v * 3])),
    "two index arrays": setting(([0, 1], [1, 2]), lambda v: v[:2]),
    "index arrays apart": setting(([0, 1], whole, [1, 2]), lambda v: v[0, :2][:, None] * v[:, 0]),
    "index arrays in the middle": setting((whole, [0, 1], [1, 2]), lambda v: v[0, :2]),
    "slices and an index array": setting((slice(1, None), [0, 1], slice(None, None, 2)), lambda v: v[:2, :3]),
    "an int and an index array apart": setting((0, whole, [1, 2]), lambda v: v[:2, :3]),
    "a traced index": setting(lambda y: np.argmax(y[:, 0, 0]), lambda v: v),
    "traced indices that repeat": setting(
        lambda y: np.argsort(y[:, 0, 0]) // 2, lambda v: np.stack([v, v * 2, v * 3, v * 4])
    ),
    "a mask by a scalar": setting(lambda y: y > 0, lambda v: v[0, 0]),
    "a mask by a number": setting(lambda y: y < 0, lambda v: 0.0),
    "a mask of one axis": setting(lambda y: y[:, 0, 0] > 0, lambda v: v),
    "a mask in the middle": setting(lambda y: (whole, y[0, :, 0] > 0), lambda v: v[0]),
    "a mask by as many values": lambda y, v: y.__setitem__(y > 0, np.cos(y)[y > 0]),
    "a mask and an index array": setting((np.array([True, False, True, False]), [0, 1]), lambda v: v[:2]),
    "a mask without axes": setting(np.True_, lambda v: v),
    "masks without axes by as many values": masked_numbers,
    "add.at": at(np.add, ([0, 2, 0],), lambda v: v),
    "add.at with a slice and indices": at(np.add, (whole, [1, 1]), lambda v: v[:2]),
    "add.at with a slice": at(np.add, slice(1, 3), lambda v: v),
    "add.at with a mask": at(np.add, np.array([True, False, True, False]), lambda v: v),
    "subtract.at": at(np.subtract, ([0, 2, 0],), lambda v: v),
    "multiply.at": at(np.multiply, ([0, 2, 0],), lambda v: v),
    "divide.at": at(np.divide, ([0, 2, 0],), lambda v: v),
    "maximum.at": at(np.maximum, ([0, 2, 0],), lambda v: np.stack([v, v * 2, v * 3])),
    "minimum.at": at(np.minimum, ([0, 2, 0], [1, 1, 1]), lambda v: v),
    "power.at": at(np.power, ([0, 2, 0],), lambda v: 2.0),
    "arctan2.at": at(np.arctan2, ([0, 2, 0], [1, 1, 1]), lambda v: v[:3]),
    "arctan2.at with different indices": at(np.arctan2, [0, 2], lambda v: v),
    "a view of a row": chained,
    "a view of a view": view_of_view,
    "augmented assignment": augmented,
    "overlapping slices": overlapping,
    "overlapping views": overlapping_views,
    "elements given as flat": given_as_flat,
    "views by transposition and the like": transposed,
    "parts of a split": parts,
    "a smaller array added": broadcast_in_place,
    "two rows swapped": swapped,
    "put": lambda y, v: np.put(y, [0, 3, 3, -1], v[0, :2]),
    "put by method": lambda y, v: y.put([1, 2], v[0, 0]),
    "put with indices wrapped": lambda y, v: np.put(y, [61, -62], v[0, :2], mode="wrap"),
    "place": lambda y, v: np.place(y, y > 0, v[0]),
    "putmask": lambda y, v: np.putmask(y, y > 0, v),
    "put_along_axis": lambda y, v: np.put_along_axis(y, np.array([[[0], [1], [0]]]), v[0, :1], axis=2),
    "copyto": np.copyto,
    "copyto where": lambda y, v: np.copyto(y, v, where=y > 0),
    "fill": lambda y, v: y.fill(v[0, 0]),
    "fill_diagonal": lambda y, v: np.fill_diagonal(y[:, :, 0], v[0]),
    "fill_diagonal of more axes": lambda y, v: np.fill_diagonal(y[:3, :, :3], v[0, 0]),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", WRITES)
def test_a_write_and_its_gradients_are_numpys(name: str) -> None:
    def f(x: Any, v: Any) -> Any:
        y = np.sin(x)
        WRITES[name](y, v)
        return y * x

    check_grads(f, X, V, step=2e-3)


def test_a_loop_of_writes_builds_a_recurrence() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        y[0] = x[0]
        for i in range(1, 6):
            y[i] = 0.5 * y[i - 1] + np.sin(x[i])
        return y

    check_grads(f, random.standard_normal(6), symbolic=False)


def rows_while_they_change(x: Any) -> Any:
    y, total = x * 1.0, 0.0
    for row in y:
        row[0] += 0.1
        y *= 0.5
        total = 2 * total + row
    return total


def numbers_while_they_change(x: Any) -> Any:
    y, total = x[0, 0] * 1.0, 0.0
    for i, number in enumerate(y):
        y[i:] *= number
        total = 2 * total + number
    return total


def pairs_while_they_change(x: Any) -> Any:
    y, total = x[0, 0] * 1.0, 0.0
    for a, b in zip(y, reversed(y), strict=True):
        y += a
        total = 2 * total + a * b
    return total


def asks_for_the_next_after_a_write(x: Any) -> Any:
    y = x[0, 0] * 1.0
    numbers = iter(y)
    first = next(numbers)
    y[1] = 7 * first
    return first + next(numbers)


@pytest.mark.parametrize(
    "function",
    [rows_while_they_change, numbers_while_they_change, pairs_while_they_change, asks_for_the_next_after_a_write],
)
def test_a_loop_over_an_array_sees_what_its_steps_write(function: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(ps.trace(function, X)(X), function(X.copy()), rtol=1e-14)
    ps.testing.check_grads(lambda x: np.sum(function(x)), X, symbolic=False)


def test_the_callers_array_is_not_written_to() -> None:
    def f(x: Any) -> Any:
        x[0] = 5.0
        x *= 2
        return x.sum()

    x = np.arange(3.0)
    np.testing.assert_array_equal(ps.grad(f)(x), [0, 2, 2])
    np.testing.assert_array_equal(x, [0, 1, 2])


def test_a_write_casts_to_the_arrays_dtype() -> None:
    def f(n: Any, x: Any) -> Any:
        n[0] = 2.9
        n[1:] = x
        return n

    n, x = np.arange(3), np.array([1.7, -1.7])
    found = ps.trace(f, n, x)(n, x)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, [2, 1, -1])


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "float32", "float16"])
def test_writes_keep_every_dtype(dtype: str) -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        y[0] = 3
        y[:, 1] = y[:, 0]
        y[y > 2] = 1
        y[[1, 1]] = y[[0, 2]]
        np.add.at(y, [0, 0, 1], x[:3])
        return y

    x = (np.abs(X[..., 0]) * 3).astype(dtype)
    found = ps.trace(f, x)(x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, f(x))


def reads_after_reshaped_write(x: Any) -> Any:
    y = x * 1
    y.reshape(-1)[0] = 1.0
    return y


def reads_reshaped_after_write(x: Any) -> Any:
    y = x * 1
    flat = y.ravel()
    y[0] = 1.0
    return flat


def writes_to_broadcast(x: Any) -> None:
    np.broadcast_to(x, (2, 4, 3, 5))[0] = 1.0


def writes_to_diagonal(x: Any) -> None:
    np.diagonal(x)[0] = 1.0


def reads_base_of_poisoned(x: Any) -> Any:
    y = x * 1
    y[0].reshape(-1)[0] = 1.0
    return y


def reads_a_column_after_its_raveled_write(x: Any) -> Any:
    made = x.copy()
    made[:, 0, 1].ravel()[0] = 1.0
    return made


def reads_columns_after_write(x: Any) -> Any:
    made = np.zeros((3, 5), order="F")
    made.ravel()[:] = x[0, 0, 0]
    return made


def shuffles_rows(x: Any) -> Any:
    y = x * 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, that it does not know this kind of array
        np.random.default_rng(0).shuffle(y)
    return y


def test_a_shuffle_of_numbers_is_numpys() -> None:
    x = np.arange(9.0)
    np.testing.assert_array_equal(ps.trace(shuffles_rows, x)(x), shuffles_rows(x))


HELD = {"zeros": np.zeros(3)}

REFUSED: list[tuple[Callable[[Any], Any], type[PrimsplitError], str]] = [
    (reads_after_reshaped_write, TraceError, "memory layout"),
    (reads_reshaped_after_write, TraceError, "memory layout"),
    (reads_columns_after_write, TraceError, "memory layout"),
    (reads_base_of_poisoned, TraceError, "memory layout"),
    (reads_a_column_after_its_raveled_write, TraceError, "memory layout"),
    (shuffles_rows, UnsupportedFunction, "rng.permutation"),
    (writes_to_broadcast, TraceError, "read-only"),
    (writes_to_diagonal, TraceError, "read-only"),
    (lambda x: x.__setitem__(0, np.ones(4)), ShapeError, "could not broadcast"),
    (lambda x: x.__setitem__(0, np.ones((2, 3, 5))), ShapeError, "could not broadcast"),
    (lambda x: np.add.at(HELD["zeros"], [0], x[0, 0, 0]), DtypeError, "table.copy()"),
    (lambda x: np.copyto(HELD["zeros"], x[0, 0, :3]), DtypeError, "zeros_like"),
    (lambda x: np.add.at((x > 0).astype(int), [0], x[0]), DtypeError, "same_kind"),
]


@pytest.mark.parametrize(("function", "error", "told"), REFUSED)
def test_an_unclear_or_wrong_write_is_refused_at_the_users_line(
    function: Callable[[Any], Any], error: type[PrimsplitError], told: str
) -> None:
    with pytest.raises(error, match=told) as caught:
        ps.trace(function, X)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__

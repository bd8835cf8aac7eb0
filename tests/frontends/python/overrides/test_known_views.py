"""Views of arrays of known numbers: what is written to them, or to what they view, both see, as in NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import TraceError

X = np.array([0.3, 1.2, 2.0, -1.0])

VIEWS: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda a: np.reshape(a, -1), "ravel": np.ravel, "method reshape": lambda a: a.reshape(-1),
    "transpose": np.transpose, "T": lambda a: a.T, "swapaxes": lambda a: np.swapaxes(a, 0, 1),
    "moveaxis": lambda a: np.moveaxis(a, 0, 1), "rollaxis": lambda a: np.rollaxis(a, 1),
    "squeeze": lambda a: np.squeeze(a[None]), "expand_dims": lambda a: np.expand_dims(a, 0),
    "split": lambda a: np.split(a, 2)[1], "hsplit": lambda a: np.hsplit(a, 2)[0], "atleast_3d": np.atleast_3d,
    "array_split": lambda a: np.array_split(a, 2)[0], "flip": lambda a: np.flip(a, 0), "fliplr": np.fliplr,
    "rot90": np.rot90, "real": np.real, "asarray": np.asarray, "ascontiguousarray": np.ascontiguousarray,
    "array without copy": lambda a: np.array(a, copy=False), "rows": lambda a: list(a)[1], "slice": lambda a: a[::-1],
}  # fmt: skip
COPIES: dict[str, Callable[[Any], Any]] = {
    "array": np.array, "fortran": np.asfortranarray, "fortran order": lambda a: np.asarray(a, order="F"),
    "roll": lambda a: np.roll(a, 1), "sort": np.sort, "tril": np.tril, "abs": np.abs,
    "clip": lambda a: np.clip(a, 0, 100),
    "plus": lambda a: +a, "index": lambda a: a[np.arange(2)], "take": lambda a: np.take(a, [0, 1], axis=0),
    "mask": lambda a: a[a > -5], "diagonal": lambda a: np.diagonal(a).copy(), "flatten": lambda a: a.flatten(),
}  # fmt: skip
MADE: dict[str, Callable[[], Any]] = {
    "zeros": lambda: np.zeros((2, 2)), "computed": lambda: np.arange(4.0).reshape(2, 2) * 2,
    "complex": lambda: np.zeros((2, 2), complex), "computed complex": lambda: np.exp(1j * np.arange(4.0).reshape(2, 2)),
}  # fmt: skip


CASES = [(n, m) for n in [*VIEWS, *COPIES] for m in MADE if "complex" not in m or n not in {"sort", "clip", "mask"}]


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("name", "made"), CASES)
def test_what_is_written_to_a_view_or_a_copy_is_seen_as_in_numpy(name: str, made: str) -> None:
    function = (VIEWS | COPIES)[name]

    def written(x: Any) -> Any:
        array = MADE[made]()
        other = function(array)
        other[(0,) * other.ndim] = x[1]
        array[1, 0] = x[0]
        other[(-1,) * other.ndim] += x[2]
        for row in array:
            row[0] *= 2
        found = array, other
        return [part for each in found for part in (each.real, each.imag)] if "complex" in made else found

    for mine, numpys in zip(ps.trace(written, X)(X), written(X), strict=True):
        np.testing.assert_allclose(mine, numpys, rtol=1e-12)


def test_a_write_to_a_view_that_einsum_gives_is_refused() -> None:
    def written(x: Any) -> Any:
        array = np.zeros((2, 2))
        turned = np.einsum("ij->ji", array)
        turned[0] = x[:2]
        return array

    with pytest.raises(TraceError, match="memory layout"):
        ps.trace(written, X)


def test_known_views_are_still_indices_and_conditions() -> None:
    def picked(x: Any) -> Any:
        places = np.zeros((2, 2), int)
        row = np.reshape(places, 4)
        row[1] = 3
        chosen = [x[i] for i in row]
        return np.array(chosen) * (2 if np.ravel(places)[1] == 3 else 1)

    np.testing.assert_array_equal(ps.trace(picked, X)(X), 2 * X[[0, 3, 0, 0]])


def test_a_view_in_the_order_of_columns_is_refused_where_its_base_is_written_to() -> None:
    def written(x: Any) -> Any:
        base = np.zeros((2, 2), order="F")
        columns = np.reshape(base, (1, 4), order="F")
        np.add.at(base, [0, 0], x[0])
        return columns @ np.ones(4)

    with pytest.raises(TraceError, match="memory layout"):
        ps.trace(written, np.ones(2))


def row_in_place(t: Any, k: Any, x: Any) -> Any:
    row = t[k]
    row += x
    return t


def part_of_a_row(t: Any, k: Any, x: Any) -> Any:
    t[k][1:] += x[1:]
    return t


def column(t: Any, k: Any, x: Any) -> Any:
    t[:, k] += x[:2]
    return t


def filled_row(t: Any, k: Any, x: Any) -> Any:
    t[k].fill(2.0)
    return t * x


def out_of_a_ufunc(t: Any, k: Any, x: Any) -> Any:
    np.add(x, 1.0, out=t[k])
    return t


def sorted_row(t: Any, k: Any, x: Any) -> Any:
    t[k].sort()
    return t * x


def row_read_after_a_write(t: Any, k: Any, x: Any) -> Any:
    row = t[k]
    t[:] = 7.0
    return row * x


def row_read_after_an_addition(t: Any, k: Any, x: Any) -> Any:
    part = t[k][1:]
    t += 1.0
    return part.sum() * x


def row_copied(t: Any, k: Any, x: Any) -> Any:
    row = t[k].copy()
    t += 1.0
    return row * x


def rows_by_an_array(t: Any, k: Any, x: Any) -> Any:
    rows = t[np.array([k])]
    rows += 1.0
    return t.sum() + rows.sum() * x


@pytest.mark.parametrize(
    "function",
    [
        row_in_place, part_of_a_row, column, filled_row, out_of_a_ufunc, sorted_row, row_read_after_a_write,
        row_read_after_an_addition, row_copied, rows_by_an_array,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_a_part_at_a_traced_index_is_a_view_where_numpy_gives_one(function: Callable[..., Any]) -> None:
    def written(x: Any) -> Any:
        return function(np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]]), np.argmax(x) % 2, x)

    program = ps.trace(written, X[:3])
    for x in (np.array([0.5, 2.0, 1.0]), np.array([3.0, 2.0, 1.0])):
        np.testing.assert_allclose(program(x), written(x.copy()), rtol=1e-12)


def test_a_part_of_complex_numbers_at_a_traced_index_is_a_view() -> None:
    def written(x: Any) -> Any:
        t = np.zeros((2, 3), complex)
        t[np.argmax(x) % 2][1:] += x[1:] * 1j
        return np.abs(t)

    for x in (np.array([0.5, 2.0, 1.0]), np.array([3.0, 2.0, 1.0])):
        np.testing.assert_allclose(ps.trace(written, X[:3])(x), written(x.copy()), rtol=1e-12)


TABLE = np.zeros((2, 3))


def test_a_traced_write_to_a_part_of_an_array_from_outside_is_refused() -> None:
    def written(x: Any) -> Any:
        row = TABLE[np.argmax(x) % 2]
        row[0] = 5.0
        return row * x

    with pytest.raises(TraceError, match="written to an array"):
        ps.trace(written, X[:3])

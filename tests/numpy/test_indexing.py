"""`x[key]` for every kind of key: values, shapes and dtypes as NumPy's; gradients against central differences."""

import cProfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ConcretizationError, IndexingError
from tests.numpy.agreement import check_grads

X = np.random.default_rng(0).standard_normal((4, 3, 5))
X += 0.2 * np.sign(X)
whole = slice(None)

KEYS: dict[str, Any] = {
    "an int": 1,
    "a negative int": -1,
    "two ints": (1, 2),
    "an int an axis": (1, 2, -1),
    "a NumPy int": np.int64(2),
    "an int on the second axis": (whole, 1),
    "an int on the last axis": (..., 0),
    "a slice": slice(1, None),
    "slices of two axes": (slice(None, -1), slice(1, 3)),
    "a step": slice(None, None, 2),
    "a reversal": slice(None, None, -1),
    "negative steps with bounds": (slice(None, None, -2), whole, slice(4, 1, -1)),
    "bounds past the ends": (slice(2, 100), slice(-100, 2)),
    "an empty slice": slice(3, 1),
    "steps that end before the front": (slice(None, -6, 2), slice(-9, -4, 3)),
    "new axes": (None, whole, None, 1),
    "an ellipsis and a new axis": (..., None),
    "nothing": (),
    "an index array with repeats and a negative entry": [0, 2, 2, -1],
    "an index array of two axes": np.array([[0, 1], [1, 0]]),
    "an index array on the second axis": (whole, [0, 2, 2]),
    "an index array on the last axis": (..., np.array([1, 1])),
    "an index array without axes": (np.array(1), whole, [0, 1]),
    "an empty index array": [],
    "two index arrays": ([0, 1], [1, 2]),
    "index arrays that broadcast": (np.array([[0], [1]]), [1, 2, 0]),
    "index arrays apart": ([0, 1], whole, [1, 2]),
    "an int and an index array apart": (0, whole, [1, 2]),
    "index arrays together in the middle": (whole, [0, 1], [1, 2]),
    "an int beside an index array": (whole, 0, [1, 2]),
    "an int behind an index array": (whole, [1, 2, 0], 1),
    "an int behind an index array and an empty ellipsis": (whole, [1, 2, 0], 1, ...),
    "an int and an index array with an empty ellipsis between": (whole, 1, ..., [0, 2]),
    "index arrays with an empty ellipsis between": (whole, [0, 1], ..., [1, 2]),
    "index arrays with a new axis between": ([0, 1], None, [1, 2]),
    "slices and an index array": (slice(1, None), [0, 1], slice(None, None, 2)),
    "an index array, a slice and a new axis": ([1, 0], slice(1, None), None),
    "an index array an axis": ([0, 1], [0, 1], [2, 3]),
    "a constant mask": np.array([True, False, True, True]),
    "a constant mask of two axes": X[:, :, 0] > 0,
    "a constant mask on the second axis": (whole, np.array([True, False, True])),
    "a mask and an index array": (np.array([True, False, True, True]), [0, 1, 2]),
    "True": np.True_,
    "False": False,
    "an open mesh": np.ix_([0, 1], [2, 0]),
}

DEPENDENT: dict[str, Callable[[Any], Any]] = {
    "a traced mask": lambda x: x[x > 0],
    "a traced mask of one axis": lambda x: x[x[:, 0, 0] > 0],
    "a traced mask in the middle": lambda x: x[:, x[0, :, 0] > 0, 1:],
    "a mask used twice": lambda x: x[x > 0] * np.sin(x)[x > 0],
    "a traced index": lambda x: x[np.argmax(x[:, 0, 0])],
    "traced indices": lambda x: x[np.argsort(x[:, 0, 0])],
    "traced indices beside an int": lambda x: x[np.argsort(x[:, 0, 0]), 1],
    "a repeated element": lambda x: x[[1, 3, 1]].sum() * x[1, 0, 0],
    "views of views": lambda x: x[1:][:, 0][..., ::2],
    "a size as an index": lambda x: x[x.shape[0] - 1],
    "a size as a bound": lambda x: x[: x.shape[0] - 1, 1 : x.shape[1]],
}


@pytest.mark.parametrize("name", KEYS)
def test_indexing_and_its_gradients_are_numpys(name: str) -> None:
    check_grads(lambda x: x[KEYS[name]], X)


@pytest.mark.parametrize("name", DEPENDENT)
def test_indexing_by_values_and_sizes_is_numpys(name: str) -> None:
    check_grads(DEPENDENT[name], X)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool", "float32", "float16"])
def test_indexing_keeps_every_dtype(dtype: str) -> None:
    x = (X * 3).astype(dtype)
    keys = (1, slice(None, None, -1), [0, 2, 2], (0, slice(None), [1, 2]), X[:, 0, 0] > 0)
    found = ps.trace(lambda x: [x[k] for k in keys], x)(x)
    for key, value in zip(keys, found, strict=True):
        assert value.dtype == x.dtype
        np.testing.assert_array_equal(value, x[key])


SIZES = {
    "a slice": lambda x: x[1:],
    "a slice to before the end": lambda x: x[:-1],
    "a reversal": lambda x: x[::-1],
    "a reversal without the last": lambda x: x[-2::-1],
    "a reversal between places from the end": lambda x: x[-2:-4:-1],
    "a reversal from a size": lambda x: x[x.shape[0] - 4 :: -2],
    "a step": lambda x: x[::2],
    "a mask": lambda x: x[x > 0],
    "no index": lambda x: x[[]],
    "a column": lambda x: x[:, [2, 0]],
}


@pytest.mark.parametrize("size", [0, 1, 2, 5])
@pytest.mark.parametrize("name", SIZES)
def test_one_file_indexes_at_every_size(name: str, size: int) -> None:
    f = SIZES[name]
    x = np.random.default_rng(1).standard_normal((size, 3))
    value, pull = ps.vjp(lambda x: f(np.sin(x)), x)
    np.testing.assert_allclose(value, f(np.sin(x)))
    weights = np.random.default_rng(2).standard_normal(value.shape)
    (found,) = pull(weights)
    expected = np.zeros_like(x)
    places = np.arange(x.size).reshape(x.shape) if name != "a mask" else None
    picked = f(places) if places is not None else np.flatnonzero(x > 0)
    np.add.at(expected.reshape(-1), picked.astype(int), weights)
    np.testing.assert_allclose(found, expected * np.cos(x))


def test_a_repeated_position_accumulates() -> None:
    x = np.array([10.0, 20.0, 30.0, 40.0])
    np.testing.assert_array_equal(ps.grad(lambda x: x[[1, 3, 1]].sum())(x), [0, 2, 0, 1])


REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (lambda x: x[4], "index 4 is out of bounds for axis 0 with size 4"),
    (lambda x: x[:, -4], "index -4 is out of bounds for axis 1 with size 3"),
    (lambda x: x[[0, 9]], "index 9 is out of bounds"),
    (lambda x: x[0, 0, 0, 0], "too many indices"),
    (lambda x: x[..., ...], "single ellipsis"),
    (lambda x: x[1.5], "only integers"),
    (lambda x: x[np.array([0.5])], "must be of integer"),
    (lambda x: x[[0, 1], [0, 1, 2]], "could not be broadcast"),
    (lambda x: x[np.array([True, False])], "boolean index did not match"),
    (lambda x: x[:: 0 * 1], "step cannot be zero"),
]


@pytest.mark.parametrize(("function", "told"), REFUSED)
def test_a_wrong_key_is_told_at_the_users_line(function: Callable[[Any], Any], told: str) -> None:
    with pytest.raises(IndexingError, match=told) as caught:
        ps.trace(function, X)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__
    with pytest.raises((IndexError, ValueError)):
        function(X)


def test_iterating_a_symbolic_axis_names_the_way_out() -> None:
    with pytest.raises(ConcretizationError, match="scan"):
        ps.trace(lambda x: sum(list(x)), ps.spec("float64", ["N"]))


def test_an_index_array_is_read_when_it_is_used() -> None:
    def f(x: Any) -> Any:
        places = np.argsort(x)
        picked = x[places]
        places += 1
        return picked

    x = np.array([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(ps.trace(f, x)(x), [1, 2, 3])


def test_masks_that_are_made_alike_are_one_however_they_were_made() -> None:
    def waved(x: Any) -> Any:
        for _ in range(12):
            x = np.sin(x) + 0.5
        return x > 0.9

    program = ps.trace(lambda x: x[waved(x)] * np.cos(x)[waved(x)], ps.spec("float64", ["N"]))
    assert [op.kind for op in program.block.ops].count("NonZero") == 1
    x = np.linspace(-1, 2, 7)
    np.testing.assert_allclose(program(x), x[waved(x)] * np.cos(x)[waved(x)])


@pytest.mark.filterwarnings("ignore::primsplit.ir.errors.UnrolledLoopWarning")
def test_many_masks_take_time_for_each_not_for_each_pair() -> None:
    def calls(count: int) -> int:
        def chosen(x: Any) -> Any:
            return sum((x[x > 0.1 * i].sum() for i in range(count)), 0.0)

        profile = cProfile.Profile()
        profile.runcall(ps.trace, chosen, ps.spec("float64", ["N"]))
        return sum(entry.callcount for entry in profile.getstats())

    assert calls(200) < 5 * calls(50)

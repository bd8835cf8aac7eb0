"""Reshape, transpose, join, cut, repeat, pad, diagonals: values as NumPy's, gradients against central differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import MissingAttribute, PrimsplitError, ShapeError, TraceError, UnsupportedFunction
from tests.numpy.agreement import check_grads

X: Any = (np.random.default_rng(0).permutation(60).reshape(4, 3, 5) - 29.63) * 0.07
"""No two elements are close to each other, to 0 or to another whole number."""
windows = np.lib.stride_tricks.sliding_window_view

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    # shape
    "reshape with a size left open": lambda x: x.reshape(3, -1),
    "reshape to a row": lambda x: np.reshape(x, (-1,)),
    "reshape in Fortran order": lambda x: x.reshape(12, 5, order="F"),
    "reshape by sizes": lambda x: x.reshape(x.shape[0], x.shape[1] * x.shape[2]),
    "reshape by sizes, one left open": lambda x: x.reshape(x.shape[0], -1),
    "ravel": lambda x: x.ravel() * np.ravel(x, "F"),
    "flatten": lambda x: x.flatten("f") + x.copy().ravel("A") + x.reshape(-1, order=None),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "transpose by method": lambda x: x.transpose(1, 0, 2),
    "transpose with negative axes": lambda x: np.transpose(x, (2, 0, -2)),
    "permute_dims": lambda x: np.permute_dims(x, (1, 2, 0)),
    "matrix_transpose": np.matrix_transpose,
    "swapaxes": lambda x: x.swapaxes(0, -1),
    "moveaxis": lambda x: np.moveaxis(x, 0, -1),
    "moveaxis of two": lambda x: np.moveaxis(x, [0, 1], [-1, 0]),
    "rollaxis": lambda x: np.rollaxis(x, 2),
    "squeeze": lambda x: x[:, None, :, None].squeeze((1, 3)),
    "expand_dims": lambda x: np.expand_dims(x, (0, -1)),
    "atleast_1d": lambda x: np.atleast_1d(x[0, 0, 0]),
    "atleast_2d": lambda x: np.atleast_2d(x[0, 0]),
    "atleast_3d": lambda x: np.atleast_3d(x[0]) * np.atleast_3d(x[0, 0]),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, *x.shape)),
    "broadcast_to along a stretched axis": lambda x: np.broadcast_to(x[:, :1], x.shape),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, x[0])[1],
    "meshgrid": lambda x: np.meshgrid(x[0, 0], x[1, :, 0]),
    "meshgrid by rows": lambda x: np.meshgrid(x[0, 0], x[1, :, 0], x[:2, 0, 0], indexing="ij"),
    "sparse meshgrid": lambda x: np.meshgrid(x[0, 0], x[1, :, 0], sparse=True),
    # order
    "flip": np.flip,
    "flip of two axes": lambda x: np.flip(x, (0, 2)),
    "fliplr and flipud": lambda x: np.fliplr(x) * np.flipud(x),
    "rot90": np.rot90,
    "rot90 by two": lambda x: np.rot90(x, 2, (1, 2)),
    "rot90 backwards": lambda x: np.rot90(x, -1, (0, 2)),
    "roll": lambda x: np.roll(x, 1),
    "roll along an axis": lambda x: np.roll(x, -2, axis=1),
    "roll along two axes, further than they are long": lambda x: np.roll(x, (1, 7), axis=(0, 2)),
    "roll by several numbers": lambda x: np.roll(x, [1, 2, -7]) + np.roll(x, np.array([3, 1]), axis=1),
    "roll by half the size": lambda x: np.roll(x, x.shape[0] // 2),
    "roll by traced numbers": lambda x: np.roll(x, np.argsort(x[0, :, 0])),
    "roll by the whole axis": lambda x: np.roll(x, 3, axis=1),
    "roll of two axes by one number": lambda x: np.roll(x, 1, axis=(0, 1)),
    "roll by a traced number": lambda x: np.roll(x, (x[0, 0, 0] > -9).astype(int) * 2, axis=2),
    "copy": np.copy,
    "astype int": lambda x: x * x.astype(int),
    "np.astype": lambda x: np.astype(x, np.float64),
    # join and cut
    "concatenate": lambda x: np.concatenate([x, x * 2, x[:2]]),
    "concatenate along an axis": lambda x: np.concat([x, x[:, :1]], axis=1),
    "concatenate in a row": lambda x: np.concatenate([x, x[0]], axis=None),
    "concatenate with a constant": lambda x: np.concatenate([x[0, 0], [1, 2]]),
    "concatenate into out": lambda x: np.concatenate([x, x * 2], out=np.zeros_like(np.concatenate([x, x]))),
    "stack": lambda x: np.stack([x, x * x], axis=1),
    "stack of numbers": lambda x: np.stack([x[0, 0, 0], 2.0, x[1, 1, 1]]),
    "stack on a last axis": lambda x: np.stack([x, x], -1),
    "hstack": lambda x: np.hstack([x, x]) * np.hstack([x[0, 0, 0], x[1, 1, 1]]).sum(),
    "vstack": lambda x: np.vstack([x[0, 0], x[0, 1]]),
    "dstack": lambda x: np.dstack([x[0], x[1]]),
    "column_stack": lambda x: np.column_stack([x[0, 0], x[0].T]),
    "block": lambda x: np.block([[x[0], x[1]], [x[2], x[3]]]),
    "block of vectors and numbers": lambda x: np.block([x[0, 0], 3.0, x[0, 1]]),
    "append": lambda x: np.append(x, x[0]),
    "append along an axis": lambda x: np.append(x, x[:1], axis=0),
    "split": lambda x: np.split(x, 2)[1] * np.split(x, 2)[0],
    "split at places": lambda x: [a * a for a in np.split(x, [1, 3], axis=2)],
    "array_split": lambda x: [a * a for a in np.array_split(x, 3, axis=2)],
    "array_split into more parts than there are": lambda x: [a * a for a in np.array_split(x, 5, axis=1)],
    "hsplit": lambda x: np.hsplit(x, [1, 2])[1],
    "vsplit": lambda x: np.vsplit(x, 2)[0],
    "dsplit": lambda x: np.dsplit(x, [2])[1],
    "delete of one": lambda x: np.delete(x, 1, axis=0),
    # repeat and pad
    "repeat": lambda x: np.repeat(x, 3),
    "repeat along an axis": lambda x: np.repeat(x, 2, axis=1),
    "repeat many times": lambda x: np.repeat(x, 20, axis=2),
    "repeat no times": lambda x: np.repeat(x, 0, axis=1),
    "repeat by traced counts": lambda x: np.repeat(x, (x[:, 0, 0] > 0).astype(int) * 2 + (x[:, 0, 1] > 0), axis=0),
    "tile": lambda x: np.tile(x, 2),
    "tile of two axes": lambda x: np.tile(x, (2, 1, 3)),
    "tile with a new axis": lambda x: np.tile(x, (2, 1, 1, 2)),
    "resize": lambda x: np.resize(x, (7, 11)),
    "pad": lambda x: np.pad(x, 1),
    "pad by a number": lambda x: np.pad(x, ((1, 0), (0, 0), (2, 3)), constant_values=2.0),
    "pad by a number a side": lambda x: np.pad(x, ((1, 2),) * 3, constant_values=((1, 2), (3, 4), (5, 6))),
    "pad with edges": lambda x: np.pad(x, 2, mode="edge"),
    "pad by reflection": lambda x: np.pad(x, ((1, 1), (0, 2), (2, 2)), mode="reflect"),
    "pad by repeated reflection": lambda x: np.pad(x, ((0, 0), (9, 9), (0, 0)), mode="reflect"),
    "pad by symmetry": lambda x: np.pad(x, 3, mode="symmetric"),
    "pad by wrapping": lambda x: np.pad(x, ((0, 0), (7, 4), (1, 1)), mode="wrap"),
    "pad by odd reflection": lambda x: np.pad(x, ((1, 1), (0, 2), (9, 7)), mode="reflect", reflect_type="odd"),
    "pad by odd symmetry": lambda x: np.pad(x, ((1, 1), (8, 9), (2, 0)), mode="symmetric", reflect_type="odd"),
    "pad with means": lambda x: np.pad(x, ((1, 1), (0, 2), (2, 2)), mode="mean"),
    "pad with medians": lambda x: np.pad(x, ((0, 0), (0, 0), (2, 1)), mode="median", stat_length=(3, 9)),
    "pad with maxima": lambda x: np.pad(x, (2, 1), mode="maximum", stat_length=2),
    "pad with minima": lambda x: np.pad(x, ((1, 0), (0, 0), (0, 1)), mode="minimum"),
    "pad with a ramp": lambda x: np.pad(x, (2, 1), mode="linear_ramp", end_values=(1, 2)),
    "sliding_window_view": lambda x: windows(x, 2, axis=2),
    "sliding_window_view of all axes": lambda x: windows(x, (1, 2, 3)),
    # diagonals
    "diagonal": np.diagonal,
    "diagonal above": lambda x: x.diagonal(1, 1, 2),
    "diagonal below": lambda x: np.diagonal(x, -2, 2, 0),
    "linalg.diagonal": lambda x: np.linalg.diagonal(x, offset=1),
    "trace": lambda x: np.trace(x) * x.trace(1, 0, 2).sum(),
    "linalg.trace": np.linalg.trace,
    "diag of a vector": lambda x: np.diag(x[0, 0], 1) * 1.5,
    "diag of a vector, below": lambda x: np.diag(x[0, 0], -2),
    "diag of a matrix": lambda x: np.diag(x[0], -1),
    "diagflat": lambda x: np.diagflat(x[:2, 0, :2]),
    "triu": lambda x: np.triu(x) * np.triu(x, 1),
    "tril": lambda x: np.tril(x, -1),
    "tril of a vector": lambda x: np.tril(x[0, 0]),
    # pick
    "take": lambda x: np.take(x, [0, 5, 5]),
    "take along an axis": lambda x: x.take([[0, 2], [1, 1]], axis=1),
    "take, wrapped": lambda x: np.take(x, [5, -7], axis=1, mode="wrap"),
    "take, clipped": lambda x: np.take(x, [5, -7], axis=1, mode="clip"),
    "take_along_axis": lambda x: np.take_along_axis(x, np.array([[[0, 1, 1]]]), axis=2),
    "take_along_axis by argsort": lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1),
    "take_along_axis in a row": lambda x: np.take_along_axis(x, np.array([3, 3]), axis=None),
    "choose": lambda x: np.choose((x[0] > 0).astype(int), [x[1], x[2]]),
    "select": lambda x: np.select([x > 1, x > 0], [x * x, -x], 2.0),
    "compress": lambda x: np.compress([True, False, True], x, axis=0),
    "compress by a traced mask": lambda x: x.compress(x[0, :, 0] > 0, axis=1),
    "extract": lambda x: np.extract(x > 0, x),
    "nonzero": lambda x: x[np.nonzero(x > 0)],
    "flatnonzero": lambda x: x.ravel()[np.flatnonzero(x > 0)],
    "argwhere": lambda x: np.argwhere(x > 0) * x[0, 0, 0],
}

FIXED: dict[str, Callable[[Any], Any]] = {
    "delete": lambda x: np.delete(x, [0, -1], axis=2),
    "delete of a slice": lambda x: np.delete(x, slice(1, 3), axis=2),
    "insert": lambda x: np.insert(x, 1, x[0, 0], axis=1),
    "insert of an array at an int": lambda x: np.insert(x[0], 1, x[1, :, :2].T, axis=1),
    "insert at places": lambda x: np.insert(x, [0, 3], x[:, :1], axis=1),
    "insert in a row": lambda x: np.insert(x, 2, 9.0),
    "repeat by counts": lambda x: np.repeat(x, [1, 0, 2, 3], axis=0),
    "unstack": lambda x: np.unstack(x, axis=1),
    "iteration": lambda x: [row * row for row in x],
    "triangle indices": lambda x: x[0][np.triu_indices_from(x[0], 1)],
    "squeeze of all": lambda x: x[:1, None].squeeze(),
}


PICKING = {"take along an axis", "take, wrapped", "take, clipped", "resize"}
"""They pick elements that an empty array has not: onnxruntime refuses that even where there is nothing to pick into."""


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_layout_and_its_gradients_are_numpys(name: str) -> None:
    check_grads(FUNCTIONS[name], X, step=2e-3, resize=(1,) if name in PICKING else (1, 0))


@pytest.mark.parametrize("name", FIXED)
def test_layout_that_needs_fixed_sizes_is_numpys(name: str) -> None:
    check_grads(FIXED[name], X, symbolic=False)


SIZED: dict[str, Callable[[Any], Any]] = {
    "roll": lambda x: np.roll(x, 3, axis=0),
    "roll in a row": lambda x: np.roll(x, 2),
    "reshape": lambda x: x.reshape(-1),
    "repeat": lambda x: np.repeat(x, 3, axis=0),
    "tile": lambda x: np.tile(x, (2, 2)),
    "pad": lambda x: np.pad(x, 2),
    "diag": lambda x: np.diag(x[:, 0], 1),
    "diagonal": lambda x: np.diagonal(x, -2),
    "triu": lambda x: np.triu(x, 1),
    "array_split": lambda x: np.array_split(x, 3),
    "trace": np.trace,
    "block": lambda x: np.block([[x, x], [x, x]]),
    "meshgrid": lambda x: np.meshgrid(x[:, 0], x[:, 1]),
    "rot90": lambda x: np.rot90(x, 3),
    "compress": lambda x: np.compress(x[:, 0] > 0, x, axis=0),
    "repeat by traced counts": lambda x: np.repeat(x, (x[:, 0] > 0).astype(int) * 2, axis=0),
    "wrap": lambda x: np.pad(x, ((0, 0), (1, 4)), mode="wrap"),
    "windows": lambda x: windows(x, 2, axis=1),
}


@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize("name", SIZED)
def test_one_file_serves_every_size(name: str, size: int) -> None:
    f = SIZED[name]
    x = np.random.default_rng(size).standard_normal((size, 3))
    found, wanted = ps.trace(f, ps.spec("float64", ["N", 3]))(x), f(x)
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, list | tuple) else [(found, wanted)]
    for a, b in pairs:
        assert np.shape(a) == np.shape(b)
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "uint8", "bool", "float32", "float16"])
def test_layout_keeps_every_dtype(dtype: str) -> None:
    x = (X[..., 0] * 3).astype(dtype)

    def f(x: Any) -> Any:
        return [
            np.concatenate([x, x]), np.roll(x, 1), np.repeat(x, 2), np.tile(x, (2, 1)), np.triu(x), np.diagonal(x),
            np.flip(x), x.reshape(-1), x.T, np.stack([x, x]), np.pad(x, 1), np.split(x, 2)[1], np.diag(x[0]),
        ]  # fmt: skip

    for found, wanted in zip(ps.trace(f, x)(x), f(x), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("a", "b"),
    [("float32", "float64"), ("float32", "int64"), ("float32", "int32"), ("int32", "uint32"), ("bool", "int8")],
)
def test_joining_promotes_as_numpy_does(a: str, b: str) -> None:
    x, y = np.ones(2, a), np.ones(3, b)
    found = ps.trace(lambda x, y: np.concatenate([x, y]), x, y)(x, y)
    assert found.dtype == np.concatenate([x, y]).dtype


REFUSED: list[tuple[Callable[[Any], Any], type[PrimsplitError], str]] = [
    (lambda x: x.reshape(7, -1), ShapeError, "cannot reshape"),
    (lambda x: x.T.ravel("K"), TraceError, "as they lie in memory"),
    (lambda x: x.reshape(-1, -1), ShapeError, "one unknown dimension"),
    (lambda x: x.transpose(0, 1), ShapeError, "permute"),
    (lambda x: x.squeeze(0), ShapeError, "not equal to one"),
    (lambda x: np.concatenate([x, x[0]]), ShapeError, ""),
    (lambda x: np.stack([x, x[0]]), ShapeError, "same shape"),
    (lambda x: np.split(x, 3), ShapeError, "equal division"),
    (lambda x: np.pad(x, 1, mode=lambda row, *_: row), UnsupportedFunction, "np.pad with mode"),
    (lambda x: np.broadcast_to(x, (4, 3, 1)), ShapeError, "could not broadcast"),
    (lambda x: x.view(np.int64), UnsupportedFunction, "view"),
    (lambda x: x.flags.writeable, MissingAttribute, "array without memory"),
    (lambda x: setattr(x, "shape", (60,)), TraceError, "cannot be set"),
    (lambda x: np.swapaxes(x, 0, 5), ShapeError, "out of bounds"),
]


@pytest.mark.parametrize(("function", "error", "told"), REFUSED)
def test_a_wrong_shape_is_told_at_the_users_line(
    function: Callable[[Any], Any], error: type[PrimsplitError], told: str
) -> None:
    with pytest.raises(error, match=told) as caught:
        ps.trace(function, X)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__


def test_squeeze_of_unknown_sizes_asks_for_the_axes() -> None:
    with pytest.raises(ShapeError, match="axis="):
        ps.trace(lambda x: x.squeeze(), ps.spec("float64", ["N", 1]))


def test_an_array_has_the_attributes_of_numpys_arrays() -> None:
    def function(x: Any) -> Any:
        assert hasattr(x, "ctypes")
        assert not hasattr(x, "detach")
        return x * 2

    np.testing.assert_array_equal(ps.trace(function, np.ones(2))(np.ones(2)), [2.0, 2.0])


@pytest.mark.parametrize(
    "join",
    [
        lambda x, y: np.concatenate([x, y], axis=1),
        lambda x, y: np.concatenate([y, x], axis=-1),
        lambda x, y: np.stack([x, y]),
        lambda x, y: np.c_[x[:, 0], y[:, 1]],
        lambda x, y: np.concatenate([x[None], y[None]], axis=2),
        lambda x, y: np.hstack([x, np.ones((3, 2)) * y[0]]),
    ],
)
@pytest.mark.parametrize("rows", [(0, 3), (2, 3), (3, 0), (1, 3)])
def test_a_run_that_joins_arrays_of_other_sizes_fails(join: Any, rows: tuple[int, int]) -> None:
    """Also where one has no elements, whose place onnxruntime leaves as memory was."""
    program = ps.trace(join, ps.spec("float64", ["N", 2]), ps.spec("float64", ["M", 2]))
    x, y = (np.ones((n, 2)) for n in rows)
    with pytest.raises(ps.PrimsplitError, match=r"test_layout\.py"):
        program(x, y)
    np.testing.assert_array_equal(program(np.ones((3, 2)), np.ones((3, 2))), join(np.ones((3, 2)), np.ones((3, 2))))


@pytest.mark.parametrize("mode", ["mean", "median", "reflect"])
def test_margins_of_whole_numbers_are_rounded_and_those_of_nothing_fail(mode: str) -> None:
    def function(x: Any) -> Any:
        odd: Any = {"reflect_type": "odd"} if mode == "reflect" else {}
        return np.pad(x, 2, mode=mode, **odd)

    program, x = ps.trace(function, ps.spec("int32", ["N"])), np.array([1, 4, 5, 7], np.int32)
    np.testing.assert_array_equal(program(x), function(x), strict=True)
    with pytest.raises(ValueError, match="empty axis"):
        function(x[:0])
    with pytest.raises(ps.PrimsplitError, match=r"test_layout\.py"):
        program(x[:0])

"""Shapes, joins and pads as expressions."""

import numpy as np

from tests.audit.expressions.written import text_of

X = "float32[2,3]"


def integers(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def test_a_reshape_is_numpys_unless_a_size_is_that_of_the_input() -> None:
    assert text_of("Reshape", X, integers(-1)) == "a.reshape(-1)"
    assert text_of("Reshape", X, integers(0, 3, 1)) == "_reshape(a, (0, 3, 1))"
    assert text_of("Reshape", X, integers(0, 3), allowzero=1) == "a.reshape(0, 3)"
    assert text_of("Reshape", X, "int64[2]") == "_reshape(a, b)"
    assert text_of("Reshape", "float32[1]", integers()) == "a.reshape(())"


def test_a_number_that_is_expanded_fills_an_array() -> None:
    assert text_of("Expand", "float32", integers(2, 3)) == "np.full((2, 3), a)"
    assert text_of("Expand", X, "int64[3]") == "_expand(a, b)"


def test_axes_are_numbers_or_of_the_run() -> None:
    assert text_of("Transpose", X, perm=[1, 0]) == "a.T"
    assert text_of("Transpose", "float32[2,3,4]", perm=[0, 2, 1]) == "np.transpose(a, (0, 2, 1))"
    assert text_of("Squeeze", "float32[1,3]", integers(0)) == "np.squeeze(a, axis=0)"
    assert text_of("Unsqueeze", X, integers(0, -1)) == "np.expand_dims(a, axis=(0, -1))"
    assert text_of("Unsqueeze", X, "int64[1]") == "np.expand_dims(a, axis=tuple(b))"


def test_sizes_are_arrays_of_int64() -> None:
    assert text_of("Shape", X) == "np.array(a.shape)"
    assert text_of("Shape", X, start=1) == "np.array(a.shape[1:])"
    assert text_of("Shape", "float32", end=0) == "np.array(a.shape[:0], np.int64)"
    assert text_of("Size", X) == "np.int64(a.size)"


def test_parts_along_an_axis() -> None:
    assert text_of("Concat", X, X, axis=1) == "np.concatenate((a, b), axis=1)"
    assert text_of("Split", X, integers(1, 2), axis=1, outputs=2) == "np.split(a, [1], axis=1)"
    assert text_of("Split", X, axis=1, outputs=2, num_outputs=2) == "_split(a, 2, 1)"


def test_pads_are_numpys_where_they_are_known() -> None:
    assert text_of("Pad", X, integers(0, 1, 0, 2)) == "np.pad(a, ((0, 0), (1, 2)), constant_values=0.0)"
    assert text_of("Pad", X, integers(0, -1, 0, 2)) == "_pad(a, [0, -1, 0, 2])"
    assert text_of("Pad", X, "int64[4]", mode="edge") == "_pad(a, b, mode='edge')"


def test_triangles_and_repetition() -> None:
    assert text_of("Trilu", X) == "np.triu(a)"
    assert text_of("Trilu", X, np.array(-1), upper=0) == "np.tril(a, -1)"
    assert text_of("Tile", X, integers(1, 2)) == "np.tile(a, (1, 2))"
    assert text_of("Flatten", X, axis=0) == "_flatten(a, 0)"

"""Reading and writing of elements as expressions."""

import numpy as np

from tests.audit.expressions.written import text_of

X = "float32[4,5,6]"


def integers(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def test_a_slice_with_known_ends_is_an_index() -> None:
    assert text_of("Slice", X, integers(1), integers(3), integers(1)) == "a[:, 1:3]"
    assert text_of("Slice", X, integers(0), integers(2**62), integers(0), integers(2)) == "a[::2]"
    assert text_of("Slice", X, integers(-1), integers(-(2**62)), integers(-1), integers(-1)) == "a[:, :, ::-1]"
    assert text_of("Slice", "?", integers(-1), integers(2**62), integers(-2)) == "a[..., -1:, :]"


def test_ends_that_the_run_knows_are_read_where_their_number_is_known() -> None:
    assert text_of("Slice", X, integers(0), "int64[1]", integers(0)) == "a[:b[0]]"
    assert text_of("Slice", X, "int64[1]", "int64[1]") == "_slice_along(a, b, c)"


def test_parts_along_an_axis() -> None:
    assert text_of("Gather", X, "int64[3]") == "a[b]"
    assert text_of("Gather", X, np.array(2), axis=1) == "a[:, 2]"
    assert text_of("Gather", X, "int64[3]", axis=-1) == "np.take(a, b, axis=2)"


def test_elements_of_as_many_places_are_taken_along_an_axis() -> None:
    assert text_of("GatherElements", X, "int64[4,1,6]", axis=1) == "np.take_along_axis(a, b, axis=1)"
    assert text_of("GatherElements", X, "int64[3,5,6]", axis=1) == "_gather_elements(a, b, axis=1)"


def test_what_numpy_lacks_calls_a_helper() -> None:
    assert text_of("ScatterND", X, "int64[2,1]", X, reduction="add") == "_scatter_nd(a, b, c, reduction='add')"
    assert text_of("GatherND", X, "int64[2,1]") == "_gather_nd(a, b)"
    assert text_of("Compress", X, "bool[4]", axis=0) == "np.compress(b, a, axis=0)"

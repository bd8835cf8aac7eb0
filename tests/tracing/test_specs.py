"""The type of an input, from a dtype and sizes, a text, an array or an annotation; and arrays checked against it."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from primsplit.ir import Type
from primsplit.ir.dims import symbol
from primsplit.ir.errors import DtypeError, ShapeError, SpecError
from primsplit.tracing.specs import (
    annotated_type,
    check_array,
    check_expressions,
    check_names,
    leaf_type,
    may_be,
    parse_spec,
    read_dtype,
    spec,
    specs_from_annotations,
)

N = symbol("N")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("f32[N,3]", Type("float32", [N, 3])),
        ("float64", Type("float64", [])),
        ("f64[]", Type("float64", [])),
        (" i64[ 2*N + 1 , 4 ] ", Type("int64", [2 * N + 1, 4])),
        ("bool[0]", Type("bool", [0])),
        ("bf16[1]", Type(ml_dtypes.bfloat16, [1])),
    ],
)
def test_a_text_is_a_dtype_and_sizes(text: str, wanted: Type) -> None:
    assert parse_spec(text) == wanted


@pytest.mark.parametrize("text", ["f32[N", "f33[3]", "f32[-1]", "f32[N-]", "f32[1.5]", "", "float16x", "f32[a b]"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(SpecError):
        parse_spec(text)


def test_a_size_may_stand_for_a_shape_and_a_text_may_not() -> None:
    assert spec("f32", 3) == Type("float32", [3])
    assert spec(np.int8, ["N", np.int64(2)]) == Type("int8", [N, 2])
    for shape in ("N", None, np.array(3.0), 2.5):
        with pytest.raises(SpecError, match="a shape is a list of sizes"):
            spec("f32", shape)
    for size in (-1, 2.5, None):
        with pytest.raises(SpecError, match="a size cannot be"):
            spec("f32", [size])


@pytest.mark.parametrize(
    ("dtype", "cure"),
    [
        (None, "Known short names"),
        ("float33", "Known short names"),
        (object, "astype\\(float\\)"),
        (">f8", "astype\\('float64'\\)"),
        ("M8[s]", "Pass numbers or truth values"),
    ],
)
def test_a_dtype_that_no_program_holds_is_refused_with_a_cure(dtype: Any, cure: str) -> None:
    with pytest.raises(SpecError, match=cure):
        read_dtype(dtype)


def test_an_example_has_the_type_of_an_array_and_a_number_that_of_pythons() -> None:
    assert leaf_type(np.zeros((2, 0), np.float16)) == Type("float16", [2, 0])
    assert leaf_type(np.float32(1.0)) == Type("float32", [])
    assert leaf_type(1.0) == Type("float64", [])
    assert leaf_type(1j) == Type("complex128", [])
    assert leaf_type(3) is None
    assert leaf_type("mode") is None
    with pytest.raises(SpecError, match=r"ps.spec\('float32', \['N', 3\]\)"):
        leaf_type("f32[N,3]")
    with pytest.raises(DtypeError, match="MaskedArray"):
        leaf_type(np.ma.masked_array([1.0]))


class Annotation:
    """An annotation as jaxtyping writes it."""

    def __init__(self, dim_str: str, *dtypes: str) -> None:
        self.dim_str, self.dtypes = dim_str, dtypes


def test_an_annotation_of_several_dtypes_is_the_widest_usual_one() -> None:
    assert leaf_type(Annotation("N 784", "float32")) == Type("float32", [N, 784])
    several = Annotation("#N rows=3 _", "float16", "float32", "float64")
    assert leaf_type(several) == Type("float64", [N, 3, symbol("size2")])
    assert leaf_type(Annotation("", "int32", "int64")) == Type("int64", [])
    with pytest.raises(SpecError, match="several dtypes"):
        leaf_type(Annotation("3", "float16", "bfloat16"))
    with pytest.raises(SpecError, match="the number of axes open"):
        leaf_type(Annotation("... 3", "float32"))


def test_parameters_have_the_types_of_their_annotations_or_their_defaults() -> None:
    def f(x: "f32[N,3]", y: "'f64[N]'", count: int = 3) -> Any:  # noqa: F821
        return x, y, count

    assert specs_from_annotations(f) == (Type("float32", [N, 3]), Type("float64", [N]), 3)
    with pytest.raises(SpecError, match="has no spec for its parameter y"):
        specs_from_annotations(lambda y: y)


def test_an_annotation_that_says_no_type_is_none() -> None:
    import inspect

    def f(x: "np.ndarray", y: "not a name" = 0, *, z: float) -> Any:  # noqa: F722
        return x, y, z

    assert [annotated_type(f, p) for p in inspect.signature(f).parameters.values()] == [None, None, None]


def test_types_that_an_array_may_have_both() -> None:
    assert may_be(Type("float32", [N, 3]), Type("float32", [4, 3]))
    assert not may_be(Type("float32", [N, 3]), Type("float64", [N, 3]))
    assert not may_be(Type("float32", [3]), Type("float32", [3, 1]))
    assert not may_be(Type("float32", [2]), Type("float32", [3]))
    assert may_be(Type("float32", None), Type("float32", [3]))


def test_an_array_is_checked_by_its_dtype_axes_and_sizes() -> None:
    wanted, sizes = Type("float32", [N, 2 * N, 3]), dict[str, int]()
    check_array(np.zeros((4, 8, 3), np.float32), "x", wanted, sizes)
    assert sizes == {"N": 4}
    for array, error, told in (
        (np.zeros((4, 8, 3)), DtypeError, "x must be float32, not float64"),
        (np.zeros((4, 8), np.float32), ShapeError, "x must have 3 axes"),
        (np.zeros((5, 8, 3), np.float32), ShapeError, "x has size 5 at axis 0, not N = 4"),
        (np.zeros((4, 9, 3), np.float32), ShapeError, r"x has size 9 at axis 1, not 2\*N = 8"),
        (np.zeros((4, 8, 1), np.float32), ShapeError, "x has size 1 at axis 2, not 3"),
    ):
        with pytest.raises(error, match=told):
            check_array(array, "x", wanted, sizes)


def test_the_value_of_an_expression_tells_its_symbol_or_is_refused() -> None:
    sizes: dict[str, int] = {}
    check_expressions([("x", (9,), Type("float32", [2 * N + 1]))], sizes)
    assert sizes == {"N": 4}
    for size in (8, 0):
        with pytest.raises(ShapeError, match=f"x has size {size} at axis 0, not 2\\*N \\+ 1"):
            check_expressions([("x", (size,), Type("float32", [2 * N + 1]))], {})


def test_missing_and_unknown_inputs_are_told_together() -> None:
    check_names(["x", "y"], {"y": 1, "x": 2})
    with pytest.raises(SpecError, match="y missing; z unknown"):
        check_names(["x", "y"], {"x": 1, "z": 2})

"""Constants, names, sizes and types as a listing shows them."""

import ml_dtypes
import numpy as np
import pytest

from primsplit.ir import Block, Const, Op, Type, Var
from primsplit.ir.dims import symbol
from primsplit.ir.notation.literals import (
    INLINE,
    Constants,
    array_text,
    bytes_text,
    dim_text,
    number_text,
    quoted,
    type_text,
    unquoted,
)

N, ODD = symbol("N"), symbol("batch size")


@pytest.mark.parametrize("name", ["x", "a.b", "größe", "x1", "return", "None", "1x", "a b", "a`b", "a\nb", "", 'a"b'])
def test_a_name_is_read_back_and_in_backticks_where_a_listing_cannot_hold_it(name: str) -> None:
    assert unquoted(quoted(name)) == name
    assert quoted(name).startswith("`") == (name not in {"x", "a.b", "größe", "x1"})
    assert "\n" not in quoted(name)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (np.float32(0.1), "0.1"),
        (np.float64(1.0), "1.0"),
        (np.float32(1e30), "1e+30"),
        (np.float32(-0.0), "-0.0"),
        (np.float64(np.inf), "inf"),
        (np.int64(-7), "-7"),
        (np.bool_(True), "True"),
        ("a'b", '"a\'b"'),
        (np.array(0x7FC00001, np.uint32).view(np.float32)[()], "0x7fc00001"),
    ],
)
def test_a_number_is_written_so_that_its_bits_come_back(number: object, text: str) -> None:
    assert number_text(number) == text


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_the_text_of_a_random_float_is_that_float(dtype: type) -> None:
    for number in np.random.default_rng(0).standard_normal(200).astype(dtype):
        assert np.asarray(float(number_text(number))).astype(dtype).tobytes() == number.tobytes()


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.float32(0.5), "float32(0.5)"),
        (np.array([1.0, 2.0], np.float32), "float32[2](1.0, 2.0)"),
        (np.ones((5, 3), np.float32), "float32[5,3](1.0)"),
        (np.array([0.0, -0.0]), "float64[2](0.0, -0.0)"),
        (np.zeros(0, np.int64), "int64[0]()"),
        (np.arange(INLINE), f"int64[{INLINE}]({', '.join(map(str, range(INLINE)))})"),
        (np.arange(INLINE + 1), None),
        (np.array(["a", "b"], object), "object[2]('a', 'b')"),
        (np.array([1], object), None),
        (np.array([1j]), None),
        (np.array([0.5, 2.0], ml_dtypes.bfloat16), "bfloat16[2](0.5, 2.0)"),
        (np.zeros(2, "V8"), None),
    ],
)
def test_an_array_is_written_out_unless_it_is_long(array: np.ndarray, text: str | None) -> None:
    assert array_text(np.asarray(array)) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (12, "12 B"),
        (9_999, "9999 B"),
        (10_000, "10.0 kB"),
        (39_080, "39.1 kB"),
        (2_000_000, "2.0 MB"),
        (3_500_000_000, "3.5 GB"),
        (N * 4, "4*N B"),
        (N + 1, "(N + 1) B"),
        (None, "? B"),
    ],
)
def test_bytes_have_a_unit(count: object, text: str) -> None:
    assert bytes_text(count) == text  # type: ignore[arg-type]


def test_sizes_and_types_have_odd_symbols_in_backticks() -> None:
    assert dim_text(N * 2 - 1) == "2*N - 1"
    assert dim_text(ODD * 2 - 1) == "2*`batch size` - 1"
    assert dim_text(7) == "7"
    assert type_text(Type("float32", [N, 3])) == "float32[N,3]"
    assert type_text(Type("float32", [ODD])) == "float32[`batch size`]"
    assert type_text(Type("float32", [])) == "float32"
    assert type_text(Type("float32", None)) == "float32[...]"


def test_long_arrays_are_shown_by_digests_that_tell_them_apart() -> None:
    x = Var(Type("float64", [100]))
    first, same, other = (Const(a) for a in (np.arange(100.0), np.arange(100.0), np.arange(100.0) + 1))
    ops = tuple(Op("Add", (x, c), (Var(x.type),)) for c in (first, same, other))
    constants = Constants(Block("f", (x,), ops, ()))
    texts = [constants.value(c, ops[0], "") for c in (first, same, other)]
    assert texts[0] == texts[1] != texts[2]
    assert texts[0].startswith("float64[100]@")
    digest = texts[0].partition("@")[2]
    assert len(digest) >= 8
    np.testing.assert_array_equal(constants.by_digest[digest], np.arange(100.0))


def test_a_short_constant_is_bare_where_its_type_follows_from_the_op() -> None:
    x = Var(Type("float32", [3]))
    half, wide, axes = Const(np.float32(0.5)), Const(np.float64(0.5)), Const(np.array([0, 1]))
    op = Op("Own", (x, half, wide, axes), (Var(x.type),))
    constants = Constants(Block("f", (x,), (op,), ()))
    assert [constants.value(v, op, "x") for v in (x, None, half, wide, axes)] == [
        "x", "None", "0.5", "float64(0.5)", "[0, 1]",
    ]  # fmt: skip
    assert constants.value(half, None, "") == "float32(0.5)"

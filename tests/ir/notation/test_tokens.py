"""A listing split into statements, tokens, sizes and elements."""

import numpy as np
import pytest

from primsplit.ir import dims
from primsplit.ir.dims import symbol
from primsplit.ir.errors import ParseError
from primsplit.ir.notation.tokens import elements, read_dim, sentences_of, split_sizes


def test_a_statement_has_its_depth_its_first_line_and_its_tokens() -> None:
    text = 'f(x):  # a function\n\n  y = Exp(\n    x, "a # b"\n  )\n  return y'
    found = [(s.depth, s.line, [t.text for t in s.tokens]) for s in sentences_of(text)]
    assert found == [
        (0, 1, ["f", "(", "x", ")", ":"]),
        (2, 3, ["y", "=", "Exp", "(", "x", ",", '"a # b"', ")"]),
        (2, 6, ["return", "y"]),
    ]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("-1.5e-3", ["number"]),
        ("0x7fc00001", ["number"]),
        ("inf", ["number"]),
        ("infinite", ["name"]),
        ("com.x::Own", ["name"]),
        ("`a b`", ["quoted"]),
        ("b'ab\\''", ["string"]),
        ("@9f3c2a1b", ["digest"]),
        ("...", ["mark"]),
        ("a.b=[1]", ["name", "mark", "mark", "number", "mark"]),
    ],
)
def test_each_token_has_its_kind(text: str, kinds: list[str]) -> None:
    (sentence,) = sentences_of(text)
    assert [t.kind for t in sentence.tokens] == kinds


def test_a_character_that_no_listing_has_is_refused_with_its_line() -> None:
    with pytest.raises(ParseError, match=r"line 2: a listing has no '\$' here"):
        sentences_of("x = y\n$")


def test_sizes_are_split_at_commas_outside_of_calls_and_backticks() -> None:
    assert split_sizes("N, max(N, 1), `a,b`, 3") == ["N", "max(N, 1)", "`a,b`", "3"]


def test_a_size_is_read_with_symbols_of_any_name() -> None:
    assert dims.same(read_dim("2*`batch size` - max(N, 1)"), symbol("batch size") * 2 - dims.maximum(symbol("N"), 1))
    assert read_dim("12") == 12


@pytest.mark.parametrize(
    ("words", "dtype", "values"),
    [
        (["1.5", "-0.0", "inf"], "float32", np.array([1.5, -0.0, np.inf], np.float32)),
        (["0x3e00"], "float16", np.array([1.5], np.float16)),
        (["18446744073709551615"], "uint64", np.array([2**64 - 1], np.uint64)),
        (["True", "False"], "bool", np.array([True, False])),
        (["'a b'"], "object", np.array(["a b"], object)),
    ],
)
def test_elements_are_read_in_their_dtype(words: list[str], dtype: str, values: np.ndarray) -> None:
    found = elements(words, np.dtype(dtype))
    np.testing.assert_array_equal(found, values, strict=True)
    assert found.tolist() == values.tolist()

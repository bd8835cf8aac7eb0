"""Transposes that cancel, and what a convolution does unless it is told, are not written."""

import ast

import numpy as np
import pytest

from primsplit.audit.mathematics.simplify import simplified, text_of

ROWS = [
    ("sum(transpose(a, (1, 2, 0)) * transpose(b, (1, 2, 0)), axis=2)", "sum(a * b, axis=0)"),
    ("sum(transpose(a, (2, 0, 1)), axis=0)", "sum(a, axis=2)"),
    ("sum(transpose(a, (2, 1, 0)), axis=0)", "sum(transpose(a, (2, 1, 0)), axis=0)"),
    ("transpose(a, (0, 2, 1))", "a.mT"),
    ("transpose(transpose(a, (1, 0, 2)), (0, 2, 1))", "transpose(a, (1, 2, 0))"),
    ("transpose(transpose(a, (1, 2, 0)), (2, 0, 1))", "a"),
    ("transpose(transpose(a, (0, 2, 1)) @ b, (0, 2, 1))", "b.mT @ a"),
    ("transpose(a @ transpose(b, (0, 2, 1)), (0, 2, 1))", "b @ a.mT"),
    ("transpose(a @ b, (0, 2, 1))", "(a @ b).mT"),
    ("transpose(transpose(a, (0, 2, 1)) @ b, (2, 0, 1))", "transpose(b.mT @ a, (1, 0, 2))"),
    ("transpose(2 * transpose(a, (0, 2, 1)), (0, 2, 1))", "2 * a"),
    ("transpose(a, (1, 2, 0)) * transpose(b, (2, 1, 0))", "transpose(a, (1, 2, 0)) * transpose(b, (2, 1, 0))"),
]


@pytest.mark.parametrize(("given", "wanted"), ROWS)
def test_transposes_that_cancel_are_not_written(given: str, wanted: str) -> None:
    assert text_of(simplified(ast.parse(given, mode="eval").body)) == wanted
    random = np.random.default_rng(0)
    space = {"sum": np.sum, "transpose": np.transpose, **{n: random.standard_normal((3, 3, 3)) for n in "ab"}}
    np.testing.assert_allclose(eval(wanted, space), eval(given, space))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("_conv(x, w, strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0])", "conv(x, w)"),
        ("_conv(x, w, strides=[2, 2], dilations=[1, 1], pads=[1, 1, 1, 1])", "conv(x, w, strides=2, pads=1)"),
        ("_conv(x, w, strides=[1, 2], dilations=[1, 1], pads='SAME_UPPER')", None),
    ],
)
def test_a_convolution_says_what_it_is_told(given: str, wanted: str | None) -> None:
    found = text_of(simplified(ast.parse(given, mode="eval").body))
    assert found == (wanted or "conv(x, w, strides=[1, 2], pads='SAME_UPPER')")

"""Softmax, log-softmax and GELU written out: the operators that stand for them, and their values and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import primsplit as ps
from primsplit.ir import Block
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites.inline import inline_calls
from primsplit.transforms.idioms.recognize import recognize
from tests.recording import kinds, record

Function = Callable[[Any], Any]
ROOT = np.float32(np.sqrt(2.0))
ROWS = np.array([[1.0, 2.0, -3.0], [np.nan, 0, 1], [np.inf, 0, 1], [-np.inf, 0, 1], [-np.inf] * 3, [1e4, -1e4, 1e4]])


def softmax(x: Any, axis: int = -1) -> Any:
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: int = -1) -> Any:
    apart = x - np.max(x, axis=axis, keepdims=True)
    return apart - np.log(np.sum(np.exp(apart), axis=axis, keepdims=True))


def softmax_of_operators(x: Any) -> Any:
    powers = op.Exp(op.Sub(x, op.ReduceMax(x, [1], keepdims=1)))
    return op.Div(powers, op.ReduceSum(powers, [-1], keepdims=1))


GELUS: dict[str, Function] = {
    "half of x first": lambda x: 0.5 * x * (1.0 + special.erf(x * 0.5**0.5)),
    "half last": lambda x: x * (1.0 + special.erf(x / ROOT)) * 0.5,
    "half of the sum": lambda x: x * (0.5 * (special.erf(0.5**0.5 * x) + 1.0)),
    "the sum before x": lambda x: (1.0 + special.erf(x / ROOT)) * (x * 0.5),
}


def block_of(function: Function, text: str = "float32[N,3]") -> Block:
    return record(lambda x: function(x), text)


@pytest.mark.parametrize(("axis", "wanted"), [(-1, 1), (1, 1), (0, 0)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_softmax_is_one_operator_along_its_axis(axis: int, wanted: int, dtype: str) -> None:
    block = recognize(block_of(lambda x: softmax(x, axis), f"{dtype}[N,3]"))
    check_types(block)
    assert kinds(block) == ["Softmax"]
    assert block.ops[0].attributes == {"axis": wanted}


@pytest.mark.parametrize(("axis", "wanted"), [(-1, 1), (0, 0)])
def test_a_log_softmax_is_one_operator_along_its_axis(axis: int, wanted: int) -> None:
    block = recognize(block_of(lambda x: log_softmax(x, axis)))
    check_types(block)
    assert kinds(block) == ["LogSoftmax"]
    assert block.ops[0].attributes == {"axis": wanted}


@pytest.mark.parametrize("form", [softmax, log_softmax])
@pytest.mark.parametrize("text", ["float32[N,3]", "float32[3,N]"])
def test_what_a_file_holds_of_it_is_one_operator_too(form: Function, text: str) -> None:
    names = {"softmax": "Softmax", "log_softmax": "LogSoftmax"}
    assert kinds(recognize(inline_calls(block_of(form, text)))) == [names[form.__name__]]


def test_a_softmax_in_a_batch_is_one_too() -> None:
    block = ps.trace(ps.vmap(softmax), ps.spec("float32", ["B", "N", 3])).block
    assert kinds(recognize(block)) == ["Softmax"]
    assert recognize(block).ops[0].attributes == {"axis": 2}


def test_a_softmax_of_operators_is_one_too() -> None:
    assert kinds(recognize(block_of(softmax_of_operators))) == ["Softmax"]


@ps.primitive
def named_max(x: Any) -> Any:
    return np.sum(x, axis=-1, keepdims=True)


named_max.name = "max"


@pytest.mark.parametrize("name", GELUS)
def test_a_gelu_is_one_operator_whatever_the_order_of_its_factors(name: str) -> None:
    block = recognize(block_of(GELUS[name]))
    check_types(block)
    assert kinds(block) == ["Gelu"]


def _read_outside(x: Any) -> Any:
    powers = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return powers / np.sum(powers, axis=-1, keepdims=True), powers


def _log_read_outside(x: Any) -> Any:
    apart = x - np.max(x, axis=-1, keepdims=True)
    logarithm = np.log(np.sum(np.exp(apart), axis=-1, keepdims=True))
    return apart - logarithm, logarithm


LEFT: dict[str, tuple[Function, str]] = {
    "the sum is along another axis": (
        lambda x: np.exp(x - np.max(x, 1, keepdims=True)) / np.sum(np.exp(x - np.max(x, 1, keepdims=True)), 0),
        "float32[3,3]",
    ),
    "nothing is subtracted": (lambda x: np.exp(x) / np.sum(np.exp(x), axis=-1, keepdims=True), "float32[N,3]"),
    "the minimum is subtracted": (
        lambda x: _over_sum(np.exp(x - np.min(x, axis=-1, keepdims=True))),
        "float32[N,3]",
    ),
    "a user's function has the maximum's name": (lambda x: _over_sum(np.exp(x - named_max(x))), "float32[N,3]"),
    "another shift than inside": (
        lambda x: (x - 1.0) - np.log(np.sum(np.exp(x - np.max(x, 1, keepdims=True)), 1, keepdims=True)),
        "float32[N,3]",
    ),
    "the logarithm is a result": (_log_read_outside, "float32[N,3]"),
    "the exponentials are a result": (_read_outside, "float32[N,3]"),
    "another factor": (lambda x: 0.5 * x * (1.0 + special.erf(x * 0.7)), "float32[N,3]"),
    "another half": (lambda x: 0.4 * x * (1.0 + special.erf(x * 0.5**0.5)), "float32[N,3]"),
    "the factors differ": (lambda x: 0.5 * (x + 1) * (1.0 + special.erf(x * 0.5**0.5)), "float32[N,3]"),
    "no kernel in float64": (GELUS["half of x first"], "float64[N,3]"),
}


def _over_sum(powers: Any) -> Any:
    return powers / np.sum(powers, axis=-1, keepdims=True)


@pytest.mark.parametrize("name", LEFT)
def test_what_is_not_quite_the_operator_is_left_as_it_is(name: str) -> None:
    block = block_of(*LEFT[name])
    assert recognize(block) is block


@pytest.mark.parametrize("form", [softmax, log_softmax])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinities_and_nan_go_through_as_they_did(dtype: str, form: Function) -> None:
    rows = ROWS.astype(dtype)
    with np.errstate(invalid="ignore"):
        expected = form(rows)
    found = ps.split(form, ps.spec(dtype, ["N", 3])).joint()(rows, np.zeros_like(rows))[0]
    np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == "float32" else 1e-15)


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_the_gradient_of_a_softmax_is_the_textbook_s(rows: int) -> None:
    random = np.random.default_rng(0)
    x, dy = random.standard_normal((2, rows, 3))
    found = ps.split(softmax, ps.spec("float64", ["N", 3])).joint().session()(x, dy)
    y = special.softmax(x, axis=1)
    np.testing.assert_allclose(found[0], y, rtol=1e-14)
    np.testing.assert_allclose(found[1], y * (dy - np.sum(y * dy, axis=1, keepdims=True)), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_the_gradient_of_a_log_softmax_is_the_textbook_s(rows: int) -> None:
    random = np.random.default_rng(0)
    x, dy = random.standard_normal((2, rows, 3))
    found = ps.split(log_softmax, ps.spec("float64", ["N", 3])).joint().session()(x, dy)
    y = special.log_softmax(x, axis=1) if rows else x
    np.testing.assert_allclose(found[0], y, rtol=1e-14)
    np.testing.assert_allclose(found[1], dy - np.exp(y) * np.sum(dy, axis=1, keepdims=True), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", GELUS)
def test_the_gradient_of_a_gelu_is_the_normal_distribution_s(name: str) -> None:
    x = np.linspace(-4.0, 4.0, 30, dtype=np.float32).reshape(10, 3)
    found = ps.split(lambda v: np.sum(GELUS[name](v)), ps.spec("float32", ["N", 3])).joint().session()(x)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(found[1], stats.norm.cdf(wide) + wide * stats.norm.pdf(wide), rtol=2e-5, atol=1e-6)


def test_a_split_keeps_the_softmax_and_not_what_it_is_made_of() -> None:
    made = ps.split(lambda x: np.sum(softmax(x) ** 2), ps.spec("float32", ["N", 3]))
    assert kinds(made.joint().block).count("Exp") == 0
    assert [c.type.rank for c in made.split.stored()].count(2) == 1

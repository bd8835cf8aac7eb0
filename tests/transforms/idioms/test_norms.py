"""Layer norms written out: which are found, their values, and what their pullback is."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites.inline import inline_calls
from primsplit.transforms.idioms.norms import recognize_norms
from tests.random_programs import run
from tests.recording import kinds, record

Function = Callable[..., Any]


def _centred(x: Any, axis: Any = -1) -> Any:
    return x - np.mean(x, axis=axis, keepdims=True)


def quotient(x: Any, axis: Any = -1) -> Any:
    c = _centred(x, axis)
    return c / np.sqrt(np.mean(c * c, axis=axis, keepdims=True) + 1e-3)


def of_operators(x: Any) -> Any:
    """As torch exports it."""
    c = op.Sub(x, op.ReduceMean(x, [-1], keepdims=1))
    return op.Div(c, op.Sqrt(op.Add(op.ReduceMean(op.Pow(c, 2.0), [-1], keepdims=1), 1e-3)))


FORMS: dict[str, Function] = {
    "a quotient": quotient,
    "by the variance": lambda x: _centred(x) / np.sqrt(np.var(x, axis=-1, keepdims=True) + 1e-3),
    "by a power": lambda x: _centred(x) * (np.mean(_centred(x) ** 2, axis=-1, keepdims=True) + 1e-3) ** -0.5,
    "epsilon first": lambda x: _centred(x) / np.sqrt(1e-3 + np.mean(_centred(x) ** 2, axis=-1, keepdims=True)),
    "of operators": of_operators,
    "over two axes": lambda x: quotient(x, (1, 2)),
    "over the middle axis": lambda x: quotient(x, 1),
}


def found(function: Function, *types: str) -> Block:
    block = record(function, *types)
    return recognize_norms(block, range(len(types)), [0])


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_norm_is_one_call(name: str, dtype: str) -> None:
    form = FORMS[name]
    block = found(lambda x: form(x), f"{dtype}[N,3,5]")
    check_types(block)
    assert kinds(block) == ["call::norm"]


@pytest.mark.parametrize("count", [1, 2])
def test_a_scale_and_a_bias_of_a_row_belong_to_it(count: int) -> None:
    def function(x: Any, w: Any, b: Any) -> Any:
        return b + w * quotient(x) if count == 2 else quotient(x) * w + x

    block = found(function, "float32[N,5]", "float32[5]", "float32[5]")
    call = next(step for step in block.ops if step.kind == "call::norm")
    assert list(call.inputs) == list(block.params[: 1 + count])


def _read_outside(x: Any) -> Any:
    c = _centred(x)
    s = np.sqrt(np.mean(c * c, axis=-1, keepdims=True) + 1e-3)
    return c / s, s


def _of_two_axes(x: Any) -> Any:
    c = _centred(x)
    return c / np.sqrt(np.mean(c * c, axis=1, keepdims=True) + 1e-3)


LEFT: dict[str, Function] = {
    "the deviation is a result": _read_outside,
    "the mean and the variance are along different axes": _of_two_axes,
    "the epsilon is an array": lambda x: _centred(x) / np.sqrt(np.mean(_centred(x) ** 2, axis=-1, keepdims=True) + x),
    "the variance has one degree of freedom less": lambda x: (
        _centred(x) / np.sqrt(np.var(x, axis=-1, keepdims=True, ddof=1) + 1e-3)
    ),
    "a cube is taken for the square": lambda x: (
        _centred(x) / np.sqrt(np.mean(op.Pow(_centred(x), 3.0), axis=-1, keepdims=True) + 1e-3)
    ),
    "other deviations are squared": lambda x: (
        _centred(x) / np.sqrt(np.mean(_centred(x * 2.0) ** 2, axis=-1, keepdims=True) + 1e-3)
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_no_norm_is_left(name: str) -> None:
    form = LEFT[name]
    block = record(lambda x: form(x), "float32[N,3,5]")
    assert recognize_norms(block, [0], [0]) is block


def test_a_norm_that_no_gradient_goes_through_is_left() -> None:
    block = record(lambda x, w: quotient(x) @ w, "float32[N,5]", "float32[5,2]")
    assert recognize_norms(block, [1], [0]) is block


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_the_value_is_the_same_to_the_bit(rows: int) -> None:
    def function(x: Any, w: Any, b: Any) -> Any:
        return quotient(x) * w + b

    types = ("float32[N,5]", "float32[5]", "float32[5]")
    random = np.random.default_rng(0)
    inputs = [random.standard_normal(s).astype(np.float32) for s in ((rows, 5), (5,), (5,))]
    plain, called = record(function, *types), inline_calls(found(function, *types))
    for before, after in zip(run(plain, inputs), run(called, inputs), strict=True):
        assert np.array_equal(before, after)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("is_affine", [False, True])
def test_the_gradient_is_the_difference_quotient(name: str, is_affine: bool) -> None:
    form = FORMS[name]

    def loss(x: Any, w: Any, b: Any) -> Any:
        y = form(x)
        return np.sum(np.sin(y * w + b if is_affine else y))

    random = np.random.default_rng(1)
    at = [random.standard_normal(s) for s in ((2, 3, 20), (20,), (20,))]
    along = [random.standard_normal(a.shape) for a in at]
    gradient = ps.trace(ps.grad(loss, wrt=(0, 1, 2)), *at)(*at)
    slope = sum(np.sum(g * d) for g, d in zip(gradient, along, strict=True))
    step, value = 1e-6, ps.trace(loss, *at)
    ahead, behind = (value(*(a + s * d for a, d in zip(at, along, strict=True))) for s in (step, -step))
    assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-7)


def test_float32_rows_are_as_right_as_their_dtype() -> None:
    def loss(x: Any, w: Any, b: Any) -> Any:
        return np.sum(np.sin(quotient(x) * w + b))

    random = np.random.default_rng(2)
    at = [random.standard_normal(s) for s in ((6, 40), (40,), (40,))]
    exact = ps.trace(ps.grad(loss, wrt=(0, 1, 2)), *at)(*at)
    single = [a.astype(np.float32) for a in at]
    for found_, wanted in zip(ps.trace(ps.grad(loss, wrt=(0, 1, 2)), *single)(*single), exact, strict=True):
        np.testing.assert_allclose(found_, wanted, rtol=2e-5, atol=2e-5)


def test_a_second_derivative_goes_through_the_rule() -> None:
    def inner(x: Any) -> Any:
        return np.sum(np.sin(quotient(x)) * np.arange(5.0))

    def outer(x: Any) -> Any:
        return np.sum(ps.grad(inner)(x) ** 2)

    random = np.random.default_rng(3)
    x, along = random.standard_normal((2, 5)), random.standard_normal((2, 5))
    value = ps.trace(outer, x)
    slope = np.sum(ps.trace(ps.grad(outer), x)(x) * along)
    assert slope == pytest.approx((value(x + 1e-6 * along) - value(x - 1e-6 * along)) / 2e-6, rel=1e-6)


def test_a_pullback_keeps_the_quotients_and_not_the_deviations() -> None:
    made = ps.split(lambda x: np.sum(np.exp(quotient(x))), ps.spec("float32", ["N", 5]))
    kept = [v.type for v, kind in made.split.kinds().items() if kind == "intermediate"]
    wide = [str(t) for t in kept if t.shape and t.shape[-1] == 5]
    assert wide == ["float32[N,5]"] * 2, "the quotients, and what exp returned"

"""Layer norms written out: which are found, their values, and what their pullback is."""

from typing import Any

import numpy as np
import pytest

from primsplit.ir import Block
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites.inline import inline_calls
from primsplit.transforms.idioms.norms import recognize_norms
from tests.random_programs import run
from tests.recording import kinds, record
from tests.transforms.idioms.written_norms import FORMS, Function, centred, quotient


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
    c = centred(x)
    s = np.sqrt(np.mean(c * c, axis=-1, keepdims=True) + 1e-3)
    return c / s, s


def _of_two_axes(x: Any) -> Any:
    c = centred(x)
    return c / np.sqrt(np.mean(c * c, axis=1, keepdims=True) + 1e-3)


LEFT: dict[str, Function] = {
    "the deviation is a result": _read_outside,
    "the mean and the variance are along different axes": _of_two_axes,
    "the epsilon is an array": lambda x: centred(x) / np.sqrt(np.mean(centred(x) ** 2, axis=-1, keepdims=True) + x),
    "the variance has one degree of freedom less": lambda x: (
        centred(x) / np.sqrt(np.var(x, axis=-1, keepdims=True, ddof=1) + 1e-3)
    ),
    "a cube is taken for the square": lambda x: (
        centred(x) / np.sqrt(np.mean(op.Pow(centred(x), 3.0), axis=-1, keepdims=True) + 1e-3)
    ),
    "other deviations are squared": lambda x: (
        centred(x) / np.sqrt(np.mean(centred(x * 2.0) ** 2, axis=-1, keepdims=True) + 1e-3)
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

"""What onnxruntime computes from wrong numbers is as near to the exact function of the right ones as the bound says."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import special

import primsplit as ps
from primsplit.audit.intervals.ranges import Range, of_array
from primsplit.audit.intervals.sum_errors import bounded
from primsplit.audit.intervals.walk import Walk
from primsplit.ops import op
from primsplit.rewrites.inline import inline_calls
from tests.audit.intervals.sound import drawn

Function = Callable[..., Any]
UNARY: dict[str, tuple[Function, list[tuple[float, float]]]] = {
    "Abs": (np.abs, [(-2, 3)]), "Acos": (np.arccos, [(-0.9, 0.9)]), "Acosh": (np.arccosh, [(1.5, 9)]),
    "Asin": (np.arcsin, [(-0.9, 0.9)]), "Asinh": (np.arcsinh, [(-5, 5)]), "Atan": (np.arctan, [(-5, 5)]),
    "Atanh": (np.arctanh, [(-0.9, 0.9)]), "Ceil": (np.ceil, [(-3, 3)]), "Cos": (np.cos, [(-9, 9)]),
    "Cosh": (np.cosh, [(-3, 3)]), "Elu": (lambda x: np.where(x > 0, x, np.expm1(x)), [(-9, 3), (-1e-3, 1e-3)]),
    "Erf": (special.erf, [(-3, 3)]), "Exp": (np.exp, [(-9, 9), (-80, 0)]), "Floor": (np.floor, [(-3, 3)]),
    "Gelu": (lambda x: x * special.ndtr(x), [(-9, 3)]), "Log": (np.log, [(0.5, 2), (1e-3, 9)]),
    "Neg": (np.negative, [(-1, 1)]),
    "Reciprocal": (lambda x: 1 / x, [(0.5, 3), (-3, -1)]), "Relu": (lambda x: np.maximum(x, 0), [(-2, 2)]),
    "Round": (np.rint, [(-3, 3)]), "Sigmoid": (special.expit, [(-20, 5)]), "Sign": (np.sign, [(-1, 1)]),
    "Sin": (np.sin, [(-9, 9)]), "Sinh": (np.sinh, [(-3, 3)]), "Softplus": (lambda x: np.logaddexp(0, x), [(-9, 9)]),
    "Softsign": (lambda x: x / (1 + np.abs(x)), [(-9, 9)]), "Sqrt": (np.sqrt, [(0.5, 3), (0, 1)]),
    "Tanh": (np.tanh, [(-9, 9)]),
}  # fmt: skip
BINARY: dict[str, tuple[Function, list[tuple[float, float]]]] = {
    "Add": (np.add, [(-2, 3)]), "Sub": (np.subtract, [(-2, 3)]), "Mul": (np.multiply, [(-2, 3), (0, 1e-3)]),
    "Div": (np.divide, [(0.5, 3), (-4, -1)]), "Pow": (np.power, [(0.5, 3)]), "Max": (np.maximum, [(-2, 3)]),
    "Min": (np.minimum, [(-2, 3)]),
}  # fmt: skip


def with_error(x: np.ndarray, error: float) -> Range:
    return replace(of_array(x), value=None, error=np.full(x.shape, error))


def error_of(block: Any, ranges: list[Range]) -> np.ndarray:
    walk = Walk(errors=bounded)
    with np.errstate(all="ignore"):
        (found,) = walk.block(inline_calls(block), ranges)
    assert found.error is not None
    return found.error


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("error", [0.0, 1e-9, 1e-3])
@pytest.mark.parametrize("kind", UNARY)
def test_a_function_of_wrong_numbers_is_as_near_as_its_bound(kind: str, error: float, dtype: Any) -> None:
    program = ps.trace(lambda x: getattr(op, kind)(x), ps.spec(dtype, [300]))
    session, random = program.session(), np.random.default_rng(0)
    function, all_ends = UNARY[kind]
    for low, high in all_ends:
        x = drawn(random, (low + error, high - error), 300, dtype)
        right = np.clip(x.astype(np.float64) + random.uniform(-1, 1, 300) * error * 0.999, low, high)
        gap = np.abs(session(x)[0].astype(np.float64) - function(right))
        bound = np.broadcast_to(error_of(program.block, [with_error(x, error)]), gap.shape)
        assert np.all(np.isfinite(bound)) or kind in {"Log", "Sqrt"}
        assert np.all(gap <= bound), (kind, float(np.max(gap - bound)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("error", [0.0, 1e-9, 1e-3])
@pytest.mark.parametrize("kind", BINARY)
def test_a_function_of_two_wrong_numbers_is_as_near_as_its_bound(kind: str, error: float, dtype: Any) -> None:
    program = ps.trace(lambda x, y: getattr(op, kind)(x, y), *[ps.spec(dtype, [300])] * 2)
    session, random = program.session(), np.random.default_rng(0)
    function, all_ends = BINARY[kind]
    for ends in all_ends:
        x, y = (drawn(random, ends, 300, dtype) for _ in range(2))
        moves = (random.uniform(-1, 1, 300) * error * 0.999 for _ in range(2))
        right = [a.astype(np.float64) + move for a, move in zip((x, y), moves, strict=True)]
        gap = np.abs(session(x, y)[0].astype(np.float64) - function(*right))
        bound = error_of(program.block, [with_error(x, error), with_error(y, error)])
        assert np.all(np.isfinite(bound))
        assert np.all(gap <= bound), (kind, float(np.max(gap - bound)))


@pytest.mark.parametrize(("function", "bound"), [
    (lambda x: np.where(x > 0, 5.0, 1.0), 4.0),
    (lambda x: np.where(x > 2, 5.0, 1.0), 0.0),
    (lambda x: np.floor(x), 1.001),
])  # fmt: skip
def test_a_choice_that_exact_numbers_may_make_otherwise_is_as_wrong_as_its_sides_are_apart(
    function: Function, bound: float
) -> None:
    program = ps.trace(function, ps.spec(np.float64, [1]))
    assert error_of(program.block, [with_error(np.array([1e-4]), 1e-3)]) == pytest.approx(bound)


def test_a_divisor_that_may_be_zero_but_for_its_error_has_no_bound() -> None:
    program = ps.trace(lambda x: 1 / x, ps.spec(np.float64, [1]))
    assert np.isinf(error_of(program.block, [with_error(np.array([1e-4]), 1e-3)]))


@pytest.mark.parametrize("kind", ["Add", "Mul", "Max", "BitwiseAnd"])
def test_whole_numbers_have_no_error(kind: str) -> None:
    block = ps.trace(lambda x: getattr(op, kind)(x, x), ps.spec("int64", [3])).block
    assert error_of(block, [with_error(np.array([1, 2, 3]), 0.0)]) == 0.0


@pytest.mark.parametrize(("size", "roundings"), [(1, 0), (2, 1), (5, 4)])
def test_a_sum_is_rounded_once_for_each_term_after_the_first(size: int, roundings: int) -> None:
    block = ps.trace(lambda x: op.ReduceSum(x, [0]), ps.spec("float32", [size])).block
    found = error_of(block, [with_error(np.ones(size, np.float32), 0.0)])
    np.testing.assert_allclose(found, roundings * size * 2.0**-24)

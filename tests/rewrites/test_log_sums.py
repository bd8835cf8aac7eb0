"""Sums of many logarithms: that they are few in the file, and the numbers of NumPy, large and tiny ones too."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.rewrites import log_sums

rng = np.random.default_rng(11)
MANY = log_sums.MANY


def spread(x: Any) -> Any:
    """Log density of Cauchy's errors, up to sign and a constant."""
    return np.sum(np.log1p(x * x))


def nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from nodes(attribute.g)


def is_joined(program: ps.Program) -> bool:
    """Whether the file has the sum both ways."""
    return [n.op_type for n in nodes(program.to_onnx().graph)].count("If") == 1


def exactly(numbers: Any) -> float:
    return math.fsum(math.log1p(float(v)) for v in np.ravel(numbers))


@pytest.mark.parametrize("count", [MANY, MANY + 1, MANY + 15, 17_389])
@pytest.mark.parametrize("size", [1.0, 1e-9, 1e9])
def test_a_sum_is_as_exact_as_one_logarithm_after_the_other(count: int, size: float) -> None:
    x = rng.standard_t(2, count) * size
    program = ps.trace(spread, x)
    assert is_joined(program)
    np.testing.assert_allclose(program.session()(x), exactly(x * x), rtol=2e-14)


@pytest.mark.parametrize("far", [1e100, 1e153, math.inf, math.nan])
def test_products_beyond_all_numbers_are_not_taken(far: float) -> None:
    x = rng.standard_normal(MANY)
    x[[3, MANY // 2 + 3, MANY - 1]] = far
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(ps.trace(spread, x).session()(x), np.sum(np.log1p(x * x)), rtol=1e-13)


def test_single_precision_keeps_its_digits_where_its_products_overflow() -> None:
    for size in (1e-12, 1.0, 1e4, 1e15):
        x = (rng.standard_normal(MANY) * size).astype(np.float32)
        program = ps.trace(spread, x)
        assert is_joined(program)
        np.testing.assert_allclose(program.session()(x), exactly((x * x).astype(np.float64)), rtol=2e-6)


def test_the_gradient_is_that_of_each_logarithm() -> None:
    x = rng.standard_t(2, MANY)
    value, gradient = ps.value_and_grad(spread)(x)
    np.testing.assert_allclose(value, exactly(x * x), rtol=1e-14)
    np.testing.assert_allclose(gradient, 2 * x / (1 + x * x), rtol=1e-14)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: np.mean(np.log1p(np.abs(x))), ()),
        (lambda x: np.sum(np.log1p(np.exp(x)), axis=(0, 1)), ()),
        (lambda x: np.sum(np.log1p(x**2 / 4.0), keepdims=True), (1, 1)),
        (lambda x: np.mean(np.log1p(np.exp(x) + 0.5), axis=(-1, 0), keepdims=True), (1, 1)),
    ],
)
def test_means_and_sums_over_all_axes_are_joined(function: Any, shape: tuple[int, ...]) -> None:
    x = rng.standard_normal((160, 120))
    program = ps.trace(function, x)
    assert is_joined(program)
    (found,) = program.session()(x)
    assert found.shape == shape
    np.testing.assert_allclose(found, function(x), rtol=1e-13)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(0.3 * x - np.log1p(np.exp(x))),
        lambda x: np.sum(0.3 * x - np.logaddexp(0.0, x)),
        lambda x: np.mean(np.log1p(x * x) - x),
        lambda x: np.sum((x - np.log1p(x * x)) + 2.0 * x, keepdims=True),
        lambda x: np.sum(x - (x * x - np.log1p(x * x))),
    ],
)
@pytest.mark.parametrize("size", [1.0, 30.0])
def test_logarithms_among_other_terms_are_summed_apart(function: Any, size: float) -> None:
    x = rng.standard_normal(MANY) * size
    program = ps.trace(function, x)
    assert is_joined(program)
    np.testing.assert_allclose(program.session()(x)[0], function(x), rtol=1e-12)
    slope = ps.grad(lambda x: np.sum(function(x)))(x)
    step = 1e-6 * size
    for place in (0, MANY - 1):
        moved = np.zeros(MANY)
        moved[place] = step
        numeric = np.sum(function(x + moved) - function(x - moved)) / (2 * step)
        np.testing.assert_allclose(slope[place], numeric, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(np.log1p(x)),
        lambda x: np.sum(x[:, None] + np.log1p(x * x)[None, :2]),
        lambda x: np.sum(1.0 + np.log1p(x * x)),
        lambda x: np.sum(np.log1p(x * x - 0.9)),
        lambda x: np.sum(np.log1p(x * np.roll(x, 1))),
        lambda x: np.sum(np.log1p(x * x)[: MANY // 2]),
        lambda x: np.sum(np.sum(np.log1p(np.reshape(x * x, (-1, 16))), axis=1) ** 2),
    ],
)
def test_numbers_of_either_sign_few_numbers_and_sums_of_rows_stay(function: Any) -> None:
    x = rng.uniform(-0.9, 2.0, MANY)
    program = ps.trace(function, x)
    assert not is_joined(program)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(program.session()(x), function(x), rtol=1e-12)


def test_a_sum_of_a_length_that_the_run_tells_stays() -> None:
    program = ps.trace(spread, ps.spec("f64", ["N"]))
    assert not is_joined(program)
    for count in (0, 1, 5):
        x = rng.standard_normal(count)
        np.testing.assert_allclose(program.session()(x), np.sum(np.log1p(x * x)), rtol=1e-14)


def test_dtypes_without_kernels_for_it_stay() -> None:
    x = (rng.standard_normal(MANY) * 0.1).astype(np.float16)
    program = ps.trace(spread, x)
    assert not is_joined(program)
    np.testing.assert_allclose(program.session()(x), exactly((x * x).astype(np.float64)), rtol=2e-3)

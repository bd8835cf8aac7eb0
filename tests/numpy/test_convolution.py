"""Convolutions of long vectors: by blocks, in memory that grows with their length, with NumPy's infinities."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import primsplit as ps

Array = np.ndarray[Any, Any]
LENGTHS = [(3000, 3000), (70000, 5), (5, 70000), (700, 300), (2100, 64), (2100, 65), (1, 140000)]


def numbers(n: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(n)


def blocks(block: Any) -> Iterator[Any]:
    """A block and all those inside of it."""
    yield block
    for op in block.ops:
        for attribute in op.attributes.values():
            if hasattr(attribute, "ops"):
                yield from blocks(attribute)


@pytest.mark.parametrize("is_symbolic", [(False, False), (True, True), (True, False), (False, True)])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_long_vectors_are_convolved_as_by_numpy(lengths: tuple[int, int], is_symbolic: tuple[bool, bool]) -> None:
    n, m = (s if is_named else d for s, d, is_named in zip("NM", lengths, is_symbolic, strict=True))
    a, v = numbers(lengths[0]), numbers(lengths[1], 1)
    for function in (np.convolve, np.correlate):
        program = ps.trace(
            lambda a, v, function=function: function(a, v, "full"), ps.spec("float64", [n]), ps.spec("float64", [m])
        )
        np.testing.assert_allclose(program(a, v), function(a, v, "full"), rtol=1e-10, atol=1e-11, strict=True)


@pytest.mark.parametrize("lengths", LENGTHS[:5])
def test_no_array_is_as_large_as_all_products(lengths: tuple[int, int]) -> None:
    """Of any array, in the derivative too: at most two blocks for each number of the shorter vector."""
    a, v = numbers(lengths[0]), numbers(lengths[1])
    program = ps.split(lambda a, v: np.sum(np.convolve(a, v) ** 2), a, v).joint()
    taken = [
        math.prod(value.type.shape)
        for block in blocks(program.block)
        for op in block.ops
        for value in op.outputs
        if value.type.shape is not None and all(isinstance(d, int) for d in value.type.shape)
    ]
    assert max(taken) <= 4 * max(lengths) + 128 * (min(lengths) + 64)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "float16", "bool"])
def test_the_dtype_is_numpys(dtype: str) -> None:
    a, v = (4 * numbers(900)).astype(dtype), (4 * numbers(200, 1)).astype(dtype)
    tolerance = {"float32": 2e-5, "float16": 3e-2}.get(dtype, 0.0)
    found, wanted = ps.trace(np.convolve, a, v)(a, v), np.convolve(a, v)
    assert found.dtype == wanted.dtype
    if tolerance:
        exact = np.convolve(a.astype(float), v.astype(float))
        np.testing.assert_allclose(found, exact, rtol=tolerance, atol=tolerance * 60)
    else:
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("size", [900, "N"])
@pytest.mark.parametrize("number", [np.inf, np.nan])
def test_infinity_and_nan_reach_the_sums_that_hold_them_alone(number: float, size: int | str) -> None:
    a, v = numbers(900), numbers(200, 1)
    a[450], v[7] = number, 0.0
    program = ps.trace(np.convolve, ps.spec("float64", [size]), ps.spec("float64", [200]))
    np.testing.assert_allclose(program(a, v), np.convolve(a, v), rtol=1e-11, atol=1e-12)


@pytest.mark.sweep(6)
@pytest.mark.parametrize("lengths", [(700, 300), (300, 700), (3000, 50)])
@pytest.mark.parametrize("make", [lambda x: ps.spec("float64", x.shape), lambda x: ps.spec("float64", [f"N{len(x)}"])])
def test_derivatives_to_second_order_are_correlations(make: Callable[[Array], Any], lengths: tuple[int, int]) -> None:
    """The loss |a * v|^2 / 2 has the gradients y against v, and y against a; its second derivative along d likewise."""
    a, v, d = numbers(lengths[0]), numbers(lengths[1], 1), numbers(lengths[0], 2)

    def loss(a: Any, v: Any) -> Any:
        y = np.convolve(a, v)
        return np.sum(y * y) / 2

    def against(y: Array, x: Array) -> Array:
        return np.correlate(y, x, "valid")

    y = np.convolve(a, v)
    first, second = ps.trace(ps.grad(loss, wrt=(0, 1)), make(a), make(v))(a, v)
    np.testing.assert_allclose(first, against(y, v), rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(second, against(y, a), rtol=1e-9, atol=1e-8)
    curved = ps.trace(lambda a, v, d: ps.hvp(loss, (a, v), d), make(a), make(v), make(d))(a, v, d)
    np.testing.assert_allclose(curved, against(np.convolve(d, v), v), rtol=1e-9, atol=1e-8)

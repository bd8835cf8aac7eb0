"""Comparing an exported program with the plain NumPy function, traced with literal sizes and with symbols."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import primsplit as ps
from primsplit import testing

TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3}


def gapped(*shape: int, seed: int = 3) -> Any:
    """Numbers of both signs, no two within 0.17 of each other, none within 0.04 of 0."""
    count = int(np.prod(shape))
    places = np.random.default_rng(seed).permutation(count)
    return ((places - count // 2) * 0.17 + 0.0613).reshape(shape)


def by_symbols(args: tuple[Any, ...]) -> list[Any]:
    """A spec for each array, every size a symbol of its own; other arguments as they are."""
    return [
        ps.spec(a.dtype, [f"N{i}_{j}" for j in range(a.ndim)]) if isinstance(a, np.ndarray) else a
        for i, a in enumerate(args)
    ]


def check_agrees(function: Callable[..., Any], *args: Any, symbolic: bool = True) -> None:
    """Values, dtypes and shapes are plain NumPy's."""
    with np.errstate(all="ignore"):
        wanted = function(*args)
    _compare(wanted, ps.trace(function, *args)(*args))
    if symbolic:
        _compare(wanted, _program(function, *by_symbols(args))(*args))


def _program(function: Callable[..., Any], *specs: Any) -> Any:
    """The function traced, once for rows that differ in their arrays alone."""
    try:
        return _traced(function, *specs)
    except TypeError:  # an argument that cannot be hashed, or that the function does not take
        return ps.trace(function, *specs)


_traced = functools.lru_cache(64, typed=True)(ps.trace)


def _compare(wanted: Any, found: Any) -> None:
    if isinstance(wanted, tuple):
        assert len(found) == len(wanted)
        for each, other in zip(wanted, found, strict=True):
            _compare(each, other)
        return
    expected, value = np.asarray(wanted), np.asarray(found)
    assert value.dtype == expected.dtype
    assert value.shape == expected.shape
    tolerance = TOLERANCE.get(expected.dtype.name, 0)
    np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance)


def check_grads(function: Callable[..., Any], *args: Any, resize: Sequence[int] = (1, 0), **options: Any) -> None:
    """`primsplit.testing.check_grads`, where sizes are symbols also with every axis longer than 1 cut to 1 and to 0."""
    testing.check_grads(function, *args, resize=resize, **options)


def session(function: Callable[..., Any], *shapes: Sequence[int | str], dtype: str = "float64") -> Any:
    """The function of arrays of these shapes, in which texts are symbols, as onnxruntime runs it."""
    return _program(function, *(ps.spec(dtype, s) for s in shapes)).session()

"""Batching dense linear algebra: solutions of a batch and its derivatives, in one call of each algorithm."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from tests.numpy.matrices import normal


def kinds(graph: Any) -> Iterator[str]:
    """The operators of a graph and of the graphs inside it."""
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            yield from kinds(attribute.g)


def symmetric(a: Any) -> Any:
    return a @ a.T + 4 * np.eye(a.shape[-1])


def vector(a: Any, b: Any) -> Any:
    return np.linalg.solve(a, b)


def columns(a: Any, b: Any) -> Any:
    return np.linalg.solve(a, np.stack([b, 2 * b], axis=1))


def turned(a: Any, b: Any) -> Any:
    return scipy.linalg.solve_triangular(a, b, lower=True, trans=1)


def inverse(a: Any, b: Any) -> Any:
    return np.linalg.inv(a) @ b


def determinant(a: Any, b: Any) -> Any:
    return np.linalg.det(a) * b


def logarithm(a: Any, b: Any) -> Any:
    return np.linalg.slogdet(a)[1] * b


def factor(a: Any, b: Any) -> Any:
    return np.linalg.cholesky(symmetric(a)) @ b


def triangle(a: Any, b: Any) -> Any:
    q, r = np.linalg.qr(a)
    return r @ b + q @ b


FUNCTIONS = [triangle, vector, columns, turned, inverse, determinant, logarithm, factor]


@pytest.mark.sweep(56)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 34])
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_each_example_has_its_value_and_gradient(
    function: Callable[..., Any], axes: tuple[int | None, int | None], n: int
) -> None:
    a, b = normal(3, n, n) + 4 * np.sqrt(n) * np.eye(n), normal(3, n)
    point = [x if axis == 0 else x[0] for x, axis in zip((a, b), axes, strict=True)]
    scale = np.max(np.abs(function(a[0], b[0])))

    def one(a: Any, b: Any) -> Any:
        return np.sum(np.sin(function(a, b) / scale))

    mapped = ps.trace(ps.vmap(function, in_axes=axes), *point)
    slopes = ps.trace(ps.vmap(ps.grad(one, wrt=(0, 1)), in_axes=axes), *point)
    each = [[x[i] if axis == 0 else x for x, axis in zip(point, axes, strict=True)] for i in range(3)]
    np.testing.assert_allclose(mapped(*point), [function(*x) for x in each], rtol=1e-10, atol=1e-11 * scale)
    by_one = ps.trace(ps.grad(one, wrt=(0, 1)), a[0], b[0])
    for found, *wanted in zip(slopes(*point), *(by_one(*x) for x in each), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)


def test_one_matrix_is_factored_once_for_a_batch_of_right_sides() -> None:
    a, b = normal(40, 40), normal(6, 40)
    program = ps.trace(lambda a, b: ps.vmap(np.linalg.solve, in_axes=(None, 0))(a, b), a, b)
    shapes = [tuple(v.type.shape) for o in program.block.ops for v in o.outputs]
    assert (6, 40, 40) not in shapes
    np.testing.assert_allclose(program(a, b), np.linalg.solve(a, b.T).T, rtol=1e-9)


@pytest.mark.parametrize("function", [np.linalg.inv, np.linalg.det, np.linalg.cholesky])
@pytest.mark.parametrize("n", [2, 4])
def test_a_batch_of_small_matrices_has_no_loop(function: Callable[..., Any], n: int) -> None:
    a = normal(5, n, n) @ normal(5, n, n).transpose(0, 2, 1) + 4 * np.eye(n)
    program = ps.trace(ps.vmap(function), a)
    assert not {"Loop", "Scan"} & set(kinds(program.to_onnx().graph))
    np.testing.assert_allclose(program(a), function(a), rtol=1e-10)

"""Making arrays: `zeros_like` and its kin, `like=`, and the array namespace, also with sizes known only at run time."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.agreement import check_grads

X = np.random.default_rng(0).standard_normal((4, 3))

DIFFERENTIABLE: dict[str, Callable[[Any], Any]] = {
    "zeros_like, ones_like and full_like": lambda x: x * np.ones_like(x) + np.zeros_like(x) + np.full_like(x, 3.0),
    "full_like of a traced number": lambda x: np.full_like(x, x[0, 0]),
    "array with a copy where one is needed": lambda x: (
        np.array(x, copy=np._CopyMode.IF_NEEDED) + np.array(x, copy=None)
    ),
    "linspace between arrays": lambda x: np.linspace(x[0], x[1], 5),
    "linspace from a traced number, without the end": lambda x: np.linspace(x[0, 0], 2, 4, endpoint=False),
    "linspace on a last axis": lambda x: np.linspace(0, x[1], 5, axis=-1),
    "array of traced numbers": lambda x: np.array([[x[0, 0], 1.0], [x[1, 1], 2.0]], like=x),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_made_arrays_carry_gradients(name: str) -> None:
    if name == "array of traced numbers":
        np.testing.assert_allclose(ps.grad(lambda x: DIFFERENTIABLE[name](x).sum())(X)[:2, :2], np.eye(2))
        return
    check_grads(DIFFERENTIABLE[name], X)


def namespace(x: Any) -> Any:
    return x.__array_namespace__() if isinstance(x, ps.Array) else np


BY_SIZE: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda x: namespace(x).zeros(x.shape),
    "ones of one axis": lambda x: namespace(x).ones(x.shape[0], dtype=np.float32),
    "full": lambda x: namespace(x).full((x.shape[0], 2), 7),
    "arange": lambda x: namespace(x).arange(x.shape[0]),
    "arange in steps": lambda x: namespace(x).arange(1, 2 * x.shape[0], 3),
    "arange downwards": lambda x: namespace(x).arange(x.shape[0], 0, -1),
    "arange of floats": lambda x: namespace(x).arange(x.shape[0], dtype=np.float64),
    "linspace": lambda x: namespace(x).linspace(0.0, 1.0, x.shape[0]),
    "linspace without the end": lambda x: namespace(x).linspace(0.0, 1.0, x.shape[0], endpoint=False),
    "eye": lambda x: namespace(x).eye(x.shape[0]),
    "eye off the diagonal": lambda x: namespace(x).eye(x.shape[0], x.shape[0] + 1, k=-1, dtype=np.float32),
    "identity": lambda x: namespace(x).identity(x.shape[0]),
    "tri": lambda x: namespace(x).tri(x.shape[0], k=1),
    "functions of arrays": lambda x: namespace(x).sum(namespace(x).concat([x, x])),
}


@pytest.mark.parametrize("size", [0, 1, 4])
@pytest.mark.parametrize("name", BY_SIZE)
def test_the_namespace_makes_arrays_of_any_size(name: str, size: int) -> None:
    f = BY_SIZE[name]
    x = X[:size]
    found, wanted = ps.trace(f, ps.spec("float64", ["N", 3]))(x), f(x)
    assert found.dtype == np.asarray(wanted).dtype
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-15, atol=1e-16)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int8", "bool"])
def test_like_functions_keep_the_dtype(dtype: str) -> None:
    x = np.ones((2, 3), dtype)
    found = ps.trace(lambda x: [np.zeros_like(x), np.ones_like(x), np.full_like(x, 1), np.empty_like(x)], x)(x)
    assert [a.dtype for a in found] == [x.dtype] * 4
    assert [a.shape for a in found] == [x.shape] * 4


def test_a_dtype_and_a_shape_may_be_given() -> None:
    found = ps.trace(lambda x: np.zeros_like(x, dtype=np.int32, shape=(2, x.shape[0])), X)(X)
    assert found.dtype == np.int32
    assert found.shape == (2, 4)


def test_like_makes_numpys_functions_take_sizes() -> None:
    def f(x: Any) -> Any:
        return np.full(x.shape, 2.0, like=x) + np.arange(x.shape[0], like=x) + np.eye(x.shape[0], like=x)

    np.testing.assert_array_equal(ps.trace(f, ps.spec("float64", ["N"]))(np.ones(2)), [[3, 3], [2, 4]])


def test_a_copy_of_a_known_array_can_be_written_to() -> None:
    def f(x: Any) -> Any:
        ones = np.ones_like(x)
        copied = np.array(ones)
        copied[0] = 3.0
        return x * copied + ones

    np.testing.assert_array_equal(ps.trace(f, ps.spec("float64", [1]))(np.array([2.0])), [7.0])


def test_the_type_of_an_array_can_be_asked() -> None:
    def f(x: Any) -> Any:
        assert np.ndim(x) == 2
        assert np.shape(x) == (4, 3)
        assert np.size(x) == 12
        assert np.size(x, 1) == 3
        assert np.result_type(x, np.float32) == np.float64
        assert np.result_type(x.astype(np.float32), 1.0) == np.float32
        assert np.isrealobj(x)
        assert np.shares_memory(x, x[0])
        assert not np.shares_memory(x, x.copy())
        return x.sum()

    f(X)
    ps.trace(f, X)

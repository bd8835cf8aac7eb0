"""Branches inside of branches in batches: what one keeps for its pullback where few examples, or none, take it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError

X = np.random.default_rng(3).normal(0, 0.7, (6, 3))
S = np.array([0.1, 0.7, -0.5, 0.2, 0.9, -0.1])
T = np.array([0.2, 0.4, -0.6, 0.3, -0.2, 0.5])
SOME = ([0, 1, 2, 3, 4, 5], [1, 4], [0, 3, 5], [2], [])
"""Which examples a batch has: of every kind, of one kind alone, one, and none."""


def written(x: Any, s: Any, t: Any) -> Any:
    """One side writes to its argument, the other has a loop in Python that may end early."""

    def replaced(v: Any) -> Any:
        v = v.copy()
        v[:1] = t
        return v

    def repeated(v: Any) -> Any:
        n = 0
        while n < 2 and np.tanh(np.sum(v)) > -0.4:
            n += 1
            v = np.sin(v * t) + 0.2 * v
        return v

    return np.sum(ps.cond(np.sin(2 * s) > 0.3, replaced, repeated, np.tanh(x + t)) * np.arange(1.0, 4.0)) + s * t


def switched(x: Any, s: Any, t: Any) -> Any:
    """A choice of three, two of which choose again."""

    def rooted(v: Any) -> Any:
        return np.sqrt(np.sum(v)) * v * s if np.sum(v) > 0 else np.log(-np.sum(v)) * v * t

    def again(v: Any) -> Any:
        return ps.cond(s > 0.15, lambda w: np.cbrt(w + s) * w, lambda w: np.cos(w * x) * w, v)

    index = np.floor(np.clip(s * 2 + 1, 0, 2)).astype(np.int64)
    return np.sum(ps.switch(index, [rooted, again, lambda v: v * np.sin(x) * t], x) * np.arange(1.0, 4.0))


def chosen(x: Any, s: Any, t: Any) -> Any:
    """Python's branches alone."""
    y = x
    if s > 0.3:
        x = x.copy()
        x[:1] = t
        x = np.tanh(x) * y if t > 0 else np.sin(y) * np.exp(x)
    elif s < -0.3:
        y = np.exp(y) * y
        if t > 0.1:
            y = np.cos(y) * x * y
    return np.sum(x * np.arange(1.0, 4.0)) + np.sum(y * x) + s * t


FUNCTIONS = (written, switched, chosen)
WRT = (0, 1, 2)
SLOW = [pytest.param(f, marks=pytest.mark.slow) for f in (switched, chosen)]
each = pytest.mark.parametrize("function", [written, *SLOW])


def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    return ps.grad(function, wrt=WRT)


def within(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients of all examples, each by its own."""
    return ps.vmap(gradient(function))


def through(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients of all examples, by one pullback of their sum."""
    return ps.grad(lambda *args: np.sum(ps.vmap(function)(*args)), wrt=WRT)


def steepness(function: Callable[..., Any]) -> Callable[..., Any]:
    return gradient(lambda *args: sum(np.sum(g**2) for g in gradient(function)(*args)))


def tangent(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, s, t: (ps.jvp(function, (x, s, t), (np.cos(x), t, s))[1],)


def second(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, s, t: (ps.hessian(lambda v: function(v, s, t))(x),)


def batches(make: Callable[..., Any], one: Callable[..., Any]) -> None:
    """One program for batches of any size gives what one example's does."""
    single = ps.trace(one, X[0], S[0], T[0])
    examples = [
        np.stack(parts) for parts in zip(*(single(x, s, t) for x, s, t in zip(X, S, T, strict=True)), strict=True)
    ]
    whole = ps.trace(make, ps.spec("float64", ["B", 3]), ps.spec("float64", ["B"]), ps.spec("float64", ["B"]))
    for some in SOME:
        for found, wanted in zip(whole(X[some], S[some], T[some]), examples, strict=True):
            assert found.shape == wanted[some].shape
            np.testing.assert_allclose(found, wanted[some], rtol=1e-9, atol=1e-9)


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    ("function", "transform"),
    [
        (written, gradient),
        (chosen, gradient),
        *(
            pytest.param(f, t, marks=pytest.mark.slow)
            for f in FUNCTIONS
            for t in (gradient, tangent, second, steepness)
        ),
    ],
)
def test_a_batch_of_derivatives_is_that_of_each_example(function: Any, transform: Any) -> None:
    one = transform(function)
    batches(ps.vmap(one), one)


@each
def test_the_gradient_of_a_batch_is_that_of_each_example(function: Any) -> None:
    batches(through(function), gradient(function))


@pytest.mark.slow
@each
def test_the_gradient_of_a_batch_of_gradients_is_that_of_each_example(function: Any) -> None:
    def total(*args: Any) -> Any:
        return sum(np.sum(g**2) for g in ps.vmap(gradient(function))(*args))

    batches(ps.grad(total, wrt=WRT), steepness(function))


@pytest.mark.parametrize("inner", [within, pytest.param(through, marks=pytest.mark.slow)])
@each
def test_a_batch_of_batches_of_gradients_is_that_of_each_example(function: Any, inner: Any) -> None:
    one = gradient(function)
    wanted = [np.stack(parts) for parts in zip(*(one(x, s, t) for x, s, t in zip(X, S, T, strict=True)), strict=True)]
    specs = [ps.spec("float64", ["A", "B", *x.shape[1:]]) for x in (X, S, T)]
    program = ps.trace(ps.vmap(inner(function)), *specs)
    for rows in ([[0, 1, 2], [3, 4, 5]], [[1, 4], [0, 3]], [[2, 2]]):
        for found, whole in zip(program(X[rows], S[rows], T[rows]), wanted, strict=True):
            np.testing.assert_allclose(found, whole[rows], rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@each
def test_a_gradient_that_was_a_file_is_batched_and_differentiated(function: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "gradient.onnx")
    ps.trace(gradient(function), X[0], S[0], T[0]).save(path)
    model = ps.load(path)
    batches(ps.vmap(lambda *args: model(*args)), gradient(function))

    def total(*args: Any) -> Any:
        return sum(np.sum(g**2) for g in ps.vmap(lambda *one: model(*one))(*args))

    batches(ps.grad(total, wrt=WRT), steepness(function))


@pytest.mark.parametrize("name", ["N", "kept_1", "kept"])
def test_a_size_that_the_user_calls_kept_is_one_as_any_other(name: str) -> None:
    batched = ps.vmap(lambda c, x: ps.cond(c, lambda: x, lambda: x[:, :1]), in_axes=(0, None))
    with pytest.raises(ShapeError, match="would differ between examples"):
        ps.trace(batched, ps.spec("bool", [3]), ps.spec("float64", [name, 4]))

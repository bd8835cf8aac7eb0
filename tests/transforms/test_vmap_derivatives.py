"""Derivatives of what `vmap` makes, and `vmap` of derivatives: in both modes, of any order, by rules of one's own."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps

RANDOM = np.random.default_rng(0)
X, W = RANDOM.normal(size=(5, 3)), RANDOM.normal(size=(3, 4))


def same(found: Any, wanted: Any) -> None:
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def _loss(w: Any, x: Any, y: Any) -> Any:
    return (np.tanh(x @ w) ** 2).sum() * y


def test_per_example_gradients_are_those_of_each_example() -> None:
    found = ps.vmap(ps.grad(_loss), in_axes=(None, 0, 0))(W, X, X[:, 0])
    one = ps.grad(_loss)
    same(found, np.stack([one(W, x, y) for x, y in zip(X, X[:, 0], strict=True)]))


def test_the_gradient_of_a_batch_is_the_sum_of_per_example_gradients() -> None:
    found = ps.grad(lambda w: ps.vmap(_loss, in_axes=(None, 0, 0))(w, X, X[:, 0]).sum())(W)
    same(found, ps.vmap(ps.grad(_loss), in_axes=(None, 0, 0))(W, X, X[:, 0]).sum(axis=0))


def test_per_example_gradients_are_one_file_of_standard_operators(tmp_path: Path) -> None:
    path = str(tmp_path / "batch.onnx")
    ps.trace(
        ps.vmap(ps.grad(_loss), in_axes=(None, 0, 0)), W, ps.spec("float64", ["B", 3]), ps.spec("float64", ["B"])
    ).save(path)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert {n.domain for n in model.graph.node} == {""}
    assert not model.functions


def test_a_pullback_of_a_batch_of_cotangents_is_a_jacobian() -> None:
    def jacobian(x: Any) -> Any:
        _, pullback = ps.vjp(lambda v: np.tanh(v @ W), x)
        (rows,) = ps.vmap(pullback)(np.eye(4))
        return rows

    same(ps.trace(jacobian, X[0])(X[0]), (1 - np.tanh(X[0] @ W) ** 2)[:, None] * W.T)


def test_a_batch_of_hessians() -> None:
    def hessian(x: Any) -> Any:
        def slope(v: Any) -> Any:
            return ps.vjp(ps.grad(lambda u: np.sin(u).prod()), x)[1](v)[0]

        return ps.vmap(slope)(np.eye(3))

    found = ps.vmap(hessian)(X)
    s, c = np.sin(X), np.cos(X)
    for h, sines, cosines in zip(found, s, c, strict=True):
        for i in range(3):
            for j in range(3):
                factors = [-sines[k] if i == j == k else cosines[k] if k in {i, j} else sines[k] for k in range(3)]
                assert abs(h[i, j] - np.prod(factors)) < 1e-12


@pytest.mark.parametrize("one", [lambda x: np.tanh(x @ W).prod(), lambda x: (x[x > 0] ** 3).sum() * x[1]])
def test_forward_mode_goes_through_a_batch_and_a_batch_through_forward_mode(one: Any) -> None:
    wanted = np.stack([ps.jvp(one, (x,), (x + 1,))[1] for x in X])
    same(ps.jvp(ps.vmap(one), (X,), (X + 1,))[1], wanted)
    same(ps.vmap(lambda x: ps.jvp(one, (x,), (x + 1,))[1])(X), wanted)
    same(ps.vmap(ps.hessian(one))(X), np.stack([ps.hessian(one)(x) for x in X]))


def test_what_the_function_reads_from_around_it_is_shared_and_differentiated() -> None:
    def total(w: Any) -> Any:
        return ps.vmap(lambda x: np.tanh(x @ w))(X).sum()

    same(ps.grad(total)(W), X.T @ (1 - np.tanh(X @ W) ** 2))


def test_no_gradient_flows_through_a_stopped_batch() -> None:
    found = ps.grad(lambda x: ps.vmap(lambda v: ps.stop_gradient(v) * v)(x).sum())(X)
    same(found, X)


def test_products_with_the_hessian_of_second_derivatives_of_branches_are_right() -> None:
    """The captures of each example's branch from the vector around it have a size that other examples lack."""

    def second(x: Any) -> Any:
        def one(s: Any) -> Any:
            return ps.cond(s > 0, lambda u: np.sum(np.sin(u * x)), lambda u: u**2, s)

        return np.sum(ps.vmap(ps.grad(ps.grad(one)))(x))

    def slope(x: Any) -> Any:
        taken, products = np.where(x > 0, 1.0, 0.0), np.outer(x, x)
        through_x = 2.0 * x * np.sin(products) + x**2 * x[:, None] * np.cos(products)
        return -taken * np.sum(x**3 * np.cos(products), axis=1) - np.sum(taken[:, None] * through_x, axis=0)

    x, v, step = np.array([0.3, -0.7, 1.1]), np.array([0.6, -0.4, 0.2]), 1e-5
    same(ps.grad(second)(x), slope(x))
    wanted = (slope(x + step * v) - slope(x - step * v)) / (2 * step)
    for product in (
        ps.hvp(second)(x, v),
        ps.grad(lambda y: np.sum(ps.grad(second)(y) * v))(x),
        ps.grad(lambda y: ps.jvp(second, (y,), (v,))[1])(x),
    ):
        np.testing.assert_allclose(product, wanted, rtol=1e-8)

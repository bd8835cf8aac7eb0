"""`ps.checkpoint`: a function whose values are computed again, under every transform."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import SpecError
from primsplit.rewrites.inline import inline_calls
from primsplit.testing import check_grads
from primsplit.tracing import trees

random = np.random.default_rng(3)
X, W = random.standard_normal(4), random.standard_normal(4)


def plain(x: Any, w: Any) -> Any:
    return np.tanh(np.exp(x * w) * x)


checkpointed = ps.checkpoint(plain)


def loss(layer: Any) -> Any:
    return lambda x, w: np.sum(layer(layer(x, w), w) ** 2)


def stored(function: Any, *args: Any) -> list[str]:
    rows = ps.split(function, *args).capture_table()
    return [row["bytes"] for row in rows if row["kind"] == "intermediate"]


def test_its_arguments_alone_are_kept() -> None:
    assert len(stored(loss(plain), X, W)) > 2
    assert stored(loss(checkpointed), X, W) == ["32", "32"]  # what the second call, and the square, are given


def test_its_gradient_meets_the_differences() -> None:
    check_grads(loss(checkpointed), X, W)


TRANSFORMS: list[Callable[[Any], Any]] = [
    lambda f: ps.value_and_grad(f, wrt=(0, 1))(X, W),
    lambda f: ps.hessian(f)(X, W),
    lambda f: ps.hvp(f)(X, W, np.ones(4)),
    lambda f: ps.vmap(ps.grad(f))(np.stack([X, W]), np.stack([W, X])),
    lambda f: ps.grad(lambda x, w: np.sum(ps.vmap(lambda a: f(a, w))(np.stack([x, 2 * x]))))(X, W),
    lambda f: ps.grad(lambda x, w: np.sum(ps.grad(f)(x, w) ** 2))(X, W),
    lambda f: ps.cached(f)(X, W),
    lambda f: ps.split(f, X, W, policy="nothing").joint()(X, W),
    lambda f: ps.split(f, X, W, policy="save_all").joint()(X, W),
]


@pytest.mark.parametrize("transform", TRANSFORMS, ids=range(len(TRANSFORMS)))
def test_every_transform_gives_what_it_gives_of_the_plain_function(transform: Callable[[Any], Any]) -> None:
    found, wanted = (trees.flatten(transform(loss(layer)))[0] for layer in (checkpointed, plain))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("form", ["joint", "split", "functions"])
def test_it_is_written_in_every_form(form: Any, tmp_path: Any) -> None:
    paths = ps.export(loss(checkpointed), X, W, path=str(tmp_path / "f.onnx"), form=form)
    if form != "split":
        wanted = ps.split(loss(plain), X, W).joint()(X, W)
        for a, b in zip(ps.load(paths[0])(X, W), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize(
    "policy",
    [
        "nothing",
        *(pytest.param(p, marks=pytest.mark.slow) for p in ("recompute_cheap", ["e"])),
        lambda op: op.kind == "Exp",
    ],
)
def test_a_second_derivative_keeps_no_more_of_it_than_its_arguments_and_what_the_policy_says(policy: Any) -> None:
    def layer(x: Any, w: Any) -> Any:
        e = np.exp(x * w)
        return np.tanh(np.sin(np.tanh(e * x)) * np.tanh(e))

    def second(layer: Any) -> Any:
        return lambda x, w: np.sum(ps.grad(loss(layer))(x, w) ** 2)

    def kept(layer: Any) -> int:
        return sum(map(int, stored(second(layer), X, W)))

    under = ps.checkpoint(layer, policy=policy)
    if policy != "recompute_cheap":
        # Per call the arguments, the cotangent and what the policy keeps; the last squares.
        assert kept(under) <= 10 * X.nbytes < kept(layer) // 2
    for a, b in zip(*(ps.grad(second(f), wrt=(0, 1))(X, W) for f in (under, layer)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)
    for a, b in zip(*(ps.hessian(second(f))(X, W) for f in (under, layer)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_what_it_computes_without_a_derivative_may_be_an_argument_that_is_not_asked_for() -> None:
    @ps.checkpoint
    def layer(x: Any, k: Any) -> Any:
        return np.tanh(x) * np.abs(np.fft.fft(k))[0]

    np.testing.assert_allclose(ps.grad(lambda x: np.sum(layer(x, W)))(X), (1 - np.tanh(X) ** 2) * abs(np.sum(W)))


def test_the_values_that_it_names_are_kept_too() -> None:
    @ps.checkpoint(policy=["e"])
    def named(x: Any, w: Any) -> Any:
        e = np.exp(x * w)
        return np.tanh(e * x)

    assert len(stored(loss(named), X, W)) == 4
    np.testing.assert_allclose(ps.grad(loss(named))(X, W), ps.grad(loss(plain))(X, W))


def test_a_policy_may_keep_products() -> None:
    @ps.checkpoint(policy=lambda op: op.kind == "MatMul")
    def layer(x: Any, w: Any) -> Any:
        h = x @ w
        return np.tanh(h) * np.exp(h)

    x, w = random.standard_normal((5, 3)), random.standard_normal((3, 3))
    assert stored(lambda x, w: np.sum(layer(x, w)), x, w) == ["120"]


def test_it_may_stand_in_a_loop_and_in_a_branch() -> None:
    def looped(layer: Any) -> Any:
        def function(x: Any, w: Any) -> Any:
            def step(c: Any, _: Any) -> Any:
                return layer(c, w), None

            last, _ = ps.scan(step, x, np.arange(5.0))
            return np.sum(last**2) if np.sum(x) > 0 else np.sum(layer(w, x))

        return function

    for x in (np.abs(X), -np.abs(X)):
        for a, b in zip(*(ps.grad(looped(f), wrt=(0, 1))(x, W) for f in (checkpointed, plain)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11)


def test_it_takes_static_and_nested_arguments_and_reads_values_around_it() -> None:
    def function(a: Any) -> Any:
        outer = np.sin(a)

        @ps.checkpoint
        def inner(p: Any, count: int = 1) -> Any:
            y = p["a"] * outer
            y[0] = y[1]
            for _ in range(count):
                y = np.sin(y)
            return {"y": y}

        return np.sum(inner({"a": a}, count=3)["y"])

    check_grads(function, X)


def test_what_the_examples_of_a_batch_share_stays_shared() -> None:
    """The product with the weights is made again for the whole batch at once."""
    layer = ps.checkpoint(lambda x, w: np.tanh(x @ w))

    def function(x: Any, w: Any) -> Any:
        return ps.vmap(ps.grad(lambda x, w: np.sum(layer(layer(x, w), w))), in_axes=(0, None))(x, w)

    program = ps.trace(function, ps.spec("float64", ["N", 3]), ps.spec("float64", [3, 3]))
    ops = inline_calls(program.block).ops
    again = [op for op in ops if op.kind == "MatMul" and op.remark == "computed again"]
    assert [v.type.rank for op in again for v in op.inputs if v is not None] == [2, 2, 2, 2]


def test_outside_of_a_trace_it_is_the_plain_function() -> None:
    np.testing.assert_array_equal(checkpointed(X, W), plain(X, W))


def test_what_is_drawn_in_it_is_kept() -> None:
    from primsplit.ops import op

    @ps.checkpoint
    def dropped(x: Any) -> Any:
        scale = op.RandomUniformLike(x)
        return np.exp(x) * scale, scale

    value, slope = ps.split(lambda x: dropped(x)[0], X).joint()(X, np.ones(4))
    np.testing.assert_allclose(value, slope)


def test_an_unknown_name_is_told_where_the_function_is_called() -> None:
    layer = ps.checkpoint(plain, policy=["missing"])

    def function(x: Any) -> Any:
        return np.sum(layer(x, x))

    with pytest.raises(SpecError, match=r"keeps 'missing'") as told:
        ps.split(function, X)
    assert told.value.place is not None
    assert "layer(x, x)" in told.value.place.source
    with pytest.raises(SpecError, match="is no policy"):
        ps.checkpoint(plain, policy="all")


def test_two_uses_share_no_size_that_a_branch_makes() -> None:
    """onnxruntime gives values of equally named sizes one buffer: what the branches of two uses keep may differ."""

    def below(s: Any) -> Any:
        return ps.cond(s > -0.5, np.sin, lambda s: s * s, s)

    once = ps.checkpoint(lambda s: ps.cond(s > 0.1, lambda s: np.exp(-(s**2)), below, s))

    def twice(s: Any) -> Any:
        return once(once(s) - 1.0)

    gradient = ps.grad(twice)
    for s in np.linspace(-2.03, 2.0, 12):
        step = 1e-6
        slope = (twice(np.float64(s + step)) - twice(np.float64(s - step))) / (2 * step)
        np.testing.assert_allclose(gradient(np.float64(s)), slope, rtol=1e-6, atol=1e-8)

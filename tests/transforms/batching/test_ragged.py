"""Regions of values whose size differs between examples, one after the other and back again."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op

BATCH = np.random.default_rng(4).standard_normal((4, 3, 2))
Function = Callable[[Any], Any]


def shrunk(x: Any) -> Any:
    """Elements above a half, a tenth as large: the pullback reads where they were."""
    y = x + 0.0
    y[x > 0.5] *= 0.1
    return y


def shrunk_twice(x: Any) -> Any:
    return np.sum(np.cos(shrunk(1.5 * shrunk(x))))


def shrunk_thrice(x: Any) -> Any:
    once = shrunk(x)
    return np.sum(shrunk(np.sin(shrunk(once) + x)) * once)


def picked_between(x: Any) -> Any:
    """A size that differs, made of what came back from another one."""
    total = np.sum(x[x > 0] ** 2)
    moved = shrunk(x * total)
    return np.sum(np.exp(-moved[moved > 0.2])) + np.max(shrunk(moved))


def in_pieces(x: Any) -> Any:
    """Two masks of what was there before either; the second is written over what the first gave."""
    parts = np.piecewise(x, [x > 0.5, x < -0.5], [np.sin, lambda y: y**3, lambda y: -y])
    return np.sum(parts**2)


def product_of_picked(x: Any) -> Any:
    """The pullback of each factor needs the other factor's sum."""
    return np.sum(x[x > 0] ** 2) * np.sum(np.sin(x[x < 0.5]))


def product_of_three(x: Any) -> Any:
    return product_of_picked(x) * product_of_picked(-2.0 * x) * np.sum(np.exp(x[x > -0.5]))


TRANSFORMS: list[tuple[str, Callable[[Function], Function]]] = [
    ("the function", lambda f: f),
    ("its gradient", ps.grad),
    ("its product with a Hessian", lambda f: lambda x: ps.hvp(f)(x, np.ones((3, 2)))),
    ("its tangent", lambda f: lambda x: ps.jvp(f, (x,), (np.ones((3, 2)),))[1]),
]


FUNCTIONS = [shrunk_twice, shrunk_thrice, picked_between, in_pieces, product_of_picked, product_of_three]


@pytest.mark.sweep(24)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("_", "transform"), TRANSFORMS, ids=[name for name, _ in TRANSFORMS])
def test_masks_one_after_the_other_are_each_examples_own(
    function: Function, _: str, transform: Callable[[Function], Function]
) -> None:
    made = transform(function)
    wanted = [ps.trace(made, x)(x) for x in BATCH]
    np.testing.assert_allclose(ps.vmap(made)(BATCH), wanted, rtol=1e-12, atol=1e-12)


def test_a_size_that_differs_is_no_result() -> None:
    with pytest.raises(ps.errors.ShapeError, match="NonZero has no batch"):
        ps.vmap(lambda x: x[shrunk(x) > 0.5])(BATCH)


def bands(count: Any, low: Any) -> Any:
    return op.MelWeightMatrix(count, np.int64(16), np.int64(8192), low, np.float32(4000))


def window(count: Any, scale: Any) -> Any:
    return op.HannWindow(count) * scale


@pytest.mark.parametrize("function", [bands, window])
def test_a_count_that_differs_is_refused_as_a_size_and_may_be_summed_over(function: Any) -> None:
    counts, others = np.array([4, 6]), np.array([10, 12], np.float32)
    with pytest.raises(ps.errors.ShapeError, match=r"would differ between examples[^?]*in_axes=None"):
        ps.vmap(function)(counts, others)
    summed = [ps.trace(function, n, x)(n, x).sum() for n, x in zip(counts, others, strict=True)]
    np.testing.assert_allclose(ps.vmap(lambda n, x: function(n, x).sum())(counts, others), summed, rtol=1e-6)
    program = ps.trace(ps.vmap(function, in_axes=(None, 0)), ps.spec("int64", []), others)
    for count in counts:
        wanted = [ps.trace(function, count, x)(count, x) for x in others]
        np.testing.assert_allclose(program(count, others), wanted, rtol=1e-6)


def test_the_numbers_of_very_many_examples_are_not_written_out() -> None:
    """A file of a few lines may say that there are billions."""
    given = ps.spec("float32", [2**31, 3])
    made = ps.trace(ps.vmap(lambda x: op.ScatterND(x, np.array([[1]]), x[:1])), given)
    assert sum(len(tensor.raw_data) for tensor in made.to_onnx().graph.initializer) < 1000


@ps.primitive
def above(x: Any) -> Any:
    return np.exp(x[x > 0])


WITHIN: dict[str, tuple[Function, tuple[str, ...]]] = {
    "a branch": (
        lambda x: np.sum(np.exp(x[x > 0])) if x[0, 0] > 0 else np.sum(x[x < 0] ** 2),
        ("the function", "its gradient"),
    ),
    "a branch of a branch": (
        lambda x: ps.cond(
            x[0, 1] > 0, lambda x: np.sum(ps.cond(x[0, 0] > 0, lambda x: x[x > 0], lambda x: x[x < 0], x)), np.sum, x
        ),
        ("the function", "its gradient"),
    ),
    "a call": (lambda x: np.sum(above(x) ** 2), ("the function", "its gradient")),
    "a loop": (
        lambda x: np.sum(ps.fori_loop(0, 2, lambda i, c: np.concatenate([c, x[x > i]]), x[0])),
        ("the function",),
    ),
}


@pytest.mark.parametrize(("name", "asked"), [(name, t) for name, (_, kinds) in WITHIN.items() for t in kinds])
def test_sizes_that_differ_inside_of_an_op_are_taken_example_by_example(name: str, asked: str) -> None:
    """The op and what reads its results become one op for each example."""
    function = dict(TRANSFORMS)[asked](WITHIN[name][0])
    np.testing.assert_allclose(ps.vmap(function)(BATCH), np.stack([function(x) for x in BATCH]), rtol=1e-12)

"""Normalizations: statistics as outputs, training mode, narrow dtypes, symbolic sizes, and PyTorch's numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError
from primsplit.onnx.definitions.families import record_call
from primsplit.ops import op
from primsplit.testing import check_rrule
from tests.rules.checks import check_derivative
from tests.rules.rows import Row, rows_of

POSITIVE = (0.3, 2.5)
UNIT = (-2.0, 2.0)
CHECKS = ["form", "closed", "primal", "differences", "linear", "repeat", "subset", "sizes", "second_order", "files"]


def sample(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def in_training(x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
    """Batch normalization of the standard in training mode, traced or in plain NumPy."""
    if isinstance(x, ps.Array):
        return op.BatchNormalization(
            x, scale, bias, mean, variance, epsilon=1e-3, momentum=0.75, training_mode=1, outputs=3
        )
    axes = (0, *range(2, x.ndim))
    shape = (-1, *(1,) * (x.ndim - 2))
    batch_mean, batch_variance = x.mean(axes), x.var(axes)
    centred = x - batch_mean.reshape(shape)
    y = centred / np.sqrt(batch_variance.reshape(shape) + 1e-3) * scale.reshape(shape) + bias.reshape(shape)
    return y, 0.75 * mean + 0.25 * batch_mean, 0.75 * variance + 0.25 * batch_variance


@pytest.mark.parametrize("shape", [(3, 2, 4), (5, 2), (2, 2, 2, 3)])
def test_the_gradient_of_training_mode_flows_through_the_statistics_of_the_batch(shape: tuple[int, ...]) -> None:
    channels = [ps.spec("float64", [2])] * 4
    only = [c for c in CHECKS if c != "primal"]
    domain: list[Any] = [UNIT, UNIT, UNIT, UNIT, POSITIVE]
    check_rrule(in_training, ps.spec("float64", shape), *channels, domain=domain, only=only, sizes=(1,))


@pytest.mark.parametrize(("scales", "biases"), [(1, 3), (3, 1), (1, 1), (3, 3)])
def test_one_scale_or_bias_for_all_channels_of_groups_gets_the_sum(scales: int, biases: int) -> None:
    x, scale, bias, dy = sample(2, 3, 4), sample(scales, seed=1), sample(biases, seed=2), sample(2, 3, 4, seed=3)
    specs = [ps.spec("float32", s) for s in (["N", "C", "L"], ["A"], ["B"], ["N", "C", "L"])]
    split = ps.split(lambda *given: op.GroupNormalization(*given, num_groups=1, epsilon=1e-3), *specs[:3]).joint()
    _, _, d_scale, d_bias = split(x, scale, bias, dy)
    centred = x - x.mean((1, 2), keepdims=True)
    normalized = centred / np.sqrt(x.var((1, 2), keepdims=True) + 1e-3)
    for found, each in ((d_scale, (dy * normalized).sum((0, 2))), (d_bias, dy.sum((0, 2)))):
        wanted = each if found.shape == (3,) else each.sum(keepdims=True)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert (d_scale.shape, d_bias.shape) == (scale.shape, bias.shape)


@pytest.mark.parametrize("shape", [(1, 2), (3, 1), (1, 1), (3, 2)])
def test_what_a_scale_of_rms_stretches_has_the_sum_as_its_gradient(shape: tuple[int, int]) -> None:
    x, scale, dy = sample(*shape, dtype=float), sample(3, 2, dtype=float, seed=1), sample(3, 2, dtype=float, seed=2)
    specs = ps.spec("float64", ["N", "L"]), ps.spec("float64", ["A", "B"])

    def rms(x: Any, scale: Any) -> Any:
        return ps.Array(record_call("RMSNormalization", [x.value, scale.value], {"epsilon": 0.25})[0])

    _, dx, d_scale = ps.split(rms, *specs).joint()(x, scale, dy)

    def loss(x: Any, scale: Any) -> Any:
        return (x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.25) * scale * dy).sum()

    for found, at, moved in ((dx, x, lambda v: loss(v, scale)), (d_scale, scale, lambda v: loss(x, v))):
        units = np.eye(at.size).reshape(-1, *at.shape) * 1e-6
        wanted = [(moved(at + u) - moved(at - u)) / 2e-6 for u in units]
        np.testing.assert_allclose(found, np.reshape(wanted, at.shape), rtol=1e-6, atol=1e-8)


def test_the_running_statistics_of_the_caller_are_not_written_over() -> None:
    x, scale, bias = sample(3, 2, 4), sample(2, seed=1), sample(2, seed=2)
    mean, variance = sample(2, seed=3), np.ones(2, np.float32)
    split = ps.split(in_training, x, scale, bias, mean, variance).joint()
    given = [a.copy() for a in (x, scale, bias, mean, variance)]
    ones = (np.ones_like(x), np.ones_like(mean), np.ones_like(mean))
    first = split(*given, *ones)
    second = split(*given, *ones)
    for array, kept in zip(given, (x, scale, bias, mean, variance), strict=True):
        np.testing.assert_array_equal(array, kept)
    for one, other, wanted in zip(first[:3], second[:3], in_training(x, scale, bias, mean, variance), strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, wanted, rtol=1e-5, atol=1e-6)


def test_a_program_in_training_mode_leaves_the_running_statistics_that_it_is_given_alone() -> None:
    given = sample(3, 2, 4), sample(2, seed=1), sample(2, seed=2), sample(2, seed=3), np.ones(2, np.float32)
    kept = [a.copy() for a in given]
    program = ps.trace(in_training, *given)
    for _ in range(2):
        for value, wanted in zip(program(*given), in_training(*kept), strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)
    for array, before in zip(given, kept, strict=True):
        np.testing.assert_array_equal(array, before)


def test_the_statistics_of_layer_normalization_have_gradients() -> None:
    x = sample(3, 4)

    def of_mean(x: ps.Array) -> ps.Array:
        return (op.LayerNormalization(x, np.ones(4, np.float32), outputs=3)[1] * np.array([[1], [2], [3]], "f")).sum()

    np.testing.assert_allclose(ps.grad(of_mean)(x), np.repeat([[0.25], [0.5], [0.75]], 4, 1), rtol=1e-6)

    def of_scale(x: ps.Array) -> ps.Array:
        return op.LayerNormalization(x, np.ones(4, np.float32), epsilon=0.5, outputs=3)[2].sum()

    wide = x.astype(np.float64)
    centred = wide - wide.mean(1, keepdims=True)
    wanted = -centred / 4 * (wide.var(1, keepdims=True) + 0.5) ** -1.5
    np.testing.assert_allclose(ps.grad(of_scale)(x), wanted, rtol=1e-4, atol=1e-6)


def layer(x: ps.Array, scale: ps.Array) -> ps.Array:
    y: ps.Array = op.LayerNormalization(x, scale)
    return y


def instance(x: ps.Array, scale: ps.Array) -> ps.Array:
    y: ps.Array = op.InstanceNormalization(x, scale, scale)
    return y


def group(x: ps.Array, scale: ps.Array) -> ps.Array:
    y: ps.Array = op.GroupNormalization(x, scale, scale, num_groups=2)
    return y


def batch(x: ps.Array, scale: ps.Array) -> ps.Array:
    y: ps.Array = op.BatchNormalization(x, scale, scale, scale * 0.0, scale * scale)
    return y


@pytest.mark.parametrize("normalize", [layer, instance, group, batch], ids=lambda f: f.__name__)
def test_statistics_of_float16_are_computed_in_float32(normalize: Callable[..., Any]) -> None:
    x, scale = sample(2, 4, 4) * 100, np.abs(sample(4, seed=1)) + 0.5
    weights = sample(2, 4, 4, seed=2)

    def total(x: ps.Array, scale: ps.Array) -> ps.Array:
        return (normalize(x, scale) * weights.astype(x.dtype)).sum()

    wanted = ps.grad(total, wrt=(0, 1))(x, scale)
    found = ps.grad(total, wrt=(0, 1))(x.astype(np.float16), scale.astype(np.float16))
    assert [g.dtype for g in found] == [np.float16, np.float16]
    for got, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, expected, rtol=2e-2, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize("size", [0, 1, 3])
@pytest.mark.parametrize("normalize", [layer, instance, batch], ids=lambda f: f.__name__)
def test_the_batch_may_be_a_symbol(normalize: Callable[..., Any], size: int) -> None:
    def squares(x: ps.Array, scale: ps.Array) -> ps.Array:
        return (normalize(x, scale) ** 2).sum()

    specs = ps.spec("float32", ["N", 4, 4]), ps.spec("float32", [4])
    program = ps.split(squares, *specs).joint()
    x, scale = sample(size, 4, 4), np.ones(4, np.float32)
    *_, dx, d_scale = program(x, scale)
    assert dx.shape == x.shape
    if size:
        literal = ps.grad(squares, wrt=(0, 1))(x, scale)
        np.testing.assert_allclose(dx, literal[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(d_scale, literal[1], rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(d_scale, np.zeros(4))


@pytest.mark.parametrize("p", [1, 2])
def test_a_zero_vector_has_gradient_zero_under_lp_normalization(p: int) -> None:
    x = np.array([[0.0, 0.0], [3.0, 4.0]])
    found = ps.grad(lambda x: op.LpNormalization(x, p=p)[:, 0].sum())(x)
    wanted = [[0, 0], [16 / 125, -12 / 125]] if p == 2 else [[0, 0], [4 / 49, -3 / 49]]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_constant_image_has_a_finite_gradient_under_mean_variance_normalization() -> None:
    found = ps.grad(lambda x: (op.MeanVarianceNormalization(x, axes=[1]) * np.arange(3.0)).sum())(np.ones((2, 3)))
    np.testing.assert_allclose(found, np.tile([-1e9, 0.0, 1e9], (2, 1)), rtol=1e-9)


def test_batch_normalization_without_channels_is_refused_at_the_users_line() -> None:
    ones = np.ones(1)
    with pytest.raises(PrimsplitError, match="axis of channels") as caught:
        ps.grad(lambda x: op.BatchNormalization(x, ones, ones, ones, ones).sum())(np.ones(3))
    assert "test_normalization.py" in str(caught.value)


def test_gradients_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    x, scale, bias = sample(3, 4, 5, dtype=np.float64), sample(4, dtype=np.float64, seed=1), sample(4, dtype=np.float64)
    weights = sample(3, 4, 5, dtype=np.float64, seed=4)
    mean, variance = np.zeros(4), np.ones(4)
    cases: list[tuple[Any, Any]] = [
        (
            lambda x, s, b: in_training(x, s, b, mean, variance)[0],
            lambda x, s, b: functional.batch_norm(x, None, None, s, b, training=True, eps=1e-3),
        ),
        (
            lambda x, s, b: op.InstanceNormalization(x, s, b),
            lambda x, s, b: functional.instance_norm(x, weight=s, bias=b),
        ),
        (
            lambda x, s, b: op.GroupNormalization(x, s, b, num_groups=2),
            lambda x, s, b: functional.group_norm(x, 2, s, b),
        ),
        (
            lambda x, s, b: op.LRN(x * s[:, None] + b[:, None], size=3, alpha=0.5),
            lambda x, s, b: functional.local_response_norm(x * s[:, None] + b[:, None], 3, alpha=0.5),
        ),
    ]
    for ours, theirs in cases:
        found = ps.grad(lambda *xs, f=ours: (f(*xs) * weights).sum(), wrt=(0, 1, 2))(x, scale, bias)
        tensors = [torch.tensor(a, requires_grad=True) for a in (x, scale, bias)]
        (theirs(*tensors) * torch.tensor(weights)).sum().backward()
        for got, tensor in zip(found, tensors, strict=True):
            np.testing.assert_allclose(got, tensor.grad.numpy(), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("row", rows_of("normalization"), ids=str)
def test_a_rule_gives_the_derivative_in_its_promised_form(row: Row) -> None:
    check_derivative(row)

"""Operators that onnxruntime before 1.31 lacks or computes wrongly are replaced; the values are the standard's."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.ops import op

rng = np.random.default_rng(5)
SIGNAL, STACK = rng.standard_normal((2, 12, 2)), rng.standard_normal((3, 4, 5))


def nodes(program: ps.Program) -> list[onnx.NodeProto]:
    return list(program.to_onnx().graph.node)


@pytest.mark.parametrize("largest", [1e-3, 3.0, 1e2, 1e6, 1e12])
def test_a_float64_cosine_is_made_of_sines_to_fifteen_digits(largest: float) -> None:
    program = ps.trace(np.cos, ps.spec("float64", ["N"]))
    assert {n.op_type for n in nodes(program)} == {"Mul", "Sin", "Sub"}
    x = rng.uniform(-largest, largest, 2000)
    np.testing.assert_allclose(program(x), np.cos(x), rtol=0, atol=2e-15)
    np.testing.assert_array_equal(program(np.array([0.0, -0.0, np.inf, np.nan])), [1, 1, np.nan, np.nan])


def test_a_float32_cosine_is_the_operator() -> None:
    assert [n.op_type for n in nodes(ps.trace(np.cos, ps.spec("float32", ["N"])))] == ["Cos"]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize(
    "function", [np.add, np.subtract, np.multiply, np.equal, np.less, np.less_equal, np.greater, np.greater_equal]
)
def test_arithmetic_of_narrow_integers_wraps_as_numpys(function: Callable[..., Any], dtype: str) -> None:
    ends = np.iinfo(dtype)
    numbers = np.array([ends.min, ends.min + 1, 0, 1, 3, ends.max - 1, ends.max], dtype)
    a, b = (v.ravel() for v in np.meshgrid(numbers, numbers))
    program = ps.trace(function, a, b)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(program(a, b), function(a, b))
    wide = {n.op_type for n in nodes(program)}
    assert "Cast" in wide, "the operator itself has no such kernel in onnxruntime 1.20"


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "uint64"])
def test_division_of_narrow_and_unsigned_integers_is_numpys(dtype: str) -> None:
    ends = np.iinfo(dtype)
    numbers = np.array([ends.min, 1, 2, 3, ends.max // 2, ends.max // 2 + 1, ends.max - 1, ends.max], dtype)
    a, b = (v.ravel() for v in np.meshgrid(numbers, numbers[numbers != 0]))
    wanted = np.array([int(Fraction(int(m), int(n))) for m, n in zip(a, b, strict=True)], dtype)
    np.testing.assert_array_equal(ps.trace(lambda a, b: op.Div(a, b), a, b)(a, b), wanted)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_blocks_of_bytes_are_moved_into_depth_and_back(dtype: str, mode: str) -> None:
    x = np.arange(-48, 48).astype(dtype).reshape(1, 8, 3, 4)
    program = ps.trace(lambda x: op.DepthToSpace(x, blocksize=2, mode=mode), x)
    shape, order = (
        ((1, 2, 2, 2, 3, 4), (0, 3, 4, 1, 5, 2)) if mode == "DCR" else ((1, 2, 2, 2, 3, 4), (0, 1, 4, 2, 5, 3))
    )
    wanted = x.reshape(shape).transpose(order).reshape(1, 2, 6, 8)
    np.testing.assert_array_equal(program(x), wanted)
    back = ps.trace(lambda x: op.SpaceToDepth(op.DepthToSpace(x, blocksize=2), blocksize=2), x)
    np.testing.assert_array_equal(back(x), x)


@pytest.mark.parametrize(
    "product",
    [
        lambda x: x @ np.swapaxes(x, -1, -2),
        lambda x: np.swapaxes(x, -1, -2) @ x,
        lambda x: np.swapaxes(x, -1, -2) @ np.ones((4, 2)),
        lambda x: x @ np.ones((5, 2)) + 0.5 * (x @ np.ones((5, 2))),
    ],
)
@pytest.mark.parametrize("size", ["B", 3])
def test_a_transpose_does_not_meet_a_float64_product_of_stacks(product: Callable[..., Any], size: Any) -> None:
    """onnxruntime before 1.26 fuses the two into an operator that it has no float64 kernel of."""
    made = ps.split(lambda x: np.sum(product(x) ** 2), ps.spec("float64", [size, 4, 5])).joint()
    makers = {o: n.op_type for n in nodes(made) for o in n.output}
    products = [n for n in nodes(made) if n.op_type == "MatMul"]
    assert products
    assert not any(makers.get(i) == "Transpose" for n in products for i in n.input)
    value, slope = made(STACK)
    np.testing.assert_allclose(value, np.sum(product(STACK) ** 2), rtol=1e-13)
    line, step = rng.standard_normal(STACK.shape), 1e-5
    ends = [np.sum(product(STACK + h * line) ** 2) for h in (step, -step)]
    np.testing.assert_allclose(np.sum(slope * line), (ends[0] - ends[1]) / (2 * step), rtol=1e-7)


def swapped(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


@pytest.mark.parametrize(
    "left",
    [
        lambda a, b: np.exp(swapped(a)),
        lambda a, b: swapped(a) * swapped(b),
        lambda a, b: np.where(swapped(a) > 0, swapped(a), swapped(b)),
        lambda a, b: np.tanh(swapped(a) * swapped(b)) * 0.3 + 1,
        lambda a, b: swapped(a) / np.sum(np.abs(swapped(b)), -1, keepdims=True),
        lambda a, b: np.concatenate([swapped(a), swapped(b)], -2)[..., 1:, :],
    ],
)
@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 3)])
def test_a_transpose_that_is_moved_does_not_meet_a_float64_product(left: Any, shape: tuple[int, ...]) -> None:
    """onnxruntime before 1.26 moves Transposes past what lies between, to where two meet or to the product."""
    a, b, c = (rng.standard_normal((*shape[:-1], n)) for n in (3, 3, 5))

    def function(a: Any, b: Any, c: Any) -> Any:
        return left(a, b) @ c

    made = ps.split(function, a, b, c, seed="ones").joint()
    makers = {o: n for n in nodes(made) for o in n.output}
    for product in (n for n in nodes(made) if n.op_type == "MatMul"):
        beside = {makers[i].op_type for i in product.input if i in makers}
        assert len(shape) == 3
        assert beside <= {"Squeeze", "MatMul", "Reshape"}
    value, *_ = made(a, b, c)
    np.testing.assert_allclose(value, function(a, b, c), rtol=1e-13, atol=1e-14)
    ps.testing.check_grads(function, a, b, c, order=1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_reversal_reads_a_length_of_0(dtype: str) -> None:
    """onnxruntime before 1.28 writes nothing there."""

    def reversed_to(x: Any, lengths: Any) -> Any:
        return op.ReverseSequence(x, lengths, time_axis=0, batch_axis=1)

    made = ps.split(reversed_to, ps.spec(dtype, ["T", "N", 2]), ps.spec("int64", ["N"]), wrt="x").joint()
    makers = {o: n.op_type for n in nodes(made) for o in n.output}
    assert {makers.get(n.input[1]) for n in nodes(made) if n.op_type == "ReverseSequence"} == {"Where"}
    x, seed = rng.standard_normal((2, 3, 4, 2)).astype(dtype)
    lengths = np.array([2, 0, 3, 1])
    back = np.stack([np.concatenate([x[:n, i][::-1], x[n:, i]]) for i, n in enumerate(lengths)], 1)
    slope = np.stack([np.concatenate([seed[:n, i][::-1], seed[n:, i]]) for i, n in enumerate(lengths)], 1)
    for found, wanted in zip(made(x, lengths, seed), (back, slope), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_reversal_of_lengths_that_are_known_to_be_positive_stays_as_it_is() -> None:
    program = ps.trace(lambda x: op.ReverseSequence(x, np.array([2, 1]), time_axis=0, batch_axis=1), SIGNAL[..., 0].T)
    assert [n.op_type for n in nodes(program)] == ["ReverseSequence"]


@pytest.mark.parametrize("axis", [0, 1, -2, -3])
@pytest.mark.parametrize("size", [2, 3, 6])
def test_the_inverse_of_half_a_spectrum_is_numpys_along_an_axis_that_the_run_tells(axis: int, size: int) -> None:
    shape = [3, 4]
    shape[axis % 3] = 2 * (size - 1)
    real = rng.standard_normal(shape)
    spectrum = np.fft.rfft(real, axis=axis % 3)
    pairs = np.stack([spectrum.real, spectrum.imag], -1)
    specs = ps.spec("float64", ["A", "B", 2]), ps.spec("int64", [])
    program = ps.trace(lambda x, a: op.DFT(x, None, a, inverse=1, onesided=1), *specs)
    assert not any(a.name == "onesided" and a.i for n in nodes(program) for a in n.attribute)
    np.testing.assert_allclose(program(pairs, np.int64(axis))[..., 0], real, rtol=0, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, -2])
@pytest.mark.parametrize("size", [2, 3, 6])
def test_the_inverse_of_half_a_spectrum_is_numpys(axis: int, size: int) -> None:
    count = 2 * (size - 1)
    shape = [3, 4, 2]
    shape[axis] = count
    real = rng.standard_normal(shape[:-1])
    spectrum = np.fft.rfft(real, axis=axis % 3)
    pairs = np.stack([spectrum.real, spectrum.imag], -1)
    program = ps.trace(lambda x: op.DFT(x, None, np.int64(axis), inverse=1, onesided=1), pairs)
    whole = [n for n in nodes(program) if n.op_type == "DFT"]
    assert not any(a.name == "onesided" and a.i for n in whole for a in n.attribute)
    # onnxruntime rounds 1 / length to float32.
    np.testing.assert_allclose(program(pairs)[..., 0], real, rtol=0, atol=1e-6)


def ranks_of_transforms(program: ps.Program) -> list[int]:
    graph = onnx.shape_inference.infer_shapes(program.to_onnx()).graph
    ranks = {v.name: len(v.type.tensor_type.shape.dim) for v in (*graph.input, *graph.value_info)}
    return [ranks[n.input[0]] for n in graph.node if n.op_type == "DFT"]


@pytest.mark.parametrize("axis", [None, 0, -2])
@pytest.mark.parametrize("attributes", [{}, {"inverse": 1}, {"onesided": 1}])
@pytest.mark.parametrize("length", [None, 4])
def test_one_signal_is_transformed_as_a_batch_of_one(
    axis: int | None, attributes: dict[str, int], length: int | None
) -> None:
    """onnxruntime before 1.28 gives it another shape."""
    x = rng.standard_normal((8, 1 if "onesided" in attributes else 2))
    given = [None if v is None else np.int64(v) for v in (length, axis)]
    program = ps.trace(lambda x: op.DFT(x, *given, **attributes), ps.spec("float64", ["N", x.shape[1]]))
    assert ranks_of_transforms(program) == [3]
    whole = x[:, 0] if x.shape[1] == 1 else x[:, 0] + 1j * x[:, 1]
    wanted = {"": np.fft.fft, "inverse": np.fft.ifft, "onesided": np.fft.rfft}["".join(attributes)](whole, length)
    found = program(x)
    np.testing.assert_allclose(found[:, 0] + 1j * found[:, 1], wanted, rtol=1e-6, atol=1e-6)


def test_the_inverse_of_half_a_spectrum_of_one_signal_is_numpys() -> None:
    real = rng.standard_normal(6)
    spectrum = np.fft.rfft(real)
    pairs = np.stack([spectrum.real, spectrum.imag], -1)
    program = ps.trace(lambda x: op.DFT(x, inverse=1, onesided=1), pairs)
    assert ranks_of_transforms(program) == [3]
    np.testing.assert_allclose(program(pairs)[:, 0], real, rtol=0, atol=1e-6)


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("has_window", [True, False])
def test_frames_of_a_complex_signal_are_transformed_as_numpy_does(step: int, has_window: bool) -> None:
    window = rng.uniform(0.5, 1, 5) if has_window else None
    length = None if has_window else np.int64(5)
    program = ps.trace(lambda s: op.STFT(s, np.int64(step), window, length, onesided=0), SIGNAL)
    assert "STFT" not in {n.op_type for n in nodes(program)}
    whole = SIGNAL[..., 0] + 1j * SIGNAL[..., 1]
    frames = np.lib.stride_tricks.sliding_window_view(whole, 5, axis=1)[:, ::step]
    wanted = np.fft.fft(frames if window is None else frames * window)
    found = program(SIGNAL)
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("align_corners", [0, 1])
@pytest.mark.parametrize("spatial", [(4, 5), (1, 3), (2, 3, 4)])
def test_a_float64_grid_has_all_its_digits(spatial: tuple[int, ...], align_corners: int) -> None:
    rank = len(spatial)
    theta, size = rng.standard_normal((2, rank, rank + 1)), np.array([2, 3, *spatial])
    program = ps.trace(lambda t, s: op.AffineGrid(t, s, align_corners=align_corners), theta, size)
    assert "AffineGrid" not in {n.op_type for n in nodes(program)}
    along = [
        (np.linspace(-1, 1, n) if n > 1 else np.ones(1)) if align_corners else (2 * np.arange(n) + 1) / n - 1
        for n in spatial
    ]
    places = np.stack([*np.meshgrid(*along, indexing="ij")[::-1], np.ones(spatial)], -1)
    np.testing.assert_allclose(
        program(theta, size), np.einsum("nij,...j->n...i", theta, places), rtol=1e-13, atol=1e-14
    )


def test_a_float64_group_normalization_is_not_stashed_in_float32() -> None:
    x = rng.standard_normal((2, 4, 3))
    program = ps.trace(lambda x: op.GroupNormalization(x, np.ones(4), np.zeros(4), num_groups=2), x)
    groups = x.reshape(2, 2, 6)
    wanted = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 1e-5)
    np.testing.assert_allclose(program(x), wanted.reshape(x.shape), rtol=1e-12, atol=1e-13)


def test_padding_that_an_average_counts_is_padded_before() -> None:
    x = rng.standard_normal((2, 2, 5, 4)).astype(np.float32)
    attributes = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1], "count_include_pad": 1}
    program = ps.trace(lambda x: op.AveragePool(x, **attributes), x)
    assert [n.op_type for n in nodes(program)] == ["Pad", "AveragePool"]
    wide = np.pad(x, [(0, 0), (0, 0), (1, 1), (0, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 2), axis=(2, 3))[:, :, ::2]
    np.testing.assert_allclose(program(x), windows.mean((-2, -1)), rtol=1e-5, atol=1e-6)

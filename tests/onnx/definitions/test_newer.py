"""Operators of opsets above the written one: values of onnx's reference, gradients of first and second order."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper

from primsplit import spec, split, trace
from primsplit.ir.errors import PrimsplitError
from primsplit.testing import check_grads
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.standard import evaluated, operator

rng = np.random.default_rng(7)
draw = drawing(rng, "float64")


def swish(x: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    return x / (1 + np.exp(-alpha * x))


def swiglu(a: np.ndarray, b: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    return swish(a, alpha) * b


def rms(x: np.ndarray, scale: np.ndarray, axis: int = -1, epsilon: float = 1e-5) -> np.ndarray:
    axes = tuple(range(axis % x.ndim, x.ndim))
    return x / np.sqrt(np.mean(x * x, axis=axes, keepdims=True) + epsilon) * scale


def convolved(activation: str) -> Callable[..., Any]:
    def reference(x: Any, weight: Any, bias: Any = None, state: Any = None, **_: Any) -> tuple[np.ndarray, np.ndarray]:
        made, after = evaluated("CausalConvWithState", (x, weight, bias, state), {}, 2)
        return (made if activation == "none" else swish(made)), after

    return reference


def floored(a: np.ndarray, b: np.ndarray, fmod: int = 0) -> np.ndarray:
    return np.fmod(a, b) if fmod else np.mod(a, b)


ZEROS = np.array([[1.5, 0.0, -2.0, 3.0], [0.5, 0.0, 0.0, 2.0], [-1.0, 2.0, 0.25, 0.0]])
INDEX = np.array([[0, 3, 1], [5, 2, 2]])
ROTARY: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "halves": ([draw(2, 2, 3, 4), draw(2, 3, 2), draw(2, 3, 2)], {}),
    "neighbours": ([draw(2, 2, 3, 4), draw(2, 3, 2), draw(2, 3, 2)], {"interleaved": 1}),
    "caches": ([draw(2, 2, 3, 4), draw(6, 2), draw(6, 2), INDEX], {}),
    "packed": ([draw(2, 3, 8), draw(2, 3, 2), draw(2, 3, 2)], {"num_heads": 2}),
    "packed, a part": ([draw(2, 3, 8), draw(6, 1), draw(6, 1), INDEX], {"num_heads": 2, "rotary_embedding_dim": 2}),
    "neighbours, a part": (
        [draw(2, 2, 3, 6), draw(2, 3, 2), draw(2, 3, 2)],
        {"interleaved": 1, "rotary_embedding_dim": 4},
    ),
}
STATE, KERNEL = draw(2, 3, 2), draw(3, 1, 3)
CASES: dict[str, tuple[str, list[Any], dict[str, Any], int, Callable[..., Any] | None]] = {
    "Swish": ("Swish", [draw(3, 4)], {}, 1, swish),
    "Swish, alpha": ("Swish", [draw(3, 4)], {"alpha": 1.5}, 1, swish),
    "SwiGLU": ("SwiGLU", [draw(3, 4), draw(3, 4)], {"alpha": 0.5}, 1, swiglu),
    "RMSNormalization": ("RMSNormalization", [draw(2, 3, 4), draw(4)], {"epsilon": 0.125}, 1, rms),
    "RMSNormalization of two axes": (
        "RMSNormalization", [draw(2, 3, 4), draw(3, 1)], {"axis": 1, "epsilon": 0.5}, 1, rms
    ),
    "RMSNormalization of all": ("RMSNormalization", [draw(2, 3), draw(1)], {"axis": -2, "epsilon": 0.5}, 1, rms),
    **{f"RotaryEmbedding, {k}": ("RotaryEmbedding", i, a, 1, None) for k, (i, a) in ROTARY.items()},
    "TensorScatter": ("TensorScatter", [draw(2, 5, 3), draw(2, 2, 3)], {}, 1, None),
    "TensorScatter at places": ("TensorScatter", [draw(2, 2, 5, 3), draw(2, 2, 2, 3), np.array([1, 3])], {}, 1, None),
    "TensorScatter along another axis": (
        "TensorScatter", [draw(2, 5, 2, 3), draw(2, 2, 2, 3), np.array([0, 3])], {"axis": 1}, 1, None
    ),
    "TensorScatter around": (
        "TensorScatter", [draw(2, 5, 3), draw(2, 3, 3), np.array([4, 3])], {"mode": "circular"}, 1, None
    ),
    "CausalConvWithState": ("CausalConvWithState", [draw(2, 3, 5), KERNEL], {}, 2, convolved("none")),
    "CausalConvWithState after a state": (
        "CausalConvWithState", [draw(2, 3, 5), KERNEL, draw(3), STATE], {"activation": "silu"}, 2, convolved("silu")
    ),
    "CausalConvWithState of a short input": (
        "CausalConvWithState", [draw(2, 3, 1), draw(3, 1, 4), draw(3), draw(2, 3, 3)], {}, 2, convolved("none")
    ),
    "CausalConvWithState of one column": (
        "CausalConvWithState", [draw(2, 3, 4), draw(3, 1, 1)], {}, 2, convolved("none")
    ),
    "Mod, rounded down": ("Mod", [np.array([[7.3], [-7.3]]), np.array([2.0, -3.0])], {"fmod": 0}, 1, floored),
    "Mod, rounded to zero": ("Mod", [np.array([[7.3], [-7.3]]), np.array([2.0, -3.0])], {"fmod": 1}, 1, floored),
    "SpaceToDepth by channels": ("SpaceToDepth", [draw(2, 3, 4, 6)], {"blocksize": 2, "mode": "CRD"}, 1, None),
    "SpaceToDepth by blocks": ("SpaceToDepth", [draw(2, 3, 4, 6)], {"blocksize": 2, "mode": "DCR"}, 1, None),
}  # fmt: skip
KNOWN = ("CausalConv", "SpaceToDepth", "Mod")
"""Begins of names whose sizes are not all made symbols: a number of channels, or of values, must be known."""


@pytest.mark.parametrize("name", CASES)
def test_the_value_is_the_standards_and_the_gradient_that_of_differences(name: str) -> None:
    kind, inputs, attributes, outputs, reference = CASES[name]
    function = operator(kind, outputs=outputs, reference=reference, **attributes)
    # Of a head without features no part can be turned.
    resize = (1,) if name.endswith("a part") else (1, 0)
    check_grads(function, *inputs, symbolic=not name.startswith(KNOWN), resize=resize)


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("axis", [0, -1])
def test_a_running_product_has_the_right_gradient_at_zeros(axis: int, exclusive: int, reverse: int) -> None:
    product = operator("CumProd", exclusive=exclusive, reverse=reverse)
    twice = axis == 0 and exclusive == reverse == 1
    check_grads(lambda x: product(x, np.array(axis)), ZEROS, order=1 + twice, symbolic=twice)


def test_a_running_product_of_nothing_is_nothing() -> None:
    product = operator("CumProd", exclusive=1, reverse=1)
    made = trace(lambda x: product(x, np.array(0)), spec("float64", ["N", 3]))
    for count in (0, 1, 70):
        x = rng.uniform(0.5, 1.5, (count, 3))
        np.testing.assert_allclose(made(x), product(x, np.array(0)), rtol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_a_running_product_along_an_axis_that_only_the_run_knows(axis: int) -> None:
    product = operator("CumProd", exclusive=1, reverse=1)
    check_grads(product, ZEROS, np.array(axis, np.int32), symbolic=False, order=1)


def test_the_number_of_columns_of_a_causal_convolution_may_be_a_symbol() -> None:
    function = operator("CausalConvWithState", outputs=2, reference=convolved("none"), absent=(2,))
    program = trace(function, spec("float64", ["B", 3, "L"]), KERNEL, spec("float64", ["B", 3, 2]))
    for length in (1, 2, 9):
        given = draw(2, 3, length), KERNEL, draw(2, 3, 2)
        for found, expected in zip(program(*given), function(*given), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_norm_of_narrow_numbers_is_taken_in_float32(dtype: type) -> None:
    x = (draw(3, 64) * 300).astype(dtype)
    scale = np.ones(64, np.float32)
    y, dx, _ = split(operator("RMSNormalization"), x, scale).joint()(x, scale, np.ones((3, 64), np.float32))
    wide, ones = x.astype(np.float64), np.ones(64)
    expected = split(operator("RMSNormalization"), wide, ones).joint()(wide, ones, np.ones((3, 64)))
    assert (y.dtype, dx.dtype) == (np.float32, dtype)
    np.testing.assert_allclose(y, expected[0], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(dx, expected[1], rtol=1e-2, atol=1e-5)


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16])
def test_bits_move_as_the_standard_says_for_any_number_of_places(dtype: Any, direction: str) -> None:
    count = 8 * np.dtype(dtype).itemsize
    x = np.array([-100, 77, -1, 3, -8, 4, -5, 6]).astype(dtype)
    places = np.array([0, 1, count - 1, 2, count, count + 1, -1, -count]).astype(dtype)
    expected = []
    for number, place in zip(x.tolist(), places.tolist(), strict=True):
        far = place < 0 or place >= count
        moved = (0 if far else number << place) if direction == "LEFT" else number >> (2 * count if far else place)
        expected.append(moved)
    wanted = np.array([e % 2**count for e in expected], f"uint{count}").astype(dtype)
    found = trace(operator("BitShift", direction=direction), x, places)(x, places)
    np.testing.assert_array_equal(found, wanted)


PAIRS = [(np.float16, np.int16), (np.float16, np.uint16), (np.float32, np.int32), (np.float32, np.uint32),
         (np.float64, np.int64), (np.float64, np.uint64), (ml_dtypes.bfloat16, np.uint16)]  # fmt: skip


@pytest.mark.parametrize(("floats", "integers"), PAIRS)
def test_the_bits_of_floats_are_read_and_put_together_exactly(floats: Any, integers: Any) -> None:
    limits = ml_dtypes.finfo(floats)
    ends = [0.0, -0.0, np.inf, -np.inf, 1, -2, limits.max, limits.min, limits.tiny, limits.smallest_subnormal]
    drawn = rng.integers(0, 256, 400 * np.dtype(floats).itemsize, dtype=np.uint8).view(floats)
    below = (np.arange(1, 60).astype(integers) * 3).view(floats)
    x = np.concatenate([np.array(ends).astype(floats), drawn[~np.isnan(drawn)], below, -below])
    bits = x.view(integers)
    code = helper.np_dtype_to_tensor_dtype
    np.testing.assert_array_equal(trace(operator("BitCast", to=int(code(np.dtype(integers)))), x)(x), bits)
    again = trace(operator("BitCast", to=int(code(np.dtype(floats)))), bits)(bits)
    np.testing.assert_array_equal(again.view(integers), bits)


def test_a_remainder_rounded_down_has_the_sign_of_the_divisor() -> None:
    a = np.array([0.0, -0.0, -3.0, 3.0, -1.0, 1.0, np.inf, 1.0, np.nan])
    b = np.array([-2.0, 2.0, np.inf, np.inf, -np.inf, -np.inf, 2.0, 0.0, 2.0])
    found = trace(operator("Mod", fmod=0), a, b)(a, b)
    expected = np.array([-0.0, 0.0, np.inf, 3.0, -1.0, -np.inf, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[:6]), np.signbit(expected[:6]))


def test_sixteen_bit_ranges_are_counted_in_float32() -> None:
    given = [np.array(x, np.float16) for x in (0, 2050, 1)]
    made = trace(operator("Range", stash_type=1), *given)(*given)
    np.testing.assert_array_equal(made, np.arange(2050, dtype=np.float32).astype(np.float16))


def test_the_quotient_of_a_quantization_has_the_precision_asked_for() -> None:
    x, scale = np.array([1000.5, -3.25], np.float16), np.array(0.5, np.float16)
    function = operator("QuantizeLinear", precision=1, output_dtype=5)
    np.testing.assert_array_equal(trace(function, x, scale)(x, scale), [2001, -6])
    wide = operator("DequantizeLinear", output_dtype=1)
    levels = np.array([-3, 100], np.int8)
    found = trace(wide, levels, scale)(levels, scale)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [-1.5, 50.0])


@pytest.mark.parametrize(
    ("kind", "inputs", "attributes", "words"),
    [
        ("RotaryEmbedding", [draw(2, 3, 8), draw(2, 3, 2), draw(2, 3, 2)], {}, "needs num_heads"),
        ("RotaryEmbedding", [draw(2, 2, 3, 5), draw(2, 3, 2), draw(2, 3, 2)], {}, "pairs of features, and there are 5"),
        ("RotaryEmbedding", [draw(2, 2, 3, 6), draw(2, 3, 1), draw(2, 3, 1)], {}, "a cache has 1 angles"),
        ("TensorScatter", [draw(2, 5), draw(2, 3)], {"axis": 0}, "an axis that is not the batch"),
        ("CausalConvWithState", [draw(2, 3, 4), KERNEL], {"activation": "relu"}, "no activation relu"),
        ("SpaceToDepth", [draw(1, 1, 2, 2)], {"blocksize": 2, "mode": "RCD"}, "no mode RCD"),
    ],
)
def test_a_form_that_the_standard_does_not_have_is_refused(
    kind: str, inputs: list[Any], attributes: dict[str, Any], words: str
) -> None:
    with pytest.raises(PrimsplitError, match=words):
        trace(operator(kind, **attributes), *inputs)

"""Pools, convolutions and losses that add up many numbers of 32 bits keep their digits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.ops import op

COUNT = 300_000
SIDE = 600
IMAGE = np.full((1, 2, SIDE, SIDE), 0.1, np.float32)
SIGNAL = np.full((1, 2, COUNT), 0.1, np.float32)
LONG_KERNEL = np.full((2, 2, COUNT - 2), 0.3, np.float32)
TENTH, THREE_TENTHS = float(np.float32(0.1)), float(np.float32(0.3))
Case = tuple[Callable[..., Any], list[np.ndarray[Any, Any]], float]

CASES: dict[str, Case] = {
    "a mean over images": (op.GlobalAveragePool, [IMAGE], TENTH),
    "an absolute mean over images": (lambda x: op.GlobalLpPool(x, p=1), [-IMAGE], SIDE**2 * TENTH),
    "a norm over images": (op.GlobalLpPool, [IMAGE], SIDE * TENTH),
    "windows of the whole image": (lambda x: op.AveragePool(x, kernel_shape=[SIDE, SIDE]), [IMAGE], TENTH),
    "large windows": (lambda x: op.AveragePool(x, kernel_shape=[SIDE - 1, SIDE], strides=[1, 7]), [IMAGE], TENTH),
    "large windows with pads": (
        lambda x: op.AveragePool(x, kernel_shape=[SIDE, SIDE], pads=[1, 2, 3, 4], count_include_pad=0), [IMAGE], TENTH,
    ),
    "norms over large windows": (lambda x: op.LpPool(x, kernel_shape=[SIDE, SIDE]), [IMAGE], SIDE * TENTH),
    "a convolution by one long kernel": (
        op.Conv, [SIGNAL[:, :1], LONG_KERNEL[:1, :1]], (COUNT - 2) * TENTH * THREE_TENTHS,
    ),
    "a convolution by two, with a bias": (
        op.Conv, [SIGNAL, LONG_KERNEL, np.full(2, 1e3, np.float32)], 2 * (COUNT - 2) * TENTH * THREE_TENTHS + 1e3,
    ),
    "a convolution in groups": (
        lambda x, w: op.Conv(x, w, group=2), [SIGNAL, LONG_KERNEL[:, :1]], (COUNT - 2) * TENTH * THREE_TENTHS,
    ),
    "the loss of all targets": (
        lambda x: op.NegativeLogLikelihoodLoss(x, np.zeros(COUNT, np.int64), reduction="sum"),
        [np.full((COUNT, 2), 0.1, np.float32)], -COUNT * TENTH,
    ),
    "the mean loss of all targets": (
        lambda x: op.SoftmaxCrossEntropyLoss(x, np.zeros(COUNT, np.int64), reduction="mean", outputs=2)[0],
        [np.full((COUNT, 2), 0.1, np.float32)], float(np.log(2)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_adds_up_many_numbers_keeps_its_digits(name: str) -> None:
    function, given, wanted = CASES[name]
    found = ps.trace(lambda *a: function(*a), *given)(*given)
    assert found.size
    np.testing.assert_allclose(found, wanted, rtol=3e-5)


SYMBOLIC: dict[str, tuple[Callable[..., Any], list[Any], list[np.ndarray[Any, Any]], float]] = {
    "a mean over images": (op.GlobalAveragePool, [ps.spec("float32", [1, 2, "H", "W"])], [IMAGE], TENTH),
    "a convolution by one long kernel": (
        op.Conv, [ps.spec("float32", [1, 1, "L"]), ps.spec("float32", [1, 1, "K"])],
        [SIGNAL[:, :1], LONG_KERNEL[:1, :1]], (COUNT - 2) * TENTH * THREE_TENTHS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SYMBOLIC)
def test_so_does_what_adds_up_as_many_as_the_run_has(name: str) -> None:
    function, specs, given, wanted = SYMBOLIC[name]
    program = ps.trace(lambda *a: function(*a), *specs)
    np.testing.assert_allclose(program(*given), wanted, rtol=3e-5)
    few = [x[..., : 4 - i] for i, x in enumerate(given)]
    wanted_of_few = 3 * TENTH * THREE_TENTHS if "conv" in name else TENTH
    np.testing.assert_allclose(program(*few), np.full_like(program(*few), wanted_of_few), rtol=2e-5)


GRADIENTS: dict[str, tuple[Callable[..., Any], np.ndarray[Any, Any]]] = {
    "a kernel over a long signal": (lambda w: op.Conv(SIGNAL[:, :1], w)[..., ::1], np.ones((1, 1, 3), np.float32)),
    "a kernel over a large image": (lambda w: op.Conv(IMAGE[:, :1], w), np.ones((1, 1, 3, 3), np.float32)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_by_kernels_keep_their_digits(name: str) -> None:
    function, x = GRADIENTS[name]
    size, found = ps.value_and_grad(lambda x: np.sum(function(x)) * 0 + function(x).size)(x)
    found = ps.grad(lambda x: np.sum(function(x)))(x)
    wanted = size * TENTH
    np.testing.assert_allclose(found, np.full(x.shape, wanted), rtol=3e-5)


def nodes_in(graph: Any) -> int:
    return sum(1 + sum(nodes_in(a.g) for a in node.attribute if a.HasField("g")) for node in graph.node)


def test_a_file_that_is_loaded_and_saved_again_does_not_grow(tmp_path: Any) -> None:
    def function(x: Any, w: Any) -> Any:
        return op.GlobalAveragePool(x), op.GlobalLpPool(x), op.Conv(x, w)

    specs = [ps.spec("float32", [1, 1, "H", "W"]), ps.spec("float32", [1, 1, "K", "M"])]
    ps.trace(function, *specs).save(tmp_path / "first.onnx")
    ps.load(tmp_path / "first.onnx").save(tmp_path / "second.onnx")
    first, second = (nodes_in(onnx.load(tmp_path / f"{name}.onnx").graph) for name in ("first", "second"))
    assert second <= first


def test_few_numbers_are_added_by_the_operator_itself() -> None:
    def function(x: Any, w: Any) -> Any:
        return op.GlobalAveragePool(op.Conv(op.AveragePool(x, kernel_shape=[2, 2]), w))

    x, w = np.ones((1, 1, 16, 16), np.float32), np.ones((1, 1, 3, 3), np.float32)
    kinds = [node.op_type for node in ps.trace(function, x, w).to_onnx().graph.node]
    assert kinds == ["AveragePool", "Conv", "GlobalAveragePool"]

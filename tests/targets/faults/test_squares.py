"""A norm of float64 keeps the number beside its variance, which onnxruntime's fusions do not read."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op

X = np.random.default_rng(0).standard_normal((2, 3, 5))
W = np.linspace(0.5, 2.0, 5)


def mean_square(x: Any) -> Any:
    return op.ReduceMean(op.Pow(x, 2.0), [-1], keepdims=1)


def layer_norm(x: Any, w: Any, epsilon: float) -> Any:
    centred = op.Sub(x, op.ReduceMean(x, [-1], keepdims=1))
    return op.Add(op.Mul(op.Div(centred, op.Sqrt(op.Add(mean_square(centred), epsilon))), w), w)


def rms_norm(x: Any, w: Any, epsilon: float) -> Any:
    return op.Mul(op.Div(x, op.Sqrt(op.Add(mean_square(x), epsilon))), w)


def centred(x: Any) -> Any:
    return x - x.mean(-1, keepdims=True)


NORMS: dict[str, tuple[Callable[..., Any], Callable[[float], Any]]] = {
    "layer": (layer_norm, lambda e: centred(X) / np.sqrt((centred(X) ** 2).mean(-1, keepdims=True) + e) * W + W),
    "rms": (rms_norm, lambda e: X / np.sqrt((X**2).mean(-1, keepdims=True) + e) * W),
}


@pytest.mark.parametrize("epsilon", [1e-1, 1e-3, 1e-5, 1e-12])
@pytest.mark.parametrize("name", NORMS)
def test_a_norm_of_float64_has_its_own_epsilon(name: str, epsilon: float) -> None:
    form, wanted = NORMS[name]
    found = ps.trace(lambda x, w: form(x, w, epsilon), X, W)(X, W)
    np.testing.assert_allclose(found, wanted(epsilon), rtol=1e-13, atol=1e-14)


def test_a_square_of_float32_is_left_to_be_fused() -> None:
    for dtype, kinds in (("float32", ["Pow"]), ("float64", ["Mul"])):
        made = ps.trace(lambda x: op.Pow(x, np.asarray(2.0, x.dtype)), ps.spec(dtype, ["N"])).to_onnx()
        assert [node.op_type for node in made.graph.node] == kinds
    cube = ps.trace(lambda x: op.Pow(x, 3.0), ps.spec("float64", ["N"])).to_onnx()
    assert [node.op_type for node in cube.graph.node] == ["Pow"]

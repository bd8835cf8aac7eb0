"""Nodes of ai.onnx.ml, held against onnxruntime's kernels, and their gradients against differences."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.testing.differences import directional_derivative
from primsplit.testing.reference import evaluate
from tests.onnx.definitions.kernels import Node, defined, kernel, ranked

ML = "ai.onnx.ml::"
F = "float32"


def row(name: str, *inputs: Any, outputs: Sequence[str] = (F,), **attributes: Any) -> Node:
    """A node of ai.onnx.ml whose number of rows is a symbol."""
    return Node(ML + name, inputs, attributes, outputs, {0: ["N", *inputs[0].shape[1:]]} if inputs[0].ndim > 1 else {})


def title(given: Node) -> str:
    """What distinguishes it."""
    told = ("norm", "post_transform", "kernel_type", "targets")
    return "-".join([given.kind.removeprefix(ML), *(str(given.attributes[k]) for k in told if k in given.attributes)])


def check_value(given: Node, folder: Path) -> None:
    """The node's results are those of onnxruntime's kernel."""
    expected = kernel(given, folder / "kernel.onnx")
    found = defined(ranked(given, expected), folder / "node.onnx")
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        if theirs.dtype == np.object_:
            assert mine.tolist() == theirs.tolist()
            continue
        # The kernel finds probabilities by an iteration, which stops early.
        tolerance = 2e-3 if "prob_a" in given.attributes else 2e-5
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)


def check_slope(given: Node, folder: Path) -> None:
    """The node's gradient agrees with differences of its value in float64."""
    rng = np.random.default_rng(6)
    expected = kernel(given, folder / "kernel.onnx")
    program = ps.load(ranked(given, expected).save(folder / "node.onnx"))
    made = ps.split(program)
    x = given.inputs[0].astype(np.float64)
    rest = list(given.inputs[1:])
    values = evaluate(program.block, [x, *rest])
    seeds = [rng.standard_normal(values[i].shape) for i in made.split.of]
    found = dict(zip(made.joint().outputs, evaluate(made.joint().block, [x, *rest, *seeds]), strict=True))

    def scalar(moved: list[np.ndarray]) -> float:
        results = evaluate(program.block, [*moved, *rest])
        return sum(float(np.sum(results[i] * s)) for i, s in zip(made.split.of, seeds, strict=True))

    for _ in range(3):
        direction = rng.standard_normal(x.shape)
        wanted = directional_derivative(scalar, [x], [direction])
        np.testing.assert_allclose(np.sum(found["d_x0"] * direction), wanted, rtol=1e-6, atol=1e-8)

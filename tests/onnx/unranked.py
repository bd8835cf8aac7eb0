"""Models whose inputs have no rank in their file: saved, and their gradients checked at inputs of several ranks."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx.reference

import primsplit as ps
from primsplit.programs.pushed import push_program
from primsplit.testing import directional_derivative

WEIGHTS = (
    "<double[3] w = {0.5, -1.0, 2.0}, double[3] u = {0.1, 0.3, 0.2}, double[3] v = {1.5, 0.5, 2.0}, "
    "double[3,3] m = {0.5, 1.0, -0.5, 0.3, 0.2, 0.9, 1.1, -0.7, 0.4}>"
)

Saved = Callable[..., str]


def save(folder: Path, nodes: str, head: str = "(double x) => (double y)", opset: int = 18) -> str:
    """Save the model of these nodes, which reads `x` and gives `y`, both without a shape; return where."""
    text = f'<ir_version: 8, opset_import: ["" : {opset}]>\ng {head} {WEIGHTS} {{ {nodes} }}'
    model = onnx.parser.parse_model(text)
    for value in (*model.graph.input, *model.graph.output):
        if not value.type.tensor_type.shape.dim:
            value.type.tensor_type.ClearField("shape")
    path = str(folder / "model.onnx")
    onnx.save(model, path)
    return path


def by_reference(evaluator: Any, x: np.ndarray) -> np.ndarray:
    return np.asarray(evaluator.run(None, {"x": x})[0])


def check_at(
    path: str, shapes: Sequence[tuple[int, ...]], expected_at: Callable[[np.ndarray], np.ndarray] | None = None
) -> None:
    """One file's derivatives are those of differences for inputs of all of these shapes; so are second derivatives.

    The differences are by onnx's reference, or by another function that is what the file is.
    """
    program = ps.load(path)
    gradient, forward = ps.split(program, seed="ones").joint(), push_program(program).joint()
    second = ps.split(gradient, of=[1]).joint()
    evaluate = expected_at or functools.partial(by_reference, onnx.reference.ReferenceEvaluator(path))
    random = np.random.default_rng(0)
    for shape in shapes:
        x, direction = random.uniform(0.1, 0.9, shape), random.standard_normal(shape)
        value, slope = gradient(x)
        np.testing.assert_allclose(value, evaluate(x), strict=True)
        moved = directional_derivative(
            lambda x: float(np.sum(evaluate(x[0]))),
            [x],
            [np.asarray(direction)],
        )
        np.testing.assert_allclose(np.vdot(slope, direction), moved, rtol=1e-6, atol=1e-9)
        assert slope.shape == shape
        tangent = forward(x, np.asarray(direction))[1]
        np.testing.assert_allclose(tangent.sum(), moved, rtol=1e-6, atol=1e-9)
        assert tangent.shape == value.shape
    step = 1e-5 * np.asarray(direction)
    bent = (gradient(x + step)[1] - gradient(x - step)[1]) / 2e-5
    np.testing.assert_allclose(second(x, np.asarray(direction))[-1], bent, rtol=1e-4, atol=1e-6, strict=True)


def integers(name: str, *values: int) -> str:
    """A node that gives a vector of integers."""
    return f"{name} = Constant <value_ints = [{', '.join(map(str, values))}]> ()"


def narrow(name: str, *numbers: int) -> str:
    """A vector of whole numbers of 32 bits."""
    return f"{name} = Constant <value = int32[{len(numbers)}] {{{', '.join(map(str, numbers))}}}> ()"

"""Random models: the value is stock onnxruntime's, the gradient that of differences, the tangents those of both."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime
import pytest

import primsplit as ps
from primsplit.programs.pushed import push_program
from primsplit.testing import directional_derivative
from tests.onnx.random_graphs import SIZES, Grown, random_model


class Checked:
    """A model in stock onnxruntime, its program, and what is made of that with respect to its inputs and weights."""

    def __init__(self, model: onnx.ModelProto, path: str) -> None:
        onnx.save(model, path)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        # Optimized, it multiplies a transposed matrix and a vector wrongly.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.stock = onnxruntime.InferenceSession(path, options)
        self.program = ps.load(path)
        stored = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
        self.weights = {name: a for name, a in stored.items() if a.dtype == np.float64}
        self.split = ps.split(self.program, wrt=[*self.program.inputs, *self.weights], seed="ones")
        self.joint, self.forward = self.split.joint(), push_program(self.program).joint()

    def values(self, inputs: dict[str, Any]) -> list[Any] | None:
        """Stock onnxruntime's; None where it has none: a model with constant sizes may be of its own sizes alone."""
        try:
            return list(self.stock.run(None, inputs))
        except Exception:  # noqa: BLE001  # onnxruntime's own classes differ from build to build
            return None

    def at(self, inputs: dict[str, Any], values: list[Any]) -> None:
        """Compare the value with `values`, the gradient with differences, and the tangents with the gradient."""
        point = {name: {**self.weights, **inputs}[name] for name in self.joint.inputs}
        made = self.joint(*point.values())
        for found, wanted in zip(made, values, strict=False):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12, strict=True)
        numbers = np.random.default_rng(2)
        directions = {name: numbers.standard_normal(a.shape) for name, a in point.items()}

        def total(moved: list[Any]) -> float:
            return float(sum(np.sum(y) for y in self.joint(*moved)[: len(values)]))

        names = [self.joint.inputs[i] for i in self.split.differentiated]
        slopes = dict(zip(names, made[len(values) :], strict=True))
        parts = {name: float(np.vdot(slope, directions[name])) for name, slope in slopes.items()}
        size = 1 + sum(float(np.sum(np.abs(slope))) for slope in slopes.values())
        # A step may be too large beside a jump or too small for the digits, but not each.
        ends = [[*point.values()], [*directions.values()]]
        differences = [directional_derivative(total, *ends, step) for step in (1e-4, 1e-5, 1e-6)]
        assert min(abs(sum(parts.values()) - d) for d in differences) < 1e-6 * size
        assert [slope.shape for slope in slopes.values()] == [point[name].shape for name in slopes]
        of_inputs = [name for name in self.program.inputs if name in inputs]
        along = self.forward(*(inputs[n] for n in of_inputs), *(directions[n] for n in of_inputs))[len(values) :]
        assert abs(sum(np.sum(t) for t in along) - sum(parts[n] for n in of_inputs)) < 1e-9 * size


def check(grown: Grown, folder: Path) -> None:
    checked = Checked(grown.model, str(folder / "model.onnx"))
    for inputs in (grown.inputs, *map(grown.at, ({**SIZES, "N": 1}, {"N": 1, "M": 1}, {"N": 2, "M": 3}))):
        values = checked.values(inputs)
        if values is not None:
            checked.at(inputs, values)


@pytest.mark.parametrize("seed", range(16))
def test_a_random_model_has_its_own_value_and_right_derivatives(seed: int, tmp_path: Path) -> None:
    check(random_model(seed), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(16, 1016, 100))
def test_a_thousand_have(start: int, tmp_path: Path) -> None:
    for seed in range(start, start + 100):
        check(random_model(seed), tmp_path)

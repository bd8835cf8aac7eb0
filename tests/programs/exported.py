"""Functions of which files are written, and runs of the files by onnxruntime."""

from typing import Any

import numpy as np
import onnx
import onnxruntime

from primsplit.testing import check_model

POINT = {
    "params.w": np.array([0.5, -1.0]),
    "params.b": np.array(0.25),
    "x": np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.0]]),
}


def loss(params: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ params["w"] + params["b"]) ** 2)


def residuals(params: Any, x: Any) -> Any:
    return np.tanh(x @ params["w"] + params["b"])


def run(path: str, feeds: dict[str, Any]) -> dict[str, Any]:
    """The file's outputs by name, run without primsplit."""
    check_model(onnx.load(path))
    return outputs_of(path, feeds)


def outputs_of(path: str, feeds: dict[str, Any]) -> dict[str, Any]:
    session = onnxruntime.InferenceSession(path)
    names = [o.name for o in session.get_outputs()]
    given = {i.name: np.asarray(feeds[i.name]) for i in session.get_inputs()}
    return dict(zip(names, session.run(names, given), strict=True))


def differences(function: Any, name: str, direction: Any, step: float = 1e-5) -> Any:
    """The central difference of a function of the inputs by name."""
    ahead, behind = ({**POINT, name: POINT[name] + s * step * direction} for s in (1, -1))
    return (function(ahead) - function(behind)) / (2 * step)

"""The nine networks of the onnx package: gradients with respect to the image and to every weight.

The float32 gradient file runs in onnxruntime; what it says of two directions is compared with central differences of
the forward pass in float64. One direction is made of the gradients themselves, each weight's over its squared length
and with a random sign, so that every weight, large or small, adds 1 or -1 to the derivative; the other one is random,
in units in which every weight adds about 1.
"""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import primsplit as ps
from tests.networks import NAMES, Arrays, light_network, random_inputs

SMALL = "squeezenet"
STEP = 1e-7
ARRAYS = [pytest.param(name, marks=() if name == SMALL else pytest.mark.slow) for name in NAMES]


def saved(folder: Path, name: str, *, double: bool) -> str:
    """The path of the network, every weight an input."""
    path = folder / f"{name}_{'double' if double else 'float'}.onnx"
    onnx.save(light_network(name, double=double), path)
    return str(path)


def gradients_of(path: str, inputs: Arrays, cotangent: np.ndarray) -> tuple[np.ndarray, Arrays]:
    """The network's result, and the gradient of its product with the cotangent, by stock onnxruntime."""
    program = ps.split(ps.load(path)).joint()
    session = onnxruntime.InferenceSession(program.to_onnx().SerializeToString())
    value, *found = session.run(None, {**inputs, program.inputs[-1]: cotangent})
    return value, dict(zip(inputs, found, strict=True))


def directions(gradients: Arrays) -> list[Arrays]:
    """The gradients' own direction with random signs, and a random one, every weight's share of the size of 1."""
    random = np.random.default_rng(7)
    lengths = {name: np.linalg.norm(g.astype(float).ravel()) for name, g in gradients.items()}
    own = {name: g * (random.choice([-1.0, 1.0]) / lengths[name] ** 2) for name, g in gradients.items()}
    return [own, {name: random.standard_normal(g.shape) / lengths[name] for name, g in gradients.items()}]


@pytest.mark.parametrize("name", ARRAYS)
def test_gradients_of_a_network_agree_with_differences_in_float64(name: str, tmp_path: Path) -> None:
    path = saved(tmp_path, name, double=False)
    inputs = random_inputs(onnx.load(path))
    expected = onnxruntime.InferenceSession(path).run(None, inputs)[0]
    cotangent = np.random.default_rng(5).standard_normal(expected.shape).astype(np.float32)
    value, gradients = gradients_of(path, inputs, cotangent)
    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
    forward = ps.load(saved(tmp_path, name, double=True))
    base = {key: array.astype(np.float64) for key, array in inputs.items()}
    np.testing.assert_allclose(forward(*base.values()), expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())
    for direction in directions(gradients):
        size = STEP * min(np.abs(base[key]).max() / np.abs(d).max() for key, d in direction.items())
        ahead, behind = (
            np.vdot(cotangent, forward(*(base[key] + sign * size * direction[key] for key in base))) for sign in (1, -1)
        )
        shares = [np.vdot(gradients[key].astype(float), direction[key]) for key in base]
        wanted = (ahead - behind) / (2 * size)
        assert abs(wanted - sum(shares)) < 2e-3 * np.linalg.norm(shares)

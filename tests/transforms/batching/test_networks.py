"""Image networks in batches: the images of all examples go through the kernels together."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.tracing import trees
from tests.networks import NAMES, light_network, random_inputs

FAST = {"squeezenet"}
each = pytest.mark.parametrize("name", [n if n in FAST else pytest.param(n, marks=pytest.mark.slow) for n in NAMES])


def _loaded(name: str, folder: Path) -> tuple[Any, list[np.ndarray], list[np.ndarray]]:
    """The network as a function of its image and weights, two images, and the weights."""
    network = light_network(name)
    path = folder / "network.onnx"
    onnx.save(network, path)
    image, *weights = random_inputs(network).values()
    model = ps.load(str(path))

    def function(*arrays: Any) -> Any:
        (found,) = trees.flatten(model(*arrays))[0]
        return found

    return function, [image, 0.9 * image[..., ::-1]], weights


def _close(found: np.ndarray, wanted: list[np.ndarray]) -> None:
    expected = np.stack(wanted)
    np.testing.assert_allclose(found, expected, atol=2e-5 * np.max(np.abs(expected)), rtol=0)


@each
def test_a_network_takes_a_batch_of_its_images_without_a_loop(name: str, tmp_path: Path) -> None:
    network, images, weights = _loaded(name, tmp_path)
    program = ps.trace(ps.vmap(network, in_axes=(0, *[None] * len(weights))), np.stack(images), *weights)
    assert not any("Loop" in o.kind or "each" in o.kind for o in program.block.ops)
    single = ps.trace(network, images[0], *weights)
    _close(program(np.stack(images), *weights), [single(image, *weights) for image in images])


@pytest.mark.parametrize("name", ["squeezenet"])
def test_per_example_gradients_of_a_network_are_those_of_each_image(name: str, tmp_path: Path) -> None:
    network, images, weights = _loaded(name, tmp_path)
    gradient = ps.grad(lambda *arrays: (network(*arrays) ** 2).sum(), wrt=(0, 1, 2))
    program = ps.trace(ps.vmap(gradient, in_axes=(0, *[None] * len(weights))), np.stack(images), *weights)
    single = ps.trace(gradient, images[0], *weights)
    examples = [single(image, *weights) for image in images]
    for found, wanted in zip(program(np.stack(images), *weights), zip(*examples, strict=True), strict=True):
        _close(found, list(wanted))

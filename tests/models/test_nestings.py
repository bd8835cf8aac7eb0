"""Every model's Hessian-vector product by all nestings of forward and reverse mode."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.programs.userfile import load
from primsplit.tracing import trees
from tests.networks import light_network, random_inputs

MODELS = Path(__file__).parents[2] / "models"
HEAVY = {"optimal_control", "asian_option", "predator_prey", "gaussian_process", "poisson_network", "damped_building"}
NAMES = [
    pytest.param(p.stem, marks=pytest.mark.slow) if p.stem in HEAVY else p.stem for p in sorted(MODELS.glob("*.py"))
]


def scalar_of(name: str) -> tuple[Callable[..., Any], Any]:
    """The model as a scalar function of the list of its differentiated arguments, and these."""
    file = load(str(MODELS / f"{name}.py"))
    bound = file.example()
    assert bound is not None
    if file.mode == "value":
        return loss_of_a_step(file, bound.arguments)
    names = list(bound.arguments)
    chosen = list(file.wrt or names)

    def scalar(moved: Any) -> Any:
        arguments = {**bound.arguments, **dict(zip(chosen, moved, strict=True))}
        return np.sum(file.function(*(arguments[n] for n in names)))

    return scalar, [bound.arguments[n] for n in chosen]


def loss_of_a_step(file: Any, arguments: dict[str, Any]) -> tuple[Callable[..., Any], Any]:
    """The loss whose gradient a training step takes inside, as a function of the weights that the step starts from."""
    weights = {name: np.array(state.now) for name, state in file.module.memory()[0].items()}
    images, labels = arguments.values()
    return lambda moved: file.module.loss(moved, images, labels)[0], weights


def dot(left: Any, right: Any) -> Any:
    pairs = zip(trees.flatten(left)[0], trees.flatten(right)[0], strict=True)
    total: Any = 0.0
    for a, b in pairs:
        total = total + np.sum(a * b)
    return total


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", NAMES)
def test_the_nestings_agree(name: str) -> None:
    f, x = scalar_of(name)
    leaves, spec = trees.flatten(x)
    random = np.random.default_rng(0)
    assert_nestings_agree(f, x, trees.unflatten(spec, [random.standard_normal(np.shape(a)) for a in leaves]))


def assert_nestings_agree(f: Callable[..., Any], x: Any, v: Any) -> Any:
    """One product by all nestings, which is returned."""

    def along(moved: Any) -> Any:
        return ps.jvp(f, (moved,), (v,))[1]

    def whole(moved: Any) -> Any:
        return (
            ps.jvp(ps.grad(f), (moved,), (v,))[1],
            ps.grad(along)(moved),
            ps.grad(lambda y: dot(ps.grad(f)(y), v))(moved),
            ps.jvp(along, (moved,), (v,))[1],
        )

    first, *others, curvature = ps.trace(whole, x)(x)
    products = [np.concatenate([np.ravel(a) for a in trees.flatten(p)[0]]) for p in (first, *others)]
    size = max(np.max(np.abs(products[0])), 1e-12)
    for product in products:
        np.testing.assert_allclose(product, products[0], rtol=1e-8, atol=1e-9 * size)
    np.testing.assert_allclose(curvature, dot(first, v), rtol=1e-7, atol=1e-8 * size)
    return first


@pytest.mark.slow
def test_the_products_of_squeezenet_with_its_image_are_those_of_all_nestings_and_of_differences(tmp_path: Path) -> None:
    path = str(tmp_path / "squeezenet.onnx")
    model = light_network("squeezenet", double=True)
    onnx.save(model, path)
    network = ps.load(path)
    given = random_inputs(model)
    image, *others = (given[n].astype(np.float64) for n in network.inputs)
    label = 7

    def loss(x: Any, *weights: Any) -> Any:
        return -np.log(network(x, *weights).reshape(-1)[label])

    v = np.random.default_rng(1).standard_normal(image.shape)
    nested = assert_nestings_agree(lambda x: loss(x, *others), image, v)
    product = ps.value_grad_and_hvp(loss)
    _, gradient, found = product(image, *others, v)
    step = 1e-6
    gradients = [product(image + s * step * v, *others, v)[1] for s in (1, -1)]
    wanted = (gradients[0] - gradients[1]) / (2 * step)
    assert gradient.shape == found.shape == image.shape
    assert np.max(np.abs(found)) > 0
    np.testing.assert_allclose(found, wanted, atol=1e-4 * np.max(np.abs(found)))
    np.testing.assert_allclose(nested, found, rtol=1e-8, atol=1e-9 * np.max(np.abs(found)))

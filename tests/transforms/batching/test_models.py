"""The models in batches: values and gradients are those of each example, also of the model as a file."""

from pathlib import Path

import numpy as np
import pytest

import primsplit as ps
from primsplit.programs.arguments import arguments_of
from primsplit.programs.userfile import load
from primsplit.tracing import trees
from tests.transforms.batching.examples import COUNT, batch, check, loss

STEPS = {"online_training"}
"""A step that writes states is not batched: there would be several values for each."""
MODELS = [p for p in sorted((Path(__file__).parents[3] / "models").glob("*.py")) if p.stem not in STEPS]
FAST = {"black_scholes", "inverse_kinematics"}
each = pytest.mark.parametrize(
    "path", [pytest.param(p, marks=() if p.stem in FAST else pytest.mark.slow, id=p.stem) for p in MODELS]
)


@each
def test_a_batch_of_models_and_its_per_example_gradients_are_those_of_each_example(path: Path) -> None:
    given = arguments_of(load(str(path)))
    args, named = given.values
    function, stacks, wrt = batch(lambda *xs: given.function(*xs[: len(args)], **xs[-1]), (*args, named))
    gradient = ps.value_and_grad(loss(function), wrt=tuple(wrt))
    single = ps.trace(gradient, *(x[0] for x in stacks))
    examples = [single(*(x[b] for x in stacks)) for b in range(COUNT)]
    check(ps.trace(ps.vmap(gradient), *stacks)(*stacks), examples)


@each
def test_a_batch_of_a_models_file_is_that_of_each_example(path: Path, tmp_path: Path) -> None:
    given = arguments_of(load(str(path)))
    args, named = given.values
    function, stacks, _ = batch(lambda *xs: given.function(*xs[: len(args)], **xs[-1]), (*args, named))
    file = str(tmp_path / "model.onnx")
    single = ps.trace(function, *(x[0] for x in stacks))
    single.save(file)
    model = ps.load(file)
    whole = ps.trace(ps.vmap(lambda *xs: model(*xs)), *(ps.spec(x.dtype, ("B", *x.shape[1:])) for x in stacks))
    found = [np.asarray(y) for y in trees.flatten(whole(*stacks))[0]]
    check(found, [single(*(x[b] for x in stacks)) for b in range(COUNT)])

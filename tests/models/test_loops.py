"""The models with loops: their gradients against unrolled ones and other integrators, one file for every length."""

import importlib.util
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.testing.differences import derivatives
from primsplit.tracing import trees

MODELS = Path(__file__).parents[2] / "models"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, MODELS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


language, hunting, swing = load("language_model"), load("predator_prey"), load("optimal_control")


def run(file, *args):
    """The results of a file of flat inputs."""
    return file(*trees.flatten(args)[0])


def params_like(arrays):
    return {name: ps.spec("float64", list(a.shape)) for name, a in arrays.items()}


def unrolled_loss(params, codes):
    """The language model's loss with a Python loop, written from the equations."""
    width = params["recurrent"].shape[0]
    hidden = np.zeros((codes.shape[1], width))
    total = 0.0
    for now, following in pairwise(codes):
        read = params["embedding"][now]
        turned = hidden @ params["recurrent"] + params["bias"]
        gates = 1 / (1 + np.exp(-(read + turned)[:, : 2 * width]))
        reset, update = gates[:, :width], gates[:, width:]
        candidate = np.tanh(read[:, 2 * width :] + reset * turned[:, 2 * width :])
        hidden = update * hidden + (1 - update) * candidate
        scores = hidden @ params["output"] + params["output_bias"]
        picked = np.take_along_axis(scores, following[:, None], axis=1)[:, 0]
        total = total + np.sum(np.log(np.sum(np.exp(scores), axis=1)) - picked)
    return total / codes[1:].size


@pytest.fixture(scope="module")
def language_file():
    params, _ = language.example_inputs()
    return ps.split(language.loss, params_like(params), ps.spec("int64", ["T", "B"]), wrt="params").joint()


@pytest.mark.parametrize(("length", "pieces"), [(2, 3), (9, 1), (5, 16)])
def test_the_language_models_gradient_is_that_of_the_unrolled_loop(length, pieces, language_file) -> None:
    params, _ = language.example_inputs()
    _, text = language.load_text()
    codes = text[: length * pieces].reshape(length, pieces)
    value, found = ps.value_and_grad(unrolled_loss)(params, codes)
    leaves = run(language_file, params, codes)
    np.testing.assert_allclose(leaves[0], value, rtol=1e-12)
    for gradient, wanted in zip(leaves[1:], trees.flatten(found)[0], strict=True):
        np.testing.assert_allclose(gradient, wanted, rtol=1e-9, atol=1e-12)


def test_checkpoints_do_not_change_a_scans_gradient() -> None:
    def loss(params, read, checkpoint):
        def step(hidden, now):
            state = language.gated_unit(params, hidden, now)
            return state, state

        return np.sum(ps.scan(step, np.zeros((2, language.HIDDEN)), read, checkpoint=checkpoint)[1] ** 2)

    params, _ = language.example_inputs()
    read = np.random.default_rng(0).normal(size=(11, 2, 3 * language.HIDDEN))
    wanted = ps.grad(loss)(params, read, None)
    for checkpoint in ("sqrt", 2):
        for name, gradient in ps.grad(loss)(params, read, checkpoint).items():
            np.testing.assert_allclose(gradient, wanted[name], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("misfit", ["misfit", "fixed_misfit"])
def test_one_file_fits_any_number_of_observations(misfit) -> None:
    function = getattr(hunting, misfit)
    years, furs = hunting.observations()
    params = hunting.first_guess()
    many = ps.spec("float64", ["N"]), ps.spec("float64", ["N", 2])
    file = ps.split(function, params_like(params), *many, wrt="params").joint()
    for count in (1, 2, 5):
        value, *slopes = run(file, params, years[:count], furs[:count])
        names = sorted(params)

        def plain(moved, count=count, names=names):
            return [function(dict(zip(names, moved, strict=True)), years[:count], furs[:count])]

        np.testing.assert_allclose(value, plain([params[n] for n in names])[0], rtol=1e-10)
        direction = [np.cos(np.arange(params[n].size) + 1.0) for n in names]
        wanted = derivatives(plain, [params[n] for n in names], direction, 1e-3)[0]
        found = sum(np.sum(a * b) for a, b in zip(slopes, direction, strict=True))
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_two_integrators_give_one_gradient() -> None:
    years, furs = hunting.observations()
    given = hunting.first_guess(), years[:8], furs[:8]
    adaptive, fixed = (ps.grad(f)(*given) for f in (hunting.misfit, hunting.fixed_misfit))
    for name in given[0]:
        np.testing.assert_allclose(adaptive[name], fixed[name], rtol=1e-3)


def test_a_swing_of_any_number_of_steps_is_one_short_file() -> None:
    commands, *others = swing.example_inputs()
    file = ps.split(swing.cost, ps.spec("float64", ["N"]), *others, wrt="commands").joint()
    assert len(list(walk(file.block))) < 400
    for steps in (0, 1, 7):
        found = run(file, commands[:steps], *others)
        np.testing.assert_allclose(found[0], swing.cost(commands[:steps], *others), rtol=1e-12)
        assert found[1].shape == (steps,)

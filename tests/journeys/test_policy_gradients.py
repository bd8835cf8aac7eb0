"""Gradients are those of the default, in value and dtype, whatever a policy keeps."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings

import primsplit as ps
from primsplit.ir import Op
from primsplit.transforms.policies import POLICIES
from tests.networks import NAMES, light_network, random_inputs
from tests.programs.drawn import Step, call, programs

Function = Callable[..., Any]


def products(found: Op) -> bool:
    return found.kind == "MatMul"


def classifier(w1: Any, w2: Any, x: Any, target: Any) -> Any:
    scores = np.tanh(x @ w1) @ w2
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    p = e / np.sum(e, axis=-1, keepdims=True)
    return -np.mean(np.sum(target * np.log(p + 1e-9), axis=-1))


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ np.swapaxes(k, -1, -2) / 2.0
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return np.sum((e / np.sum(e, axis=-1, keepdims=True) @ v) ** 2)


def norm(x: Any) -> Any:
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return np.sum((centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)) ** 3)


def branches(x: Any) -> Any:
    y = np.exp(np.sin(x) * 2)
    z = np.tanh(y) * y if np.sum(y) > 3.0 else np.cos(y)
    return np.sum(z * np.sqrt(y))


def steps(h: Any, xs: Any) -> Any:
    start = np.tanh(h * 1.5)

    def step(h: Any, x: Any) -> Any:
        new = np.tanh(h * x + 0.1)
        return new, new * x

    last, ys = ps.scan(step, start, np.exp(xs))
    return np.sum(last * last) + np.sum(ys * ys * np.sum(start))


def chosen(x: Any) -> Any:
    y = np.exp(x)
    z = y[y > 1.0] * 2
    return np.sum(np.sin(z) * z)


def written(x: Any) -> Any:
    y = np.exp(x)
    y[0] = y[1] * y[2]
    return np.sum(y * y * np.sin(y))


def gathered(x: Any, i: Any) -> Any:
    return np.sum(np.exp(x * 2)[i] ** 2)


def solved(a: Any, b: Any) -> Any:
    return np.sum(np.linalg.solve(a @ a.T + np.eye(3), b) ** 2)


def wavy(x: Any) -> Any:
    y = np.exp(x)
    return np.sum(np.cumsum(y, axis=0) * np.tanh(y)), y


random = np.random.default_rng(1)
CASES = [
    (classifier, [(5, 4), (4, 3), ("N", 5), ("N", 3)]),
    (attention, [("B", "N", 4), ("B", "N", 4), ("B", "N", 4)]),
    (norm, [("N", 4)]),
    (branches, [("N",)]),
    (steps, [(3,), ("T",)]),
    (chosen, [("N",)]),
    (solved, [(3, 3), (3,)]),
    (wavy, [("N", 2)]),
]
SIZES = {"N": 4, "B": 2, "T": 5}


def in_all_forms(made: ps.SplitProgram, args: list[np.ndarray], seeds: list[np.ndarray]) -> list[list[np.ndarray]]:
    """Results and gradients of the joint program, and of the forward and the backward program."""
    joint = made.joint()
    named = dict(zip(made.program.inputs, args, strict=True)) | dict(zip(made.cotangent_names, seeds, strict=False))
    forward, backward = made.forward, made.backward
    named.update(zip(forward.outputs, forward.session()(*(named[n] for n in forward.inputs)), strict=True))
    apart = [named[n] for n in made.program.outputs]
    apart += backward.session()(*(named[n] for n in backward.inputs))
    return [list(joint.session()(*(named[n] for n in joint.inputs))), apart]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("sizes", [SIZES, dict.fromkeys(SIZES, 1)], ids=["some", "one"])
@pytest.mark.parametrize(("function", "shapes"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_gradients_are_those_of_the_default_under_every_policy(
    function: Function, shapes: list[tuple[Any, ...]], sizes: dict[str, int]
) -> None:
    specs = [ps.spec("float64", shape) for shape in shapes]
    args = [random.standard_normal([sizes.get(d, d) for d in shape]) for shape in shapes]
    usual = ps.split(function, *specs)
    seeds = [np.ones([sizes.get(str(d), d) for d in r.type.shape or ()]) for r in usual.program.block.results]
    wanted = in_all_forms(usual, args, seeds)[0]
    for policy in ("save_all", "recompute_cheap", "nothing", products):
        for found in in_all_forms(ps.split(function, *specs, policy=policy), args, seeds):
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_no_dtype_is_left(dtype: str) -> None:
    made = [ps.split(branches, ps.spec(dtype, ["N"]), policy=p).joint() for p in POLICIES]
    for count in (3, 1, 0):
        x = np.linspace(-1, 1, count).astype(dtype)
        wanted = made[0](x)
        for program, (a, b) in itertools.product(made[1:], enumerate(wanted)):
            assert program(x)[a].dtype == dtype
            np.testing.assert_array_equal(program(x)[a], b)


@pytest.mark.parametrize(("function", "args"), [(written, [4]), (gathered, [5])])
def test_writes_and_gathers_are_computed_again_in_their_order(function: Function, args: list[int]) -> None:
    given = [random.standard_normal(n) for n in args] + ([np.array([0, 1, 1, 3])] if function is gathered else [])
    wanted = ps.split(function, *given).joint()(*given)
    for a, b in zip(ps.split(function, *given, policy="nothing").joint()(*given), wanted, strict=True):
        np.testing.assert_array_equal(a, b)


QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much]
DRAWN = [random.standard_normal((3, 2)), random.standard_normal(3), random.standard_normal((2, 3))]


@given(programs(DRAWN))
@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=QUIET)
def test_a_random_program_has_one_gradient_under_every_policy(program: list[Step]) -> None:
    check_drawn(program)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
@given(programs(DRAWN, most=14))
@settings(max_examples=40, deadline=None, suppress_health_check=QUIET)
def test_many_long_random_programs_have_one_gradient_under_every_policy(part: int, program: list[Step]) -> None:
    check_drawn(program)


def check_drawn(program: list[Step]) -> None:
    def function(x: Any, y: Any, z: Any) -> Any:
        return call(program, x, y, z)

    usual = ps.split(function, *DRAWN)
    shapes = [r.type.shape for r in usual.program.block.results]
    seeds = [np.cos(np.arange(np.prod(s), dtype=float)).reshape(s) for s in shapes if s is not None]
    wanted = in_all_forms(usual, DRAWN, seeds)[0]
    for policy in ("save_all", "recompute_cheap", "nothing"):
        for found in in_all_forms(ps.split(function, *DRAWN, policy=policy), DRAWN, seeds):
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=" ; ".join(s.text for s in program))


def perceptron(weights: Any, x: Any) -> Any:
    for w in weights:
        x = np.tanh(x @ w)
    return np.mean(x * x)


def test_a_gradient_of_a_gradient_has_a_policy_of_its_own() -> None:
    args = [random.standard_normal((4, 4)) for _ in range(3)]
    first = ps.split(perceptron, args[:2], args[2], wrt="weights", policy="nothing").joint()
    seconds = [
        ps.split(first, *args, wrt=[0, 1], of=[1, 2], policy=policy, seed="ones").joint()(*args) for policy in POLICIES
    ]
    for found, (position, wanted) in itertools.product(seconds[1:], enumerate(seconds[0])):
        np.testing.assert_allclose(found[position], wanted, rtol=1e-11, atol=1e-14)
    plain = ps.split(perceptron, args[:2], args[2], wrt="weights").joint()
    wanted_all = ps.split(plain, *args, wrt=[0, 1], of=[1, 2], seed="ones").joint()(*args)
    for a, b in zip(seconds[0], wanted_all, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n == "squeezenet" else pytest.mark.slow) for n in NAMES])
def test_a_network_has_one_gradient_under_every_policy(name: str, tmp_path: Any) -> None:
    network, path = light_network(name), str(tmp_path / "network.onnx")
    onnx.save(network, path)
    inputs, model = random_inputs(network), ps.load(path)
    usual, *others = (ps.split(model, policy=p).joint() for p in ("default", "recompute_cheap", "nothing"))
    cotangent = random.standard_normal(usual.types[-1].shape).astype(np.float32)
    wanted = usual(*inputs.values(), cotangent)
    for program in others:
        for a, b in zip(program(*inputs.values(), cotangent), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5 * float(np.abs(b).max(initial=0)))

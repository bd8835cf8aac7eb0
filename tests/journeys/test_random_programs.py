"""Random NumPy programs: the joint and the split form agree with NumPy, central differences and each other."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import primsplit as ps
from primsplit.ir.errors import PrimsplitError
from primsplit.testing.differences import directional_derivative, pairing
from primsplit.testing.gradients import symbolic_specs
from tests.programs.drawn import Step, call, programs

rng = np.random.default_rng(12)
INPUTS = [rng.standard_normal((3, 2)), rng.standard_normal(3), rng.standard_normal((2, 3))]
QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much]


def _told(program: list[Step]) -> str:
    return " ; ".join(step.text for step in program)


def _agrees(found: Any, wanted: Any, told: str, tolerance: float = 1e-9) -> None:
    assert found.shape == wanted.shape, told
    assert found.dtype == wanted.dtype, told
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=told)


def _check(program: list[Step], made: ps.SplitProgram, inputs: list[np.ndarray]) -> None:
    told = _told(program)
    wanted = call(program, *inputs)
    seeds = [np.asarray(np.cos(np.arange(w.size) + 1.0)).reshape(w.shape) for w in wanted]
    joint = made.joint().session()(*inputs, *seeds)
    for found, value in zip(joint[:2], wanted, strict=True):
        _agrees(found, np.asarray(value), told)
    gradients = joint[2:]
    # The split form, through the names of its two files.
    named = dict(zip(made.program.inputs, inputs, strict=True)) | dict(zip(made.cotangent_names, seeds, strict=True))
    forward, backward = made.forward, made.backward
    named.update(zip(forward.outputs, forward.session()(*(named[n] for n in forward.inputs)), strict=True))
    for found, gradient in zip(backward.session()(*(named[n] for n in backward.inputs)), gradients, strict=True):
        _agrees(found, gradient, told, 1e-10)

    def scalar(moved: list[np.ndarray]) -> float:
        return pairing([np.asarray(w) for w in call(program, *moved)], seeds)

    random = np.random.default_rng(5)
    scale = max(1.0, *(float(np.max(np.abs(g), initial=0)) for g in gradients))
    for _ in range(2):
        direction = [random.standard_normal(x.shape) for x in inputs]
        found = pairing(gradients, direction)
        steps = [directional_derivative(scalar, inputs, direction, step) for step in (1e-4, 1e-5)]
        assert min(abs(found - s) for s in steps) < 1e-6 * scale, (told, found, steps)


def _check_program(program: list[Step]) -> None:
    def function(x: Any, y: Any, z: Any) -> Any:
        return call(program, x, y, z)

    _check(program, ps.split(function, *INPUTS), INPUTS)
    specs, _ = symbolic_specs(INPUTS)
    try:
        made = ps.split(function, *specs)
    except PrimsplitError:
        return
    _check(program, made, INPUTS)


@given(programs(INPUTS))
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=QUIET)
def test_a_random_program_is_right_in_every_form(program: list[Step]) -> None:
    _check_program(program)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
@given(programs(INPUTS, most=14))
@settings(max_examples=150, deadline=None, suppress_health_check=QUIET)
def test_many_long_random_programs_are_right_in_every_form(part: int, program: list[Step]) -> None:
    _check_program(program)

"""What `node_sweep.py` asks with `--mode jvp` and `--order 2` of a loaded case: tangents, and second derivatives.

Tangents are compared with the gradients, which the sweep compares with central differences: <dz, J v> = <J^T dz, v>.
Second derivatives, by the pullback's own pullback and by its tangents, are compared with each other and with central
differences of the gradient program, evaluated op by op with all floats wide.
"""

import warnings
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.errors import PrimsplitError
from primsplit.pushed import push_program
from primsplit.testing import directional_derivative
from primsplit.testing.reference import Reference

TOLERANCES = {"float16": 5e-2, "bfloat16": 2e-1, "float32": 2e-3, "float64": 1e-6}
Verdict = tuple[str, str]


def tangent_verdict(program: Any, inputs: list[Any]) -> Verdict:
    """Compare the tangents along a random direction with the gradients for random cotangents."""
    told = _split(program)
    if isinstance(told, tuple):
        return told
    made = told
    try:
        pushed = push_program(program, made.split.wrt, made.split.of)
    except PrimsplitError as error:
        return "refused forward", str(error).splitlines()[0]
    random = np.random.default_rng(0)
    joint = made.joint()
    values = program.session().run(dict(zip(program.inputs, inputs, strict=True)))
    seeds = [_drawn(random, values[i]) for i in made.split.of]
    given = [] if made.seeded else seeds
    seeds = [np.ones_like(s) for s in seeds] if made.seeded else seeds
    gradients = joint.session().run(dict(zip(joint.inputs, [*inputs, *given], strict=True)))[len(values) :]
    tangents = [_drawn(random, inputs[i]) for i in pushed.pushed.wrt]
    forward = pushed.joint()
    along = forward.session().run(dict(zip(forward.inputs, [*inputs, *tangents], strict=True)))[len(values) :]
    left, right = _pairing(seeds, along), _pairing(gradients, tangents)
    size = max(_size(seeds, along), _size(gradients, tangents), 1e-3)
    tolerance = max(TOLERANCES[t.dtype.name] for t in (*tangents, *seeds))
    if not (np.isfinite(left) and np.isfinite(right)):
        return (
            ("at a kink", "") if np.isfinite(left) == np.isfinite(right) else ("wrong tangent", f"{left}, not {right}")
        )
    if abs(left - right) <= tolerance * size:
        return "right", ""
    return "wrong tangent", f"{left:.6g}, and by the gradients {right:.6g}"


def second_verdict(program: Any, inputs: list[Any]) -> Verdict:
    """Compare the second derivatives along two random directions with differences of the gradient."""
    told = _split(program)
    if isinstance(told, tuple):
        return told
    joint = told.joint()
    random = np.random.default_rng(0)
    values = program.session().run(dict(zip(program.inputs, inputs, strict=True)))
    seeds = [] if told.seeded else [_drawn(random, values[i]) for i in told.split.of]
    point = [*inputs, *seeds]
    wrt = [i for i, t in enumerate(joint.types) if t.is_float]
    of = [i for i in range(len(values), len(joint.outputs)) if joint.block.results[i].type.is_float]
    try:
        again = ps.split(joint, of=[joint.outputs[i] for i in of])
        pushed = push_program(joint, wrt, of)
    except PrimsplitError as error:
        return "refused at order 2", str(error).splitlines()[0]
    weights = [_drawn(random, inputs[i]) for i in told.differentiated]
    directions = [_drawn(random, point[i]) for i in wrt]
    second, forward = again.joint(), pushed.joint()
    back = second.session().run(dict(zip(second.inputs, [*point, *weights], strict=True)))[len(joint.outputs) :]
    along = forward.session().run(dict(zip(forward.inputs, [*point, *directions], strict=True)))[len(joint.outputs) :]
    reverse = _pairing(back, [directions[wrt.index(i)] for i in again.differentiated])
    found = _pairing(weights, along)
    wide = Reference(joint.block, np.float64)

    def scalar(arrays: Any) -> float:
        moved = list(point)
        for i, array in zip(wrt, arrays, strict=True):
            moved[i] = array
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = wide(*moved)
        return _pairing([results[i] for i in of], weights)

    base = [point[i].astype(np.float64) for i in wrt]
    try:
        line = [d.astype(float) for d in directions]
        steps = [directional_derivative(scalar, base, line, step) for step in (1e-3, 1e-4, 1e-5)]
        sides = [directional_derivative(scalar, _moved(base, line, s), line, 1e-6) for s in (1e-5, -1e-5)]
    except Exception as error:  # noqa: BLE001  # evaluators raise anything for dtypes they do not expect
        return "no reference", f"{type(error).__name__}: {error}"[:80]
    tolerance = max(TOLERANCES[d.dtype.name] for d in directions)
    size = max(_size(weights, along), 1e-3)
    if not np.isfinite(found) and not np.isfinite(reverse):
        return "at a kink", ""
    if abs(found - reverse) > tolerance * size:
        return "nestings differ", f"forward over reverse {found:.6g}, reverse over reverse {reverse:.6g}"
    if min(abs(found - s) for s in steps) <= tolerance * max(size, *map(abs, steps)):
        return "right", ""
    if not np.isclose(*sides, rtol=1e-3, atol=1e-5 * size) or abs(steps[-1]) > 5 * abs(steps[-2]):
        return "at a kink", ""
    return "other second derivative", f"{found:.6g} against {steps}"


def _moved(point: list[Any], direction: list[Any], step: float) -> list[Any]:
    return [p + step * d for p, d in zip(point, direction, strict=True)]


def _split(program: Any) -> Any:
    """The split of a program, or why there is none."""
    if not any(t.is_float for t in program.types) or not any(r.type.is_float for r in program.block.results):
        return "not differentiable", ""
    try:
        made = ps.split(program)
    except PrimsplitError as error:
        return "refused", str(error).splitlines()[0]
    return made if made.split.targets else ("zero", "")


def _drawn(random: np.random.Generator, value: Any) -> Any:
    return random.standard_normal(value.shape).astype(value.dtype)


def _pairing(left: Any, right: Any) -> float:
    return float(sum(np.sum(a.astype(float) * b.astype(float)) for a, b in zip(left, right, strict=True)))


def _size(left: Any, right: Any) -> float:
    return float(sum(np.sum(np.abs(a.astype(float) * b.astype(float))) for a, b in zip(left, right, strict=True)))

"""Check a loaded case for `node_sweep.py --mode jvp` and `--order 2`: tangents, and second derivatives.

Tangents are compared with the gradients, which the sweep compares with central differences: <dz, J v> = <J^T dz, v>.
Second derivatives, by the pullback's own pullback and by its tangents, are compared with each other and with central
differences of the gradient program, evaluated op by op with all floats wide.
"""

from typing import Any

import numpy as np

import primsplit as ps
from primsplit.ir.errors import PrimsplitError
from primsplit.programs.pushed import push_program
from primsplit.testing.reference import Reference
from tools.node_cases import Loaded, run, split_of
from tools.node_differences import TOLERANCES, Verdict, compared, drawn, pairing, refused, size_of


def tangent_verdict(loaded: Loaded) -> Verdict:
    """Compare the tangents along a random direction with the gradients, in the case's own dtype and in float64."""
    verdict = _tangents(loaded)
    if verdict[0] != "right" or loaded.wide is None:
        return verdict
    exact = _tangents(loaded.wide)
    return verdict if exact[0].startswith("refused") else exact


def _tangents(loaded: Loaded) -> Verdict:
    program, inputs = loaded.program, loaded.inputs
    made = split_of(program)
    if isinstance(made, tuple):
        return made
    try:
        pushed = push_program(program, made.split.wrt, made.split.of)
    except PrimsplitError as error:
        return refused(error, "refused forward")
    random = np.random.default_rng(0)
    joint = made.joint()
    values = run(program, inputs)
    shown = [values[i] for i in made.split.of]
    seeds = [np.ones_like(v) if made.seeded else drawn(random, v) for v in shown]
    if not any(np.isfinite(v.astype(float)).any() for v in shown) and any(v.size for v in shown):
        return "not finite, as its value", ""
    given = [] if made.seeded else seeds
    gradients = run(joint, [*inputs, *given])[len(values) :]
    tangents = [drawn(random, inputs[i]) for i in pushed.pushed.wrt]
    forward = pushed.joint()
    along = run(forward, [*inputs, *tangents])[len(values) :]
    left, right = pairing(along, seeds), pairing(gradients, tangents)
    size = max(size_of(along, seeds), size_of(gradients, tangents), 1e-3)
    tolerance = max(TOLERANCES[t.dtype.name] for t in (*tangents, *seeds))
    if not (np.isfinite(left) or np.isfinite(right)):
        return "at an edge", f"{left}, both ways"
    if abs(left - right) <= tolerance * size:
        return "right", ""
    if not np.isfinite(left + right) and not all(np.isfinite(v.astype(float)).all() for v in shown):
        return "not finite, as its value", ""
    return "wrong tangent", f"{left:.6g}, and by the gradients {right:.6g}"


def second_verdict(loaded: Loaded) -> Verdict:
    """Compare the second derivatives along two random directions with differences of the gradient.

    In float64, where the case has such a form.
    """
    verdict = None if loaded.wide is None else _second(loaded.wide)
    return _second(loaded) if verdict is None or verdict[0].startswith("refused") else verdict


def _second(loaded: Loaded) -> Verdict:
    program, inputs = loaded.program, loaded.inputs
    told = split_of(program)
    if isinstance(told, tuple):
        return told
    joint = told.joint()
    random = np.random.default_rng(0)
    values = run(program, inputs)
    seeds = [] if told.seeded else [drawn(random, values[i]) for i in told.split.of]
    point = [*inputs, *seeds]
    wrt = [*told.split.targets, *range(len(inputs), len(point))]
    of = [len(values) + told.differentiated.index(i) for i in told.split.targets]
    try:
        again = ps.split(joint, wrt=[joint.inputs[i] for i in wrt], of=[joint.outputs[i] for i in of])
        pushed = push_program(joint, wrt, of)
    except PrimsplitError as error:
        return refused(error, "refused at order 2")
    firsts = [inputs[i] for i in told.split.targets]
    weights = [drawn(random, x) for x in firsts]
    directions = [drawn(random, point[i]) for i in wrt]
    second, forward = again.joint(), pushed.joint()
    back = run(second, [*point, *weights])[len(joint.outputs) :]
    along = run(forward, [*point, *directions])[len(joint.outputs) :]
    reverse = pairing(back, [directions[wrt.index(i)] for i in again.differentiated])
    found = pairing(along, weights)
    tolerance = max(TOLERANCES[d.dtype.name] for d in directions)
    size = max(size_of(along, weights), 1e-3)
    is_finite = all(np.isfinite(v.astype(float)).all() for v in values if v.dtype.kind not in "OSU")
    if not (np.isfinite(found + reverse) or is_finite):
        return "not finite, as its value", ""
    if abs(found - reverse) > tolerance * size or np.isfinite(found) != np.isfinite(reverse):
        return "nestings differ", f"forward over reverse {found:.6g}, reverse over reverse {reverse:.6g}"
    base, line = ([a.astype(np.float64) for a in arrays] for arrays in ([point[i] for i in wrt], directions))
    scalar = _scalar(Reference(joint.block, np.float64), point, wrt, of, weights)
    try:
        word, reason = compared(scalar, base, line, found, size=size, tolerance=tolerance)
    except Exception as error:  # noqa: BLE001  # evaluators raise anything for dtypes they do not expect
        return "no reference", f"{type(error).__name__}: {error}"[:80]
    return ("wrong second derivative" if word == "wrong" else word), reason


def _scalar(wide: Reference, point: list[Any], wrt: list[int], of: list[int], weights: list[Any]) -> Any:
    """The sum of some results, each times its weights, by what is in the place of some inputs."""

    def scalar(arrays: Any) -> float:
        moved = list(point)
        for i, array in zip(wrt, arrays, strict=True):
            moved[i] = array
        results = wide(*moved)
        return pairing([results[i] for i in of], weights)

    return scalar

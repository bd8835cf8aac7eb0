"""Checks forward mode for `check_rrule`: tangents against central differences and against the pullback."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit.ir.errors import PrimsplitError
from primsplit.programs.api import SplitProgram
from primsplit.programs.pushed import PushedProgram, push_program
from primsplit.rewrites.inline import inline_calls
from primsplit.testing.differences import agreement, pairing
from primsplit.testing.failures import CheckFailed
from primsplit.testing.job import AnyArray, Job, compare
from primsplit.testing.numeric import points_of, shapes
from primsplit.testing.reference import Reference
from primsplit.tracing.calls.linearity import explain_nonlinearity

DIRECTIONS = 2


def check_forward(job: Job) -> None:
    """Check the Jacobian-vector product against differences and the pullback, also at kinks and other sizes."""
    pushed = _pushed(job, job.made)
    if told := explain_nonlinearity(inline_calls(pushed.tangent), pushed.pushed.tangents):
        raise CheckFailed("forward", told)
    session = pushed.joint().session()
    for _ in range(DIRECTIONS):
        _against_differences(job, pushed, session)
    _check_pairing(job, job.made, pushed, (session, job.joint.session()), job.subject.point)
    for kink in job.kinks:
        there = _pushed(job, kink.made)
        _check_pairing(job, kink.made, there, (there.joint().session(), kink.session), kink.point)
    if job.settings.sizes:
        _check_symbolic(job)


def _pushed(job: Job, made: SplitProgram) -> PushedProgram:
    try:
        return push_program(made.program, job.wrt, made.split.of)
    except PrimsplitError as error:
        raise CheckFailed("forward", str(error)) from error


def _tangents(job: Job, point: Sequence[AnyArray]) -> list[AnyArray]:
    """A random direction, scaled to the point's entries."""
    chosen = [point[i] for i in job.wrt]
    scaled = (job.random.standard_normal(a.shape) * np.maximum(np.abs(a), 1.0) * 0.1 for a in chosen)
    return [np.asarray(t, a.dtype) for t, a in zip(scaled, chosen, strict=True)]


def _run(
    pushed: PushedProgram, session: Any, point: Sequence[AnyArray], tangents: Sequence[AnyArray]
) -> list[AnyArray]:
    found: list[AnyArray] = session(*point, *tangents)
    return found[len(pushed.program.outputs) :]


def _against_differences(job: Job, pushed: PushedProgram, session: Any) -> None:
    point, of = job.subject.point, pushed.pushed.of
    tangents = _tangents(job, point)
    found = _run(pushed, session, point, tangents)
    for position, tangent in zip(of, found, strict=True):
        wanted = job.values[position]
        if tangent.shape != wanted.shape or tangent.dtype != wanted.dtype:
            raise CheckFailed("forward", f"the tangent of result {position} is {tangent.dtype}{tangent.shape}")
    smooth = job.smooth(pushed.program.block, of)

    def moved(arrays: Sequence[AnyArray]) -> list[AnyArray]:
        whole = list(point)
        for position, array in zip(job.wrt, arrays, strict=True):
            whole[position] = array
        return smooth(whole)

    seeds = job.seeds()
    told = agreement(
        moved,
        [point[i].astype(np.float64) for i in job.wrt],
        [t.astype(np.float64) for t in tangents],
        seeds,
        found=pairing(seeds, found),
        scale=max(float(np.sqrt(sum(np.sum(np.square(f, dtype=np.float64)) for f in found))), 1e-3),
        tolerance=job.tolerance(),
        largest=10 * job.settings.max_step,
    )
    if told:
        raise CheckFailed("forward", f"the derivative along a direction is {told}")


def _check_pairing(
    job: Job, made: SplitProgram, pushed: PushedProgram, sessions: tuple[Any, Any], point: Sequence[AnyArray]
) -> None:
    """Check <dz, jvp(v)> = <vjp(dz), v>, with one session for each."""
    tangents = _tangents(job, point)
    values = Reference(made.program.block, None)(*point)
    seeds = [job.random.standard_normal(values[i].shape).astype(values[i].dtype) for i in made.split.of]
    along = _run(pushed, sessions[0], point, tangents)
    back = sessions[1](*point, *seeds)[len(values) :]
    left, right = pairing(seeds, along), pairing(back, tangents)
    terms = (float(np.sum(np.abs(s * a.astype(np.float64)))) for s, a in zip(seeds, along, strict=True))
    scale = max(1e-3, *terms)
    compare(
        f"<dz, jvp(v)> / size for shapes {shapes(point)}",
        np.asarray(left / scale), np.asarray(right / scale), 1e-2 * job.tolerance(), "forward",
    )  # fmt: skip


def _check_symbolic(job: Job) -> None:
    for separate in (False, True) if job.settings.separate else (False,):
        compiled = job.symbolic(separate=separate)
        pushed = _pushed(job, compiled.made)
        sessions = pushed.joint().session(), compiled.session
        for point in points_of(job, separate=separate):
            _check_pairing(job, compiled.made, pushed, sessions, point)

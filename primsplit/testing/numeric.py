"""The checks of `check_rrule` that compare numbers: with other evaluators, central differences, and across dtypes."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from onnx.reference import ReferenceEvaluator

from primsplit.ir import Var
from primsplit.ir.errors import DtypeError, PrimsplitError
from primsplit.programs.api import SplitProgram
from primsplit.programs.program import Program
from primsplit.testing.differences import agreement, directions, pairing
from primsplit.testing.failures import CheckFailed
from primsplit.testing.gradients import cut
from primsplit.testing.job import AnyArray, Job, Smooth, close, compare
from primsplit.testing.reference import Reference
from primsplit.testing.subject import Subject
from primsplit.tracing.trees import as_list
from primsplit.transforms.split import split_whole

NUMPY_ERRORS = (ValueError, IndexError, RuntimeError, ZeroDivisionError, TypeError, PrimsplitError)


def check_primal(job: Job) -> None:
    """Check the value by onnxruntime, by onnx.reference, by the rule, and by NumPy if there is a function."""
    subject, program = job.subject, job.made.program
    found = {
        "onnxruntime": program.session()(*subject.point),
        "the rule": job.joint.session()(*subject.point, *job.seeds())[: len(job.values)],
    }
    with contextlib.suppress(*NUMPY_ERRORS):  # onnx.reference does not run every operator
        feeds = dict(zip(program.inputs, subject.point, strict=True))
        found["onnx.reference"] = ReferenceEvaluator(program.to_onnx()).run(None, feeds)
    if job.settings.numpy is not None or not isinstance(subject.target, str):
        plain = subject.at(subject.point)
        function = job.settings.numpy
        result = plain.numpy() if function is None else function(*(_copy(x) for x in plain.inputs))
        found["NumPy"] = [np.asarray(x) for x in as_list(result)]
    for who, values in found.items():
        for position, (value, wanted) in enumerate(zip(values, job.values, strict=True)):
            compare(f"result {position} by {who}", value, wanted, job.value_tolerance, "primal")


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def check_differences(job: Job) -> None:
    """Check cotangents against central differences."""
    function = job.smooth(job.made.program.block, job.made.split.of)
    for most in (12, 4):
        seeds = job.seeds()
        _against_differences(
            job,
            function,
            job.subject.point,
            wrt=job.wrt,
            gradients=job.gradients(seeds),
            seeds=seeds,
            check="differences",
            most=most,
        )


def _against_differences(
    job: Job,
    function: Smooth,
    point: Sequence[AnyArray],
    *,
    wrt: Sequence[int],
    gradients: Sequence[AnyArray],
    seeds: Sequence[AnyArray],
    check: str,
    most: int = 24,
) -> None:
    """Check the gradients of <seeds, function(point)> in the arrays `wrt` against differences."""

    def moved(arrays: Sequence[AnyArray]) -> list[AnyArray]:
        whole = list(point)
        for position, array in zip(wrt, arrays, strict=True):
            whole[position] = array
        return function(whole)

    base = [point[i].astype(np.float64) for i in wrt]
    for position, (array, gradient) in enumerate(zip((point[i] for i in wrt), gradients, strict=True)):
        if gradient.shape != array.shape or gradient.dtype != array.dtype:
            raise CheckFailed(
                check, f"cotangent {position} is {gradient.dtype}{gradient.shape}, of {array.dtype}{array.shape}"
            )
    size = max((float(np.max(np.abs(g), initial=0)) for g in gradients), default=0.0)
    for direction in directions(base, job.random, most):
        length = max((float(np.max(np.abs(d), initial=0)) for d in direction), default=0.0)
        told = agreement(
            moved,
            base,
            direction,
            seeds,
            found=pairing(gradients, direction),
            scale=max(size * length, 1e-3),
            tolerance=job.tolerance(),
            largest=10 * job.settings.max_step,
        )
        if told:
            raise CheckFailed(check, f"along {[d.round(3).tolist() for d in direction]} the derivative is {told}")


def check_sizes(job: Job) -> None:
    """Check the program of symbolic sizes at several sizes."""
    for separate in (False, True) if job.settings.separate else (False,):
        compiled = job.symbolic(separate=separate)
        for point in points_of(job, separate=separate):
            _check_size(job, compiled.made, compiled.session, point)
            job.report.sizes.append(shapes(point))


def points_of(job: Job, *, separate: bool) -> list[list[AnyArray]]:
    """The point, and the point cut to the requested sizes if the target accepts them."""
    if separate not in job.points:
        job.points[separate] = list(_points(job, separate=separate))
    return job.points[separate]


def _points(job: Job, *, separate: bool) -> Iterator[list[AnyArray]]:
    given = job.subject.point
    points = [given, *([cut(a, n) for a in given] for n in job.settings.sizes)]
    if separate:
        points += [[cut(b, 1) if i == j else b for j, b in enumerate(given)] for i in job.wrt]
    yield from (point for point in points if _literal(job.subject, point))


def shapes(point: Sequence[AnyArray]) -> str:
    """The shapes of arrays as text."""
    return ", ".join(str(list(a.shape)) for a in point)


def _literal(subject: Subject, point: Sequence[AnyArray]) -> bool:
    """Return whether the target accepts arrays of these sizes and returns finite numbers."""
    try:
        values = Reference(subject.at(point).program().block, None)(*point)
    except NUMPY_ERRORS:
        return False
    return all(np.all(np.isfinite(v)) for v in values if v.dtype.kind == "f")


def _check_size(job: Job, made: SplitProgram, joint: Any, point: Sequence[AnyArray]) -> None:
    values = Reference(made.program.block, None)(*point)
    seeds = [job.random.standard_normal(values[i].shape).astype(values[i].dtype) for i in made.split.of]
    found = joint(*point, *seeds)
    for position, (value, wanted) in enumerate(zip(found, values, strict=False)):
        compare(f"result {position} for shapes {shapes(point)}", value, wanted, job.value_tolerance, "sizes")

    function = job.smooth(made.program.block, made.split.of)
    _against_differences(
        job, function, point, wrt=job.wrt, gradients=found[len(values) :], seeds=seeds, check="sizes", most=4
    )


def check_dtypes(job: Job) -> None:
    """Check gradients in fewer bits against those of the float64 program at the rounded inputs."""
    for dtype in job.settings.dtypes:
        narrow = job.subject.cast(dtype)
        try:
            made = narrow.split(job.wrt)
            session = made.joint().session()
        except DtypeError:
            continue
        job.report.dtypes.append(dtype)
        wide = [a.astype(np.float64) if a.dtype.name == dtype else a for a in narrow.point]
        values = job.reference(*wide)
        seeds = [s.astype(c.type.dtype) for c, s in zip(made.split.cotangents, job.seeds(values), strict=True)]
        found = session(*narrow.point, *seeds)[len(values) :]
        same = [s.astype(c.type.dtype) for c, s in zip(job.made.split.cotangents, seeds, strict=True)]
        wanted = job.joint.session()(*wide, *same)[len(values) :]
        for position, (gradient, right) in enumerate(zip(found, wanted, strict=True)):
            if gradient.dtype != narrow.point[job.wrt[position]].dtype:
                raise CheckFailed("dtypes", f"cotangent {position} is {gradient.dtype} for an input of {dtype}")
            close(f"cotangent {position} in {dtype}", gradient, right, job.tolerance(dtype), "dtypes")


def check_second_order(job: Job) -> None:
    """Check the gradient of the gradient, in the inputs and the cotangents."""
    block = job.made.split.joint()
    first = len(job.values)
    count = len(job.subject.point)
    of = [i for i in range(first, len(block.results)) if isinstance(block.results[i], Var)]
    if not of:
        return
    wrt = [*job.wrt, *range(count, len(block.params))]
    try:
        split = split_whole(block, wrt, of)
    except PrimsplitError as error:
        raise CheckFailed("second_order", str(error)) from error
    program = Program(
        block,
        inputs=job.joint.inputs,
        outputs=job.joint.outputs,
        arguments=job.joint.arguments,
        result=job.joint.result,
        static=job.joint.static,
    )
    made = SplitProgram(program, split, seeded=False, differentiated=split.wrt)
    point = [*job.subject.point, *job.seeds()]
    values = Reference(block, None)(*point)
    seeds = [job.random.standard_normal(values[i].shape).astype(values[i].dtype) for i in of]
    found = made.joint().session()(*point, *seeds)[len(values) :]

    function = job.smooth(block, of)
    _against_differences(job, function, point, wrt=wrt, gradients=found, seeds=seeds, check="second_order", most=12)


def check_kinks(job: Job) -> None:
    """Check the stated convention at points where there is no derivative."""
    for kink, (inputs, expected) in zip(job.kinks, job.settings.kinks, strict=True):
        values = Reference(kink.made.program.block, None)(*kink.point)
        seeds = [np.ones_like(values[i]) for i in kink.made.split.of]
        found = kink.session(*kink.point, *seeds)[len(values) :]
        for position, (gradient, wanted) in enumerate(zip(found, expected, strict=True)):
            right = np.asarray(wanted, gradient.dtype)
            compare(f"cotangent {position} at the kink {inputs}", gradient, right, 1e-12, "kinks")

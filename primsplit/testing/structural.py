"""The checks of `check_rrule` on the form of a rule and its split, and on what is computed only once."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primsplit.ir import Op, Value, Var, own_symbols
from primsplit.ir.caching.counters import counts
from primsplit.ir.dims import same_shape
from primsplit.programs.api import SplitProgram
from primsplit.rewrites.inline import inline_calls
from primsplit.rules.table import Rule
from primsplit.testing.closed import assert_closed
from primsplit.testing.failures import CheckFailed
from primsplit.testing.files import run_files
from primsplit.testing.job import Job, close, compare
from primsplit.testing.subject import rules_of
from primsplit.tracing import Recording, fresh_stack, recording
from primsplit.tracing.array import Array
from primsplit.tracing.calls.linearity import explain_nonlinearity
from primsplit.tracing.trees import as_list
from primsplit.transforms.rule_run import run_rule
from primsplit.transforms.split import split_op, split_whole


def check_closed(job: Job) -> None:
    """Check that there are only ops, with the expected listing, operators and captures."""
    assert_closed(job.made.split, job.settings.listing)
    nodes, captures = job.settings.expected_nodes, job.settings.expected_captures
    if nodes is not None and list(nodes) != job.report.nodes:
        raise CheckFailed("closed", f"the pullback is {job.report.nodes}, not {list(nodes)}")
    if captures is not None and dict(captures) != job.report.captures:
        raise CheckFailed("closed", f"the captures are {job.report.captures}, not {dict(captures)}")


def check_linear(job: Job) -> None:
    """Check that the pullback of a sum of cotangents is the sum of the pullbacks, in numbers and by its ops."""
    split = job.made.split
    if told := explain_nonlinearity(split.pullback, split.cotangents):
        raise CheckFailed("linear", told)
    first, second = job.seeds(), job.seeds()
    mixed = [1.75 * a - 0.625 * b for a, b in zip(first, second, strict=True)]
    parts = zip(job.gradients(first), job.gradients(second), job.gradients(mixed), strict=True)
    for position, (a, b, found) in enumerate(parts):
        close(
            f"cotangent {position} of a sum of cotangents",
            found,
            1.75 * a - 0.625 * b,
            1e-2 * job.tolerance(),
            "linear",
        )


def check_repeat(job: Job) -> None:
    """Check that running the pullback, and recording the rule, a second time gives the same."""
    seeds = job.seeds()
    kept = [a.copy() for a in (*job.subject.point, *seeds)]
    first, second = job.gradients(seeds), job.gradients(seeds)
    if any(a.tobytes() != b.tobytes() for a, b in zip(first, second, strict=True)):
        raise CheckFailed("repeat", "the pullback run again gives something else")
    if any(a.tobytes() != b.tobytes() for a, b in zip((*job.subject.point, *seeds), kept, strict=True)):
        raise CheckFailed("repeat", "an input was written to")
    for op, rule, attributes in rules_of(job.made.program.block.ops):
        wrt, of = _active(op)
        with fresh_stack():
            once, again = (run_rule(op, rule, attributes, wrt, of, name="rule") for _ in range(2))
        if own_symbols(once.primal) or own_symbols(once.pullback):
            continue
        pairs = ((once.primal, again.primal), (once.pullback, again.pullback))
        if any(inline_calls(a) != inline_calls(b) for a, b in pairs):
            raise CheckFailed("repeat", f"the rule of {op.kind} run again records something else")


def _active(op: Op) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The floating-point inputs that are variables, and the floating-point outputs."""
    wrt = tuple(i for i, v in enumerate(op.inputs) if isinstance(v, Var) and v.type.is_float)
    return wrt, tuple(i for i, v in enumerate(op.outputs) if v.type.is_float)


def check_form(job: Job) -> None:
    """Check for one cotangent per input, of its type; zero for zero; a cotangent of one result must count alone."""
    settings, subject = job.settings, job.subject
    for op, rule, attributes in rules_of(job.made.program.block.ops):
        _check_cotangents(op, rule, attributes, settings.no_tangent if op.kind == subject.target else ())
    values = [job.subject.point[i] for i in job.wrt]
    zeros = [np.zeros_like(s) for s in job.seeds()]
    for array, gradient in zip(values, job.gradients(zeros), strict=True):
        compare("the cotangent for a zero cotangent", gradient, np.zeros_like(array), 0.0, "form")
    of = job.made.split.of
    if len(of) > 1:
        _check_partial(job, of)


def _check_cotangents(op: Op, rule: Rule, attributes: Mapping[str, Any], no_tangent: Sequence[int]) -> None:
    """Check that the pullback returns one cotangent per input, None exactly where there is no tangent."""
    with fresh_stack(), recording() as recorded:
        inputs = [_fresh(v, recorded) for v in op.inputs]
        outputs, pullback = rule(*inputs, **attributes)
        seeds = [Array(recorded.param(o.type)) if o.type.is_float else None for o in as_list(outputs)]
        found = as_list(pullback(*seeds))
    if len(found) != len(op.inputs):
        raise CheckFailed("form", f"{op.kind} gives {len(found)} cotangents for {len(op.inputs)} inputs")
    for position, (value, cotangent) in enumerate(zip(op.inputs, found, strict=True)):
        if not isinstance(value, Var):
            continue
        wanted = value.type.is_float and position not in no_tangent
        if wanted != (cotangent is not None):
            told = "a cotangent" if cotangent is not None else "no cotangent"
            raise CheckFailed("form", f"{op.kind} gives {told} for input {position}, which is {value.type}")
        if cotangent is not None and not (
            isinstance(cotangent, Array)
            and cotangent.dtype == value.type.dtype
            and same_shape(cotangent.shape, value.type.shape or ())
        ):
            raise CheckFailed("form", f"{op.kind} gives {cotangent!r} for input {position}, which is {value.type}")


def _fresh(value: Value | None, recorded: Recording) -> Array | None:
    if value is None:
        return None
    return Array(recorded.param(value.type) if isinstance(value, Var) else value)


def _check_partial(job: Job, of: Sequence[int]) -> None:
    """Check that the split for one result's cotangent alone is the whole split with the other cotangents zero."""
    block = job.made.program.block
    for position, result in enumerate(of):
        seeds = [s if i == position else np.zeros_like(s) for i, s in enumerate(job.seeds())]
        alone = SplitProgram(
            job.made.program, split_whole(block, job.wrt, [result]), seeded=False, differentiated=job.wrt
        )
        found = alone.joint().session()(*job.subject.point, seeds[position])[len(job.values) :]
        for which, (gradient, wanted) in enumerate(zip(found, job.gradients(seeds), strict=True)):
            compare(f"cotangent {which} for result {result} alone", gradient, wanted, 1e-12, "form")


def check_subset(job: Job) -> None:
    """Check every non-empty subset of `wrt`; for more than three inputs, each one alone."""
    if len(job.wrt) < 2:
        return
    seeds = job.seeds()
    whole = dict(zip(job.wrt, job.gradients(seeds), strict=True))
    lengths = range(1, len(job.wrt)) if len(job.wrt) <= 3 else (1,)
    block, split = job.made.program.block, job.made.split
    for subset in itertools.chain.from_iterable(itertools.combinations(job.wrt, n) for n in lengths):
        part = split_whole(block, subset, split.of)
        made = SplitProgram(job.made.program, part, seeded=False, differentiated=part.wrt)
        found = made.joint().session()(*job.subject.point, *seeds)[len(job.values) :]
        for position, gradient in zip(subset, found, strict=True):
            compare(f"cotangent {position} with wrt={subset}", gradient, whole[position], 1e-12, "subset")
        if len(part.pullback.ops) > len(split.pullback.ops) or _stored(part) > _stored(split):
            raise CheckFailed("subset", f"wrt={subset} takes more ops or captures than all of them")


def _stored(split: Any) -> int:
    sizes = [c.type.nbytes() for c in split.captures]
    return sum(s for s in sizes if isinstance(s, int))


def check_files(job: Job) -> None:
    """Check that the files are valid, fit each other, and give the same cotangents as the joint one."""
    seeds = job.seeds()
    found = run_files(job.made, job.subject.point, seeds)
    for position, (gradient, wanted) in enumerate(zip(found, job.gradients(seeds), strict=True)):
        compare(f"cotangent {position} by the backward file", gradient, wanted, 1e-12, "files")


def check_counters(job: Job) -> None:
    """Check that a second call traces, builds and loads nothing."""
    seeds = job.seeds()
    job.joint(*job.subject.point, *seeds)
    before = counts()
    job.joint(*job.subject.point, *seeds)
    if counts() != before:
        raise CheckFailed("counters", "the second call traced or loaded something again")
    for op, _, _ in rules_of(job.made.program.block.ops):
        wrt, of = _active(op)
        made = split_op(op, wrt, of)
        fixed = not (own_symbols(made.primal) or own_symbols(made.pullback))
        if fixed and not op.kind.startswith("call::") and split_op(op, wrt, of) is not made:
            raise CheckFailed("counters", f"the rule of {op.kind} is run again for the same signature")

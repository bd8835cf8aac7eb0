"""check_rrule: one call that asks everything of a derivative rule that can be asked."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import program as programs
from primsplit import runtime
from primsplit.array import Array
from primsplit.dims import same_shape
from primsplit.errors import DtypeError, PrimsplitError, RuleError
from primsplit.export import SplitProgram
from primsplit.ir import Op, Value, Var, own_symbols
from primsplit.rules.table import Rule
from primsplit.split import run_rule, split_block, split_op
from primsplit.testing.closed import assert_closed
from primsplit.testing.differences import agreement, directions, pairing
from primsplit.testing.failures import CheckFailed
from primsplit.testing.files import check_files
from primsplit.testing.gradients import cut
from primsplit.testing.linearity import explain_nonlinearity
from primsplit.testing.reference import Reference
from primsplit.testing.subject import Domain, Subject, Target, make_subject, rules_of, symbolic
from primsplit.tracing import Recording, fresh_stack, recording

AnyArray = npt.NDArray[Any]
Kink = tuple[Sequence[Any], Sequence[npt.ArrayLike]]
RTOL: Mapping[str, float] = {"float64": 1e-7, "float32": 2e-4, "float16": 5e-2}
NUMPY_ERRORS = (ValueError, IndexError, RuntimeError, ZeroDivisionError, TypeError, PrimsplitError)


@dataclass(frozen=True)
class Settings:
    """The options of `check_rrule`."""

    numpy: Callable[..., Any] | None
    kinks: Sequence[Kink]
    max_step: float
    rtol: Mapping[str, float]
    value_tolerance: float
    expected_nodes: Sequence[str] | None
    expected_captures: Mapping[str, str] | None
    listing: str | None
    no_tangent: Sequence[int]
    sizes: Sequence[int]
    separate: bool
    dtypes: Sequence[str]


@dataclass
class Report:
    """What was found and run: the ops of the pullback, the captures with their kinds, sizes and dtypes."""

    name: str
    nodes: list[str] = field(default_factory=list)
    primal: list[str] = field(default_factory=list)
    captures: dict[str, str] = field(default_factory=dict)
    checks: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)


def check_rrule(
    target: Target,
    *inputs: Any,
    attributes: Mapping[str, Any] | None = None,
    wrt: Sequence[int] | None = None,
    outputs: int | None = None,
    domain: Domain | list[Domain] = (-2.0, 2.0),
    numpy: Callable[..., Any] | None = None,
    kinks: Sequence[Kink] = (),
    max_step: float = 1e-3,
    rtol: Mapping[str, float] | None = None,
    value_tolerance: float = 1e-12,
    expected_nodes: Sequence[str] | None = None,
    expected_captures: Mapping[str, str] | None = None,
    listing: str | None = None,
    no_tangent: Sequence[int] = (),
    first_order_only: bool = False,
    is_symbolic: bool = True,
    sizes: Sequence[int] = (1, 0),
    separate: bool = False,
    dtypes: Sequence[str] = ("float32", "float16"),
    only: Sequence[str] | None = None,
    seed: int = 0,
) -> Report:
    """Check the derivative rule of an operator (by its name), a primitive, or a function of arrays.

    Inputs that are float64, integer or bool arrays, or Types that are sampled from `domain` (an interval or a sampler;
    a list for one an input), are the program's inputs. Lists, numbers, `Const`s and None are part of it.

    - primal: the value is the same in onnxruntime, onnx.reference and NumPy (`numpy`, or the function itself).
    - closed: the split holds nothing of Python's, and its listing is `listing` where that is given. The pullback's
      operators are `expected_nodes`, its captures (name: kind) `expected_captures`.
    - differences: cotangents agree with central differences at two neighbouring steps, up to `max_step`.
    - linear: the pullback is linear in the cotangent, in numbers and by its ops.
    - repeat: rule and pullback run again give the same, bit by bit, and leave their inputs alone.
    - form: one cotangent an input, of its dtype and shape; None exactly for integers, bools and `no_tangent`; zero
      for zero; a cotangent of one of several results counts alone.
    - subset: any subset of `wrt` gives the same numbers with no more ops and captures.
    - sizes: with a symbol for each size, run at the full size and cut to `sizes`, where the operator allows that; with
      `separate` also with a symbol for each axis, so that broadcasting is decided at run time.
    - dtypes: float32, and float16 where there are kernels.
    - second_order: the gradient of the gradient, unless `first_order_only`.
    - files: joint, forward and backward files are right ONNX and fit each other.
    - counters: nothing is traced, built or loaded twice.
    - kinks: at points (inputs, expected cotangents for a cotangent of ones) the stated convention holds.

    `only` names the checks to run. Raises CheckFailed, whose `check` is the name. `wrt` are positions of inputs.
    """
    random = np.random.default_rng(seed)
    subject = make_subject(target, inputs, attributes or {}, outputs, domain, random)
    settings = Settings(
        numpy, kinks, max_step, {**RTOL, **(rtol or {})}, value_tolerance, expected_nodes, expected_captures, listing,
        no_tangent, sizes if is_symbolic else (), separate and is_symbolic, dtypes,
    )  # fmt: skip
    skipped = set() if is_symbolic else {"sizes"}
    if first_order_only:
        skipped.add("second_order")
    if not kinks:
        skipped.add("kinks")
    chosen = [n for n in CHECKS if (only is None or n in only) and n not in skipped]
    job = _Job(subject, _chosen(subject, wrt), settings, random)
    for name in chosen:
        CHECKS[name](job)
        job.report.checks.append(name)
    return job.report


def _chosen(subject: Subject, wrt: Sequence[int] | None) -> list[int]:
    """The arrays to differentiate in, as positions among the arrays."""
    positions, point = subject.positions, subject.point
    if wrt is None:
        return [i for i, array in enumerate(point) if array.dtype.kind == "f"]
    return [positions.index(i) for i in wrt]


class _Job:
    """What the checks share."""

    def __init__(self, subject: Subject, wrt: Sequence[int], settings: Settings, random: np.random.Generator) -> None:
        self.subject = subject
        self.wrt = list(wrt)
        self.settings = settings
        self.random = random
        try:
            self.made = subject.split(wrt)
        except RuleError as error:
            raise CheckFailed("form", str(error)) from error
        split = self.made.split
        names = self.made.capture_names()
        self.report = Report(
            subject.name,
            nodes=[op.kind for op in split.pullback.ops],
            primal=[op.kind for op in split.primal.ops],
            captures={names[c]: split.kind(c) for c in split.captures},
        )
        self.reference = Reference(self.made.program.block, None)
        self.values = self.reference(*subject.point)
        self.joint = self.made.joint()

    def seeds(self, values: Sequence[AnyArray] | None = None) -> list[AnyArray]:
        """Random cotangents for the floating-point results."""
        given = self.values if values is None else values
        return [self.random.standard_normal(given[i].shape).astype(given[i].dtype) for i in self.made.split.of]

    def gradients(self, seeds: Sequence[AnyArray]) -> list[AnyArray]:
        """The cotangents of the arrays in `wrt`, run by onnxruntime."""
        found: list[AnyArray] = self.joint.session()(*self.subject.point, *seeds)[len(self.values) :]
        return found

    def tolerance(self, dtype: str) -> float:
        return self.settings.rtol[dtype]


def _check_primal(job: _Job) -> None:
    from onnx.reference import ReferenceEvaluator

    subject, program = job.subject, job.made.program
    found = {"onnxruntime": program.session()(*subject.point)}
    proto = program.to_onnx()
    found["onnx.reference"] = ReferenceEvaluator(proto).run(None, dict(zip(program.inputs, subject.point, strict=True)))
    if job.settings.numpy is not None or not isinstance(subject.target, str):
        plain = subject.at(subject.point)
        function = job.settings.numpy
        result = plain.numpy() if function is None else function(*(_copy(x) for x in plain.inputs))
        many = result if isinstance(result, tuple | list) else [result]
        found["NumPy"] = [np.asarray(x) for x in many]
    for who, values in found.items():
        for position, (value, wanted) in enumerate(zip(values, job.values, strict=True)):
            _compare(f"result {position} by {who}", value, wanted, job.settings.value_tolerance, "primal")


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _compare(what: str, value: Any, wanted: AnyArray, tolerance: float, check: str) -> None:
    """dtype and shape exactly, values relative to the largest."""
    array = np.asarray(value)
    if array.dtype != wanted.dtype or array.shape != wanted.shape:
        raise CheckFailed(check, f"{what} is {array.dtype}{list(array.shape)}, not {wanted.dtype}{list(wanted.shape)}")
    if array.dtype.kind not in "fV":
        if not np.array_equal(array, wanted):
            raise CheckFailed(check, f"{what} is {array}, not {wanted}")
        return
    _close(what, array, wanted, tolerance, check)


def _close(what: str, array: AnyArray, wanted: AnyArray, tolerance: float, check: str) -> None:
    wide, right = array.astype(np.float64), wanted.astype(np.float64)
    scale = max(1.0, float(np.max(np.abs(right[np.isfinite(right)]), initial=0)))
    if not np.allclose(wide, right, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
        error = np.nanmax(np.abs(wide - right))
        raise CheckFailed(check, f"{what} is {wide}, not {right}: off by {error:.3g}")


def _check_closed(job: _Job) -> None:
    assert_closed(job.made.split, job.settings.listing)
    nodes, captures = job.settings.expected_nodes, job.settings.expected_captures
    if nodes is not None and list(nodes) != job.report.nodes:
        raise CheckFailed("closed", f"the pullback is {job.report.nodes}, not {list(nodes)}")
    if captures is not None and dict(captures) != job.report.captures:
        raise CheckFailed("closed", f"the captures are {job.report.captures}, not {dict(captures)}")


def _check_differences(job: _Job) -> None:
    made = job.made

    def function(point: Sequence[AnyArray]) -> list[AnyArray]:
        values = job.reference(*point)
        return [values[i] for i in made.split.of]

    for _ in range(2):
        seeds = job.seeds()
        _against_differences(job, function, job.subject.point, job.wrt, job.gradients(seeds), seeds, "differences")


def _against_differences(
    job: _Job,
    function: Callable[[Sequence[AnyArray]], list[AnyArray]],
    point: Sequence[AnyArray],
    wrt: Sequence[int],
    gradients: Sequence[AnyArray],
    seeds: Sequence[AnyArray],
    check: str,
    most: int = 24,
) -> None:
    """The gradients of <seeds, function(point)> with respect to the arrays in `wrt` are those of the differences."""

    def moved(arrays: Sequence[AnyArray]) -> list[AnyArray]:
        whole = list(point)
        for position, array in zip(wrt, arrays, strict=True):
            whole[position] = array
        return function(whole)

    base = [point[i] for i in wrt]
    for position, (array, gradient) in enumerate(zip(base, gradients, strict=True)):
        if gradient.shape != array.shape or gradient.dtype != array.dtype:
            raise CheckFailed(check, f"cotangent {position} is {gradient.dtype}{gradient.shape}, of {array.dtype}{array.shape}")
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
            tolerance=job.tolerance("float64"),
            largest=10 * job.settings.max_step,
        )
        if told:
            raise CheckFailed(check, f"along {[d.round(3).tolist() for d in direction]} the derivative is {told}")


def _check_linear(job: _Job) -> None:
    split = job.made.split
    if told := explain_nonlinearity(split.pullback, split.cotangents):
        raise CheckFailed("linear", told)
    first, second = job.seeds(), job.seeds()
    mixed = [1.75 * a - 0.625 * b for a, b in zip(first, second, strict=True)]
    parts = zip(job.gradients(first), job.gradients(second), job.gradients(mixed), strict=True)
    for position, (a, b, found) in enumerate(parts):
        _close(f"cotangent {position} of a sum of cotangents", found, 1.75 * a - 0.625 * b, 1e-9, "linear")


def _check_repeat(job: _Job) -> None:
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
        if once.primal != again.primal or once.pullback != again.pullback:
            raise CheckFailed("repeat", f"the rule of {op.kind} run again records something else")


def _active(op: Op) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The floating-point inputs that are variables, and the floating-point outputs."""
    wrt = tuple(i for i, v in enumerate(op.inputs) if isinstance(v, Var) and v.type.is_float)
    return wrt, tuple(i for i, v in enumerate(op.outputs) if v.type.is_float)


def _check_form(job: _Job) -> None:
    settings, subject = job.settings, job.subject
    for op, rule, attributes in rules_of(job.made.program.block.ops):
        _check_cotangents(op, rule, attributes, settings.no_tangent if op.kind == subject.target else ())
    values = [job.subject.point[i] for i in job.wrt]
    zeros = [np.zeros_like(s) for s in job.seeds()]
    for array, gradient in zip(values, job.gradients(zeros), strict=True):
        _compare("the cotangent for a zero cotangent", gradient, np.zeros_like(array), 0.0, "form")
    of = job.made.split.of
    if len(of) > 1:
        _check_partial(job, of)


def _check_cotangents(op: Op, rule: Rule, attributes: Mapping[str, Any], no_tangent: Sequence[int]) -> None:
    """What the pullback returns: one cotangent an input, None exactly where there is no tangent."""
    with fresh_stack(), recording() as recorded:
        inputs = [_fresh(v, recorded) for v in op.inputs]
        outputs, pullback = rule(*inputs, **attributes)
        many = outputs if isinstance(outputs, tuple | list) else (outputs,)
        returned = pullback(*(Array(recorded.param(o.type)) if o.type.is_float else None for o in many))
    found = list(returned) if isinstance(returned, tuple | list) else [returned]
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


def _check_partial(job: _Job, of: Sequence[int]) -> None:
    """The split for the cotangent of one result alone is the whole split with the other cotangents zero."""
    block = job.made.program.block
    for position, result in enumerate(of):
        seeds = [s if i == position else np.zeros_like(s) for i, s in enumerate(job.seeds())]
        alone = SplitProgram(
            job.made.program, split_block(block, job.wrt, [result]), seeded=False, differentiated=job.wrt
        )
        found = alone.joint().session()(*job.subject.point, seeds[position])[len(job.values) :]
        for which, (gradient, wanted) in enumerate(zip(found, job.gradients(seeds), strict=True)):
            _compare(f"cotangent {which} for result {result} alone", gradient, wanted, 1e-12, "form")


def _check_subset(job: _Job) -> None:
    """Every non-empty subset of `wrt`: for more than three, each one alone."""
    if len(job.wrt) < 2:
        return
    seeds = job.seeds()
    whole = dict(zip(job.wrt, job.gradients(seeds), strict=True))
    lengths = range(1, len(job.wrt)) if len(job.wrt) <= 3 else (1,)
    block, split = job.made.program.block, job.made.split
    for subset in itertools.chain.from_iterable(itertools.combinations(job.wrt, n) for n in lengths):
        part = split_block(block, subset, split.of)
        made = SplitProgram(job.made.program, part, seeded=False, differentiated=part.wrt)
        found = made.joint().session()(*job.subject.point, *seeds)[len(job.values) :]
        for position, gradient in zip(subset, found, strict=True):
            _compare(f"cotangent {position} with wrt={subset}", gradient, whole[position], 1e-12, "subset")
        if len(part.pullback.ops) > len(split.pullback.ops) or _stored(part) > _stored(split):
            raise CheckFailed("subset", f"wrt={subset} takes more ops or captures than all of them")


def _stored(split: Any) -> int:
    sizes = [c.type.nbytes() for c in split.captures]
    return sum(s for s in sizes if isinstance(s, int))


def _check_sizes(job: _Job) -> None:
    subject = job.subject
    for separate in (False, True) if job.settings.separate else (False,):
        try:
            made = subject.split(job.wrt, symbolic(subject.point, separate=separate))
        except PrimsplitError as error:
            raise CheckFailed("sizes", f"cannot be split for symbolic sizes: {error}") from error
        joint = made.joint().session()
        points = [(0, subject.point)] if not separate else []
        points += [(n, [cut(a, n) for a in subject.point]) for n in job.settings.sizes]
        if separate:
            points += [(-i, [cut(b, 1) if i == j else b for j, b in enumerate(subject.point)]) for i in job.wrt]
        for size, point in points:
            if _literal(subject, point):
                _check_size(job, made, joint, point)
                job.report.sizes.append(size)


def _literal(subject: Subject, point: Sequence[AnyArray]) -> bool:
    """True where the target takes arrays of these sizes and gives finite numbers."""
    try:
        values = Reference(subject.at(point).program().block, None)(*point)
    except NUMPY_ERRORS:
        return False
    return all(np.all(np.isfinite(v)) for v in values if v.dtype.kind == "f")


def _check_size(job: _Job, made: SplitProgram, joint: Any, point: Sequence[AnyArray]) -> None:
    reference = Reference(made.program.block, None)
    values = reference(*point)
    seeds = [job.random.standard_normal(values[i].shape).astype(values[i].dtype) for i in made.split.of]
    found = joint(*point, *seeds)
    told = ", ".join(str(list(a.shape)) for a in point)
    for position, (value, wanted) in enumerate(zip(found, values, strict=False)):
        _compare(f"result {position} for shapes {told}", value, wanted, job.settings.value_tolerance, "sizes")

    def function(arrays: Sequence[AnyArray]) -> list[AnyArray]:
        results = reference(*arrays)
        return [results[i] for i in made.split.of]

    _against_differences(job, function, point, job.wrt, found[len(values) :], seeds, "sizes", most=4)


def _check_dtypes(job: _Job) -> None:
    """The same in fewer bits, against the float64 program at the rounded inputs."""
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
        seeds = [s.astype(made.program.block.results[i].type.dtype) for i, s in zip(made.split.of, job.seeds(values), strict=True)]
        found = session(*narrow.point, *seeds)[len(values) :]
        wanted = job.joint.session()(*wide, *(s.astype(np.float64) for s in seeds))[len(values) :]
        for position, (gradient, right) in enumerate(zip(found, wanted, strict=True)):
            if gradient.dtype != narrow.point[job.wrt[position]].dtype:
                raise CheckFailed("dtypes", f"cotangent {position} is {gradient.dtype} for an input of {dtype}")
            _close(f"cotangent {position} in {dtype}", gradient, right, job.tolerance(dtype), "dtypes")


def _check_second_order(job: _Job) -> None:
    """The gradient of the gradient, with respect to the inputs and the cotangents."""
    block = job.made.split.joint()
    first = len(job.values)
    count = len(job.subject.point)
    of = [i for i in range(first, len(block.results)) if isinstance(block.results[i], Var)]
    if not of:
        return
    wrt = [*job.wrt, *range(count, len(block.params))]
    try:
        split = split_block(block, wrt, of)
    except PrimsplitError as error:
        raise CheckFailed("second_order", str(error)) from error
    inputs = [f"x{i}" for i in range(len(block.params))]
    results = [f"r{i}" for i in range(len(block.results))]
    made = SplitProgram(job.made.joint().__class__(
        block, inputs=inputs, outputs=results, arguments=job.joint.arguments, result=job.joint.result,
        static=job.joint.static,
    ), split, seeded=False, differentiated=split.wrt)  # fmt: skip
    point = [*job.subject.point, *job.seeds()]
    reference = Reference(block, None)
    values = reference(*point)
    seeds = [job.random.standard_normal(values[i].shape) for i in of]
    found = made.joint().session()(*point, *seeds)[len(values) :]

    def function(arrays: Sequence[AnyArray]) -> list[AnyArray]:
        given = reference(*arrays)
        return [given[i] for i in of]

    _against_differences(job, function, point, wrt, found, seeds, "second_order", most=12)


def _check_files(job: _Job) -> None:
    seeds = job.seeds()
    found = check_files(job.made, job.subject.point, seeds)
    for position, (gradient, wanted) in enumerate(zip(found, job.gradients(seeds), strict=True)):
        _compare(f"cotangent {position} by the backward file", gradient, wanted, 1e-12, "files")


def _check_counters(job: _Job) -> None:
    seeds = job.seeds()
    fresh = job.made.joint()
    fresh(*job.subject.point, *seeds)
    before = (programs.Counters.traces, runtime.Counters.sessions)
    fresh(*job.subject.point, *seeds)
    if (programs.Counters.traces, runtime.Counters.sessions) != before:
        raise CheckFailed("counters", "the second call traced or loaded something again")
    for op, _, _ in rules_of(job.made.program.block.ops):
        wrt, of = _active(op)
        made = split_op(op, wrt, of)
        fixed = not (own_symbols(made.primal) or own_symbols(made.pullback))
        if fixed and not op.kind.startswith("call::") and split_op(op, wrt, of) is not made:
            raise CheckFailed("counters", f"the rule of {op.kind} is run again for the same signature")


def _check_kinks(job: _Job) -> None:
    for inputs, expected in job.settings.kinks:
        there = Subject(job.subject.target, tuple(inputs), job.subject.attributes, job.subject.outputs)
        made = there.split(job.wrt)
        values = Reference(made.program.block, None)(*there.point)
        seeds = [np.ones_like(values[i]) for i in made.split.of]
        found = made.joint().session()(*there.point, *seeds)[len(values) :]
        for position, (gradient, wanted) in enumerate(zip(found, expected, strict=True)):
            right = np.asarray(wanted, gradient.dtype)
            _compare(f"cotangent {position} at the kink {inputs}", gradient, right, 1e-12, "kinks")


CHECKS: dict[str, Callable[[_Job], None]] = {
    "form": _check_form,
    "closed": _check_closed,
    "primal": _check_primal,
    "differences": _check_differences,
    "linear": _check_linear,
    "repeat": _check_repeat,
    "subset": _check_subset,
    "sizes": _check_sizes,
    "dtypes": _check_dtypes,
    "second_order": _check_second_order,
    "files": _check_files,
    "counters": _check_counters,
    "kinks": _check_kinks,
}

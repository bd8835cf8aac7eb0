"""check_rrule: one call that runs every check of a derivative rule."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primsplit.testing import numeric, structural
from primsplit.testing.forward import check_forward
from primsplit.testing.in_parts import InParts
from primsplit.testing.job import RTOL, Job, Kink, Report, Settings
from primsplit.testing.subject import Domain, Subject, Target, make_subject
from primsplit.tracing import trees


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
    value_tolerance: float | None = None,
    expected_nodes: Sequence[str] | None = None,
    expected_captures: Mapping[str, str] | None = None,
    listing: str | None = None,
    no_tangent: Sequence[int] = (),
    first_order_only: bool = False,
    reverse_only: bool = False,
    is_symbolic: bool = True,
    sizes: Sequence[int] = (1, 0),
    separate: bool = False,
    dtypes: Sequence[str] = ("float32", "float16"),
    only: Sequence[str] | None = None,
    seed: int = 0,
) -> Report:
    """Check the derivative rule of an operator (by its name), a primitive, or a function of arrays.

    Inputs that are float64, integer or bool arrays, or Types that are sampled from `domain` (an interval or a sampler;
    a list for one an input), are the program's inputs. Lists, numbers, `Const`s and None are part of it. A function of
    complex arrays is checked as one of their real and imaginary parts, to which `kinks` and a list of domains speak.

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
    - forward: the tangents, by the forward rule or the pullback transposed, agree with central differences and with the
      pullback, at kinks and at other sizes too; unless `reverse_only`.
    - files: joint, forward and backward files are right ONNX and fit each other.
    - counters: nothing is traced, built or loaded twice.
    - kinks: at points (inputs, expected cotangents for a cotangent of ones) the stated convention holds.

    `only` names the checks to run. Raises CheckFailed, whose `check` is the name. `wrt` are positions of inputs.
    """
    random = np.random.default_rng(seed)
    if callable(target) and any(map(trees.is_complex, inputs)):
        whole = InParts(target, inputs, attributes or {})
        numpy = None if numpy is None else InParts(numpy, inputs, attributes or {})
        wrt, no_tangent = None if wrt is None else whole.places(wrt), whole.places(no_tangent)
        target, inputs, attributes, dtypes = whole, tuple(whole.inputs), {}, [d for d in dtypes if d != "float16"]
    subject = make_subject(target, inputs, attributes=attributes or {}, outputs=outputs, domain=domain, random=random)
    settings = Settings(
        numpy=numpy,
        kinks=kinks,
        max_step=max_step,
        rtol={**RTOL, **(rtol or {})},
        value_tolerance=value_tolerance,
        expected_nodes=expected_nodes,
        expected_captures=expected_captures,
        listing=listing,
        no_tangent=no_tangent,
        sizes=sizes if is_symbolic else (),
        separate=separate and is_symbolic,
        dtypes=dtypes,
    )
    asked = {"sizes": is_symbolic, "second_order": not first_order_only, "forward": not reverse_only, "kinks": kinks}
    job = Job(subject, _chosen(subject, wrt), settings, random)
    for name, check in CHECKS.items():
        if asked.get(name, True) and (only is None or name in only):
            check(job)
            job.report.checks.append(name)
    return job.report


def _chosen(subject: Subject, wrt: Sequence[int] | None) -> list[int]:
    """The arrays to differentiate in, as positions among the arrays."""
    positions, point = subject.positions, subject.point
    if wrt is None:
        return [i for i, array in enumerate(point) if array.dtype.kind == "f"]
    return [positions.index(i) for i in wrt]


CHECKS: dict[str, Callable[[Job], None]] = {
    "form": structural.check_form,
    "closed": structural.check_closed,
    "primal": numeric.check_primal,
    "differences": numeric.check_differences,
    "linear": structural.check_linear,
    "repeat": structural.check_repeat,
    "subset": structural.check_subset,
    "sizes": numeric.check_sizes,
    "dtypes": numeric.check_dtypes,
    "second_order": numeric.check_second_order,
    "forward": check_forward,
    "files": structural.check_files,
    "counters": structural.check_counters,
    "kinks": numeric.check_kinks,
}

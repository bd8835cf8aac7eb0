"""Every case of onnx's backend node tests: whether its gradient is right, rightly absent, or refused with a reason.

    python tools/node_sweep.py [--only Conv] [--verbose]

Each case is loaded, run and compared with the outputs that the standard's own tests expect; then it is split with
respect to all its floating-point inputs, and the gradient's product with a random direction is compared with central
differences of onnx's reference evaluator, fed float64. One line a verdict, then a table.
"""

import argparse
import collections
import contextlib
import io
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.reference
from onnx.backend.test.case.node import collect_testcases

import primsplit as ps
from primsplit.errors import PrimsplitError
from primsplit.testing import directional_derivative

FLOATS = {"float16", "float32", "float64", "bfloat16"}
TOLERANCES = {"float16": 5e-2, "bfloat16": 2e-1, "float32": 2e-3, "float64": 1e-6}


def cases(only: str | None) -> list[Any]:
    """The node cases, by name."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    return [c for c in found if only is None or any(n.op_type == only for n in c.model.graph.node)]


def verdict(case: Any, folder: str) -> tuple[str, str]:
    """One of right, zero, at a kink, not differentiable, refused (why), wrong value, wrong gradient, crashed."""
    path = str(Path(folder) / "case.onnx")
    onnx.save(case.model, path)
    inputs, expected = case.data_sets[0]
    if not all(isinstance(x, np.ndarray) for x in (*inputs, *expected)):
        return "refused", "sequence, optional or sparse values"
    try:
        program = ps.load(path)
        program.check_arrays(inputs)
        values = program.session().run(dict(zip(program.inputs, inputs, strict=True)))
    except PrimsplitError as error:
        return "refused", str(error).splitlines()[0]
    if not _agree(values, expected):
        return "wrong value", ""
    return gradient_verdict(case, program, [np.asarray(x) for x in inputs])


def _agree(values: list[Any], expected: list[Any]) -> bool:
    for value, wanted in zip(values, expected, strict=True):
        if value.shape != wanted.shape:
            return False
        if wanted.dtype.name in FLOATS:
            tolerance = TOLERANCES[wanted.dtype.name]
            if not np.allclose(value.astype(float), wanted.astype(float), tolerance, tolerance, equal_nan=True):
                return False
        elif wanted.dtype.kind in "biu" and not np.array_equal(value, wanted):
            return False
    return True


def gradient_verdict(case: Any, program: Any, inputs: list[Any]) -> tuple[str, str]:
    """Compare the gradient along a random direction with central differences."""
    if not any(t.is_float for t in program.types) or not any(r.type.is_float for r in program.block.results):
        return "not differentiable", ""
    try:
        made = ps.split(program)
    except PrimsplitError as error:
        return "refused", str(error).splitlines()[0]
    if not made.split.targets:
        return "zero", ""
    random = np.random.default_rng(0)
    joint = made.joint()
    values = program.session().run(dict(zip(program.inputs, inputs, strict=True)))
    cotangents = [np.ones_like(v) if made.seeded else random.standard_normal(v.shape).astype(v.dtype) for v in values]
    seeds = [] if made.seeded else [cotangents[i] for i in made.split.of]
    found = joint.session().run(dict(zip(joint.inputs, [*inputs, *seeds], strict=True)))
    gradients = dict(zip(made.differentiated, found[len(values) :], strict=True))
    connected = {i: g for i, g in gradients.items() if i in made.split.targets}
    word, reason = _compared(case, made, inputs, cotangents, connected)
    return ("right, partly zero" if word == "right" and len(connected) < len(gradients) else word), reason


def _compared(
    case: Any, made: Any, inputs: list[Any], cotangents: list[Any], gradients: dict[int, Any]
) -> tuple[str, str]:
    evaluator = onnx.reference.ReferenceEvaluator(case.model)
    names = made.program.inputs
    point = [inputs[i].astype(np.float64) for i in gradients]

    def scalar(arrays: Any) -> float:
        feeds = dict(zip(names, inputs, strict=True))
        feeds.update({names[i]: a for i, a in zip(gradients, arrays, strict=True)})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = evaluator.run(None, feeds)
        return float(sum(np.sum(np.asarray(results[i], float) * cotangents[i].astype(float)) for i in made.split.of))

    random = np.random.default_rng(1)
    direction = [random.standard_normal(p.shape) for p in point]
    product = float(sum(np.sum(g.astype(float) * d) for g, d in zip(gradients.values(), direction, strict=True)))
    size = max(float(np.max(np.abs(g.astype(float)), initial=0)) for g in gradients.values())
    try:
        differences = [directional_derivative(scalar, point, direction, step) for step in (1e-3, 1e-4, 1e-5)]
        sides = _sides(scalar, point, direction)
    except Exception as error:  # noqa: BLE001  # the reference evaluator raises anything for dtypes it does not expect
        return "no reference", f"{type(error).__name__}: {error}"[:80]
    dtype = max((inputs[i].dtype.name for i in gradients), key=lambda n: TOLERANCES[n])
    errors = [abs(product - d) / max(abs(d), size, 1e-3) for d in differences]
    if min(errors) <= TOLERANCES[dtype]:
        return "right", ""
    if not np.isclose(*sides, rtol=1e-3, atol=1e-6 * size):
        return "at a kink", ""
    return "wrong gradient", f"{product:.6g} against {differences}"


def _sides(scalar: Any, point: list[Any], direction: list[Any], step: float = 1e-6) -> tuple[float, float]:
    """The derivatives forward and backward; where they differ, the case sits at a kink and any convention is right."""
    here = scalar(point)
    ahead = scalar([p + step * d for p, d in zip(point, direction, strict=True)])
    behind = scalar([p - step * d for p, d in zip(point, direction, strict=True)])
    return (ahead - here) / step, (here - behind) / step


def main() -> None:
    """Print a line for each case that is not right, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="cases that hold this operator")
    parser.add_argument("--verbose", action="store_true")
    asked = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(asked.only):
            try:
                word, reason = verdict(case, folder)
            except Exception as error:  # noqa: BLE001  # a crash is what the sweep looks for
                word, reason = "crashed", f"{type(error).__name__}: {error}".splitlines()[0][:120]
            counts[word] += 1
            if word == "refused":
                reasons[reason.split(":", 1)[-1].strip()[:90] if ".onnx" in reason else reason[:90]] += 1
            if asked.verbose or word in {"wrong value", "wrong gradient", "crashed"}:
                print(f"{word:20s} {case.name:60s} {reason}", flush=True)
    print("\n".join(f"{count:5d}  {word}" for word, count in counts.most_common()))
    print("\nrefused because")
    print("\n".join(f"{count:5d}  {reason}" for reason, count in reasons.most_common(40)))


if __name__ == "__main__":
    main()

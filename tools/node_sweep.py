"""Every case of onnx's backend node tests: whether its gradient is right, rightly absent, or refused with a reason.

    python tools/node_sweep.py [--only Conv] [--mode jvp] [--order 2] [--verbose]

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
import onnx.numpy_helper
import onnx.reference
from node_derivatives import second_verdict, tangent_verdict
from onnx.backend.test.case.node import collect_testcases

import primsplit as ps
from primsplit import trees
from primsplit.errors import PrimsplitError
from primsplit.ir import walk
from primsplit.passes.inline import inline_calls
from primsplit.testing import directional_derivative
from primsplit.testing.reference import Reference

FLOATS = {"float16", "float32", "float64", "bfloat16"}
DRAWN = {"Bernoulli", "Dropout", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
TOLERANCES = {"float16": 5e-2, "bfloat16": 2e-1, "float32": 2e-3, "float64": 1e-6}


def cases(only: str | None, named: str) -> list[Any]:
    """The node cases that hold an operator, or all, and have this in their name."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    chosen = [c for c in found if named in c.name]
    return [c for c in chosen if only is None or any(n.op_type == only for n in c.model.graph.node)]


def verdict(case: Any, folder: str, judge: Any = None) -> tuple[str, str]:
    """One of right, zero, at a kink, not differentiable, drawn at random, refused (why), wrong value or gradient."""
    path = str(Path(folder) / "case.onnx")
    onnx.save(case.model, path)
    nested, expected = ([_array(x) for x in values] for values in case.data_sets[0])
    names = [v.name for v in case.model.graph.input]
    lengths = {name: len(x) for name, x in zip(names, nested, strict=False) if isinstance(x, list)}
    given = {name: False for name, x in zip(names, nested, strict=False) if x is None}
    inputs, expected = _flat(nested), _flat(expected)
    if not all(isinstance(x, np.ndarray) for x in (*inputs, *expected)):
        return "refused", "sparse values"
    try:
        program = ps.load(path, lengths=lengths, given=given)
        program.check_arrays(inputs)
        values = program.session().run(dict(zip(program.inputs, inputs, strict=True)))
    except PrimsplitError as error:
        return "refused", str(error).splitlines()[0]
    if not _agree(values, expected):
        drawn = any(op.kind in DRAWN for op in walk(inline_calls(program.block)))
        return ("drawn at random", "") if drawn else ("wrong value", "")
    arrays = [np.asarray(x) for x in inputs]
    return gradient_verdict(case, program, arrays) if judge is None else judge(program, arrays)


def _array(value: Any) -> Any:
    """The array that a case holds as a number or a protobuf; anything else as it is."""
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value


def _flat(values: Any) -> list[Any]:
    """The arrays of sequences among them; nothing for an optional value that is not given."""
    return [array for value in values if value is not None for array in (value if isinstance(value, list) else [value])]


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
    cotangents = [np.ones_like(v) if made.seeded else _drawn(random, v) for v in values]
    seeds = [] if made.seeded else [cotangents[i] for i in made.split.of]
    found = joint.session().run(dict(zip(joint.inputs, [*inputs, *seeds], strict=True)))
    gradients = dict(zip(made.differentiated, found[len(values) :], strict=True))
    connected = {i: g for i, g in gradients.items() if i in made.split.targets}
    word, reason = _compared(case, made, inputs, cotangents, connected)
    return ("right, partly zero" if word == "right" and len(connected) < len(gradients) else word), reason


def _drawn(random: np.random.Generator, value: Any) -> Any:
    """A cotangent: zero for an output that is infinite, which has no slope."""
    drawn = random.standard_normal(value.shape).astype(value.dtype)
    return (
        np.where(np.isfinite(value.astype(float)), drawn, np.zeros_like(drawn)) if value.dtype.name in FLOATS else drawn
    )


def _compared(
    case: Any, made: Any, inputs: list[Any], cotangents: list[Any], gradients: dict[int, Any]
) -> tuple[str, str]:
    """The verdict by the first reference that takes float64, or by one that agrees: rounding casts make it stairs."""
    reasons, verdicts = [], []
    for name, evaluate in _references(case, made, inputs).items():

        def scalar(arrays: Any, evaluate: Any = evaluate) -> float:
            moved = list(inputs)
            for position, array in zip(gradients, arrays, strict=True):
                moved[position] = array
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = evaluate(moved)
            pairs = ((np.asarray(results[i], float), cotangents[i].astype(float)) for i in made.split.of)
            return float(sum(np.sum(np.where(cotangent == 0, 0, result) * cotangent) for result, cotangent in pairs))

        try:
            verdicts.append(_against(scalar, inputs, gradients))
        except Exception as error:  # noqa: BLE001  # evaluators raise anything for dtypes they do not expect
            reasons.append(f"{name}: {type(error).__name__}: {error}"[:80])
        if verdicts and verdicts[-1][0] == "right":
            return verdicts[-1]
    return verdicts[0] if verdicts else ("no reference", "; ".join(reasons))


def _references(case: Any, made: Any, inputs: list[Any]) -> dict[str, Any]:
    """The standard's own evaluator fed float64, and the loaded program evaluated op by op with all floats wide.

    The first keeps constants and casts of a model as they are, and refuses them beside float64 inputs.
    """
    names = [v.name for v in case.model.graph.input]

    def by_standard(arrays: list[Any]) -> Any:
        nested, _ = trees.unflatten(made.program.arguments, arrays)
        fed = dict(zip(names, nested, strict=True))
        return _flat(onnx.reference.ReferenceEvaluator(case.model).run(None, fed))

    wide = Reference(made.program.block, np.float64)
    return {"onnx.reference": by_standard, "op by op": lambda arrays: wide(*arrays)}


def _against(scalar: Any, inputs: list[Any], gradients: dict[int, Any]) -> tuple[str, str]:
    point = [inputs[i].astype(np.float64) for i in gradients]
    random = np.random.default_rng(1)
    direction = [random.standard_normal(p.shape) for p in point]
    product = float(sum(np.sum(g.astype(float) * d) for g, d in zip(gradients.values(), direction, strict=True)))
    size = max(float(np.max(np.abs(g.astype(float)), initial=0)) for g in gradients.values())
    scalar(point)
    try:
        differences = [directional_derivative(scalar, point, direction, step) for step in (1e-3, 1e-4, 1e-5)]
        sides = _sides(scalar, point, direction)
    except ValueError as error:
        if "broadcast" in str(error):
            return "at a kink", "the result's shape changes"
        raise
    dtype = max((inputs[i].dtype.name for i in gradients), key=lambda n: TOLERANCES[n])
    errors = [abs(product - d) / max(abs(d), size, 1e-3) for d in differences]
    if min(errors) <= TOLERANCES[dtype]:
        return "right", ""
    if abs(differences[2]) > 5 * abs(differences[1]) > 25 * abs(differences[0]):
        return "at a kink", "the differences grow without bound"
    if not (np.isfinite(product) and np.isfinite(sides).all()) or not np.isclose(*sides, rtol=1e-3, atol=1e-6 * size):
        return "at a kink", ""
    return "wrong gradient", f"{product:.6g} against {differences}"


def _sides(scalar: Any, point: list[Any], direction: list[Any], step: float = 1e-6) -> tuple[float, float]:
    """The derivatives forward and backward; where they differ, the case sits at a kink and any convention is right."""
    here = scalar(point)
    ahead = scalar([p + step * d for p, d in zip(point, direction, strict=True)])
    behind = scalar([p - step * d for p, d in zip(point, direction, strict=True)])
    return (ahead - here) / step, (here - behind) / step


BAD = {"wrong value", "wrong gradient", "wrong tangent", "nestings differ", "other second derivative", "crashed"}


def main() -> None:
    """Print a line for each case that is not right, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="cases that hold this operator")
    parser.add_argument("--named", default="", help="cases with this in their name")
    parser.add_argument("--mode", choices=["gradient", "jvp"], default="gradient", help="jvp: tangents by gradients")
    parser.add_argument("--order", type=int, choices=[1, 2], default=1, help="2: second derivatives, by both nestings")
    parser.add_argument("--verbose", action="store_true")
    asked = parser.parse_args()
    judge = second_verdict if asked.order == 2 else tangent_verdict if asked.mode == "jvp" else None
    warnings.filterwarnings("ignore")
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(asked.only, asked.named):
            try:
                word, reason = verdict(case, folder, judge)
            except Exception as error:  # noqa: BLE001  # a crash is what the sweep looks for
                word, reason = "crashed", f"{type(error).__name__}: {error}".splitlines()[0][:120]
            counts[word] += 1
            if word.startswith("refused"):
                reasons[reason.split(":", 1)[-1].strip()[:90] if ".onnx" in reason else reason[:90]] += 1
            if asked.verbose or word in BAD:
                print(f"{word:20s} {case.name:60s} {reason}", flush=True)
    print("\n".join(f"{count:5d}  {word}" for word, count in counts.most_common()))
    print("\nrefused because")
    print("\n".join(f"{count:5d}  {reason}" for reason, count in reasons.most_common(40)))


if __name__ == "__main__":
    main()

"""Every case of onnx's backend tests: whether its gradient is right, rightly absent, or refused with a reason.

    python -m tools.node_sweep [--folder simple] [--only Conv] [--named lstm] [--mode jvp|vmap] [--order 2] [--verbose]

Each case is loaded, run and compared with the outputs that the standard's own tests expect. Then the same model with
every float a double is split with respect to all its floating-point inputs, and the gradient's product with a random
direction is compared with central differences: of onnx's reference evaluator, else of the program evaluated op by op in
NumPy, else of the float64 file in onnxruntime. The gradient in the case's own dtype is compared with that one. What has
no form in float64 is judged as it is. A case at a point without a derivative is judged once more a little beside it.
One line a verdict that is not right, then a table.
"""

import argparse
import collections
import re
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.reference

import primsplit as ps
from primsplit import trees
from primsplit.carriers import CARRIERS, QUANTIZED
from primsplit.errors import PrimsplitError
from primsplit.ir import walk
from primsplit.passes.inline import inline_calls
from primsplit.testing.reference import Reference
from tools.node_batches import batch_verdict
from tools.node_cases import FOLDERS, Case, Loaded, flat, folder_cases, load_wide, node_cases, run, told
from tools.node_derivatives import second_verdict, tangent_verdict
from tools.node_differences import ROUGH, TOLERANCES, Verdict, compared, drawn, moved, pairing

DRAWN = {"Bernoulli", "Dropout", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
TRIALS = 6
"""How many points beside a rough one are tried: some functions end there."""
FEW_BITS = QUANTIZED | CARRIERS.keys()
"""Dtypes whose numbers are compared one by one: NumPy does not count them among its own."""
HUGE = 1e100
"""More than any case means to hold."""
Judge = Callable[[Loaded], Verdict]


def verdict(case: Case, folder: Path, judge: Judge) -> Verdict:
    """The verdict on a case: its value's, then the judge's."""
    inputs, expected = flat(case.inputs), case.expected
    if not all(isinstance(x, np.ndarray) for x in (*inputs, *flat(expected))):
        return "refused", "sparse values"
    try:
        program = case.load(folder / "case.onnx", case.model)
        program.check_arrays(inputs)
        values = run(program, inputs)
    except PrimsplitError as error:
        return "refused", str(error).splitlines()[0]
    if not _agree(values, told(expected, program)):
        random = any(op.kind in DRAWN for op in walk(inline_calls(program.block)))
        return ("drawn at random", "") if random else ("wrong value", "")
    if not any(t.is_float for t in program.types) or not any(r.type.is_float for r in program.block.results):
        return "not differentiable", ""
    if case.is_large:
        return "value right, and flat", "a gradient is asked of other weights by tests/test_networks.py"
    inputs = _movable(inputs)
    loaded = Loaded(case, program, inputs, load_wide(case, folder, inputs))
    word, reason = judge(loaded)
    return _beside(loaded, judge, word, reason) if word in ROUGH else (word, reason)


def _movable(inputs: list[Any]) -> list[Any]:
    """The inputs, drawn anew where they are what memory happened to hold, too large or too small to be moved."""
    is_float = [x.dtype.name in TOLERANCES for x in inputs]
    sizes = [np.abs(x.astype(float)) for x, f in zip(inputs, is_float, strict=True) if f]
    if not any(np.any(np.isfinite(s) & (s > HUGE) | (s > 0) & (s < 1 / HUGE)) for s in sizes):
        return [np.asarray(x) for x in inputs]
    random = np.random.default_rng(0)
    return [
        random.uniform(0.5, 1.5, x.shape).astype(x.dtype) if f else x for x, f in zip(inputs, is_float, strict=True)
    ]


def _agree(values: list[Any], expected: list[Any]) -> bool:
    return all(
        value.shape == wanted.shape and _equal(value, wanted) for value, wanted in zip(values, expected, strict=True)
    )


def _equal(value: Any, wanted: Any) -> bool:
    """True for the same numbers, up to rounding where they are floats; texts are not compared."""
    name = wanted.dtype.name
    if name in TOLERANCES:
        tolerance = TOLERANCES[name]
        return np.allclose(value.astype(float), wanted.astype(float), tolerance, tolerance, equal_nan=True)
    if name in FEW_BITS:
        return value.dtype == wanted.dtype and np.array_equal(value.astype(float), wanted.astype(float), equal_nan=True)
    return wanted.dtype.kind not in "biu" or np.array_equal(value, wanted)


def _beside(loaded: Loaded, judge: Judge, word: str, reason: str) -> Verdict:
    """The verdict on a case at a kink, with that on points a little beside it."""
    places = ps.split(loaded.program).split.targets
    for seed in range(TRIALS):
        inputs = moved(loaded.inputs, places, seed)
        wide = loaded.wide
        if wide is not None:
            wide = Loaded(
                wide.case, wide.program, [a.astype(w.dtype) for a, w in zip(inputs, wide.inputs, strict=True)]
            )
        try:
            found, why = judge(Loaded(loaded.case, loaded.program, inputs, wide))
        except PrimsplitError:
            continue
        if found.startswith("right"):
            return f"{word}, right beside it", reason
        if found in BAD:
            return found, f"beside a point that is {word}: {why}"
    return word, reason


def gradient_verdict(loaded: Loaded) -> Verdict:
    """Compare the gradient along a random direction with central differences."""
    try:
        own = Gradient(loaded)
    except PrimsplitError as error:
        return "refused", str(error).splitlines()[0]
    if not own.made.split.targets:
        return "zero", ""
    exact = None if loaded.wide is None else _in_wide(loaded.wide, own)
    if exact is None:
        found, reason = own.against_differences(_references(loaded, own.made))
    else:
        found, reason = exact.against_differences(_references(loaded.wide or loaded, exact.made))
        far = "" if found != "right" else own.distance(exact)
        if far:
            found, reason = own.against_differences(_references(loaded, own.made))
            found, reason = ("right in float64", far) if found.startswith("wrong") else (found, reason)
    return ("right, partly zero" if found == "right" and own.is_partly_zero else found), reason


def _in_wide(wide: Loaded, own: "Gradient") -> "Gradient | None":
    """The gradient in float64 for the same cotangents; None where there is none."""
    try:
        return Gradient(wide, own.cotangents)
    except PrimsplitError:
        return None


class Gradient:
    """The gradient of a loaded case for random cotangents, or given ones: `gradients` by input."""

    def __init__(self, loaded: Loaded, cotangents: list[Any] | None = None) -> None:
        program, self.inputs = loaded.program, loaded.inputs
        self.made = made = ps.split(program)
        if not made.split.targets:
            return
        values = run(program, self.inputs)
        random = np.random.default_rng(0)
        of = made.split.of
        self.is_finite = all(np.isfinite(values[i].astype(float)).all() for i in of)
        given = cotangents or [np.ones_like(values[i]) if made.seeded else drawn(random, values[i]) for i in of]
        self.cotangents = [c.astype(values[i].dtype) for c, i in zip(given, of, strict=True)]
        seeds = [] if made.seeded else self.cotangents
        joint = made.joint()
        found = run(joint, [*self.inputs, *seeds])[len(values) :]
        gradients = dict(zip(made.differentiated, found, strict=True))
        self.gradients = {i: g for i, g in gradients.items() if i in made.split.targets}
        self.is_partly_zero = len(self.gradients) < len(gradients)
        self.size = max(float(np.max(np.abs(g.astype(float)), initial=0)) for g in self.gradients.values())
        self.dtype = max((self.inputs[i].dtype.name for i in self.gradients), key=lambda n: TOLERANCES[n])

    def distance(self, exact: "Gradient") -> str:
        """How far the gradient is from an exact one; nothing where it is near."""
        tolerance = TOLERANCES[self.dtype] * max(exact.size, 1e-3)
        pairs = ((g.astype(float), exact.gradients[i]) for i, g in self.gradients.items())
        far = max(float(np.max(np.abs(a - b), initial=0)) if np.isfinite(a).all() else np.inf for a, b in pairs)
        return "" if far <= tolerance else f"{self.dtype} is off by {far:.2g} where gradients go up to {exact.size:.2g}"

    def against_differences(self, references: dict[str, Any]) -> Verdict:
        """The verdict by the first reference that agrees, or the first that takes float64: rounding makes it stairs."""
        reasons, verdicts = [], []
        for name, evaluate in references.items():

            def scalar(arrays: Any, evaluate: Any = evaluate) -> float:
                inputs = list(self.inputs)
                for position, array in zip(self.gradients, arrays, strict=True):
                    inputs[position] = array
                results = evaluate(inputs)
                return pairing([np.asarray(results[i], float) for i in self.made.split.of], self.cotangents)

            try:
                verdicts.append(self._compared(scalar))
            except Exception as error:  # noqa: BLE001  # evaluators raise anything for dtypes they do not expect
                reasons.append(f"{name}: {type(error).__name__}: {error}"[:80])
            if verdicts and verdicts[-1][0] == "right":
                return verdicts[-1]
        word, reason = verdicts[0] if verdicts else ("no reference", "; ".join(reasons))
        if word == "not a number" and not self.is_finite:
            return "not finite, as its value", ""
        return ("wrong gradient" if word == "wrong" else word), reason

    def _compared(self, scalar: Any) -> Verdict:
        point = [self.inputs[i].astype(np.float64) for i in self.gradients]
        random = np.random.default_rng(1)
        line = [random.standard_normal(p.shape) for p in point]
        product = pairing(list(self.gradients.values()), line)
        return compared(scalar, point, line, product, size=self.size, tolerance=TOLERANCES[self.dtype])


def _references(loaded: Loaded, made: Any) -> dict[str, Any]:
    """Evaluators of a case's outputs in float64, for arrays in the program's order.

    The standard's own keeps constants and casts of a model as they are, and refuses them beside float64 inputs.
    """
    case, program = loaded.case, loaded.program

    def by_standard(arrays: list[Any]) -> Any:
        nested, _ = trees.unflatten(made.program.arguments, arrays)
        fed = dict(zip(case.names, nested, strict=True))
        found = onnx.reference.ReferenceEvaluator(case.model).run(None, fed)
        assert isinstance(found, list)  # a dict where intermediate values are asked for
        return told(found, program)

    def by_file(arrays: list[Any]) -> Any:
        return run(program, arrays)

    wide = Reference(made.program.block, np.float64)
    found = {"onnx.reference": by_standard, "op by op": lambda arrays: wide(*arrays)}
    return {**found, "the file": by_file} if any(t.dtype == np.float64 for t in program.types) else found


BAD = {
    "crashed",
    "nestings differ",
    "not a number",
    "wrong batch",
    "wrong gradient",
    "wrong second derivative",
    "wrong tangent",
    "wrong value",
}
SAID = {"right", "right, partly zero", "not differentiable", "refused", "zero"}
"""Verdicts that have no line of their own."""


GROUPS = {
    "ImageDecoder": "ImageDecoder: onnxruntime has no kernel",
    "has no derivative: its value is": "no derivative: decision trees and other steps of ai.onnx.ml",
    "rank of this value": "a rank that only the run knows",
    "Sequence|sequence|elements that a Loop": "sequences whose length or shapes only the run knows",
    "cannot load the program": "onnxruntime refuses the model: text in a locale that the machine lacks",
    "onnxruntime failed": "onnxruntime refuses the model when it runs",
}
"""What a refusal's first line holds, and what it comes to."""


def _group(reason: str) -> str:
    return next((words for pattern, words in GROUPS.items() if re.search(pattern, reason)), reason[:110])


def main() -> None:
    """Print a line for each case that is not right, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", choices=FOLDERS, help="models of this folder, not the node cases")
    parser.add_argument("--only", help="cases that hold this operator")
    parser.add_argument("--named", default="", help="cases with this in their name")
    told_modes = "jvp: tangents by gradients; vmap: a batch by its examples"
    parser.add_argument("--mode", choices=["gradient", "jvp", "vmap"], default="gradient", help=told_modes)
    parser.add_argument("--order", type=int, choices=[1, 2], default=1, help="2: second derivatives, by both nestings")
    parser.add_argument("--verbose", action="store_true")
    asked = parser.parse_args()
    judges: dict[str, Judge] = {"gradient": gradient_verdict, "jvp": tangent_verdict, "vmap": batch_verdict}
    judge = second_verdict if asked.order == 2 else judges[asked.mode]
    warnings.filterwarnings("ignore")
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    chosen = (
        folder_cases(asked.folder, asked.only, asked.named) if asked.folder else node_cases(asked.only, asked.named)
    )
    with tempfile.TemporaryDirectory() as folder:
        for case in chosen:
            try:
                word, reason = verdict(case, Path(folder), judge)
            except Exception as error:  # noqa: BLE001  # a crash is what the sweep looks for
                word, reason = "crashed", f"{type(error).__name__}: {error}".splitlines()[0][:120]
            counts[word] += 1
            if word.startswith("refused"):
                reasons[_group(reason)] += 1
            if asked.verbose or word not in SAID:
                print(f"{word:32s} {case.name:60s} {reason}", flush=True)
    print("\n".join(f"{count:5d}  {word}" for word, count in counts.most_common()))
    print("\nrefused because")
    print("\n".join(f"{count:5d}  {reason}" for reason, count in reasons.most_common()))


if __name__ == "__main__":
    main()

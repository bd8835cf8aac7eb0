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
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.ir import walk
from primsplit.ir.carriers import CARRIERS, QUANTIZED
from primsplit.ir.errors import PrimsplitError
from primsplit.rewrites.inline import inline_calls
from tools.node_batches import batch_verdict
from tools.node_cases import FOLDERS, Case, Loaded, flat, folder_cases, load_wide, node_cases, run, told
from tools.node_derivatives import second_verdict, tangent_verdict
from tools.node_differences import ROUGH, TOLERANCES, Verdict, moved, refused
from tools.node_gradients import gradient_verdict

DRAWN = {"Bernoulli", "Dropout", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
TRIALS = 6
"""The number of points beside a rough one that are tried: some functions end there."""
FEW_BITS = QUANTIZED | CARRIERS.keys()
"""Dtypes whose numbers are compared one by one: NumPy does not count them among its own."""
HUGE = 1e100
"""More than any case means to hold."""
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
"""Verdicts that tell of a fault."""
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
"""Patterns of a refusal's first line, and the summary of each."""
Judge = Callable[[Loaded], Verdict]
JUDGES: dict[str, Judge] = {"gradient": gradient_verdict, "jvp": tangent_verdict, "vmap": batch_verdict}


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
        return refused(error)
    if not _agree(values, told(expected, program)):
        random = any(op.kind in DRAWN for op in walk(inline_calls(program.block)))
        return ("drawn at random", "") if random else ("wrong value", "")
    if not any(t.is_float for t in program.types) or not any(r.type.is_float for r in program.block.results):
        return "not differentiable", ""
    if case.is_large:
        return "value right, and flat", "a gradient is asked of other weights by tests/journeys/test_networks.py"
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
    """Whether values are the same numbers, up to rounding for floats; texts are not compared."""
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


def _group(reason: str) -> str:
    return next((words for pattern, words in GROUPS.items() if re.search(pattern, reason)), reason[:110])


def main() -> None:
    """Judge the cases that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", choices=FOLDERS, help="models of this folder, not the node cases")
    parser.add_argument("--only", help="cases that hold this operator")
    parser.add_argument("--named", default="", help="cases with this in their name")
    told_modes = "jvp: tangents by gradients; vmap: a batch by its examples"
    parser.add_argument("--mode", choices=JUDGES, default="gradient", help=told_modes)
    parser.add_argument("--order", type=int, choices=[1, 2], default=1, help="2: second derivatives, by both nestings")
    parser.add_argument("--verbose", action="store_true")
    asked = parser.parse_args()
    judge = second_verdict if asked.order == 2 else JUDGES[asked.mode]
    named = asked.only, asked.named
    cases = folder_cases(asked.folder, *named) if asked.folder else node_cases(*named)
    warnings.filterwarnings("ignore")
    print_verdicts(cases, judge, verbose=asked.verbose)


def print_verdicts(cases: Iterable[Case], judge: Judge, *, verbose: bool) -> None:
    """Print a line for each case whose verdict is not `SAID`, the counts, and what the refusals come to."""
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            try:
                word, reason = verdict(case, Path(folder), judge)
            except Exception as error:  # noqa: BLE001  # a crash is what the sweep looks for
                word, reason = "crashed", f"{type(error).__name__}: {error}".splitlines()[0][:120]
            counts[word] += 1
            if word.startswith("refused"):
                reasons[_group(reason)] += 1
            if verbose or word not in SAID:
                print(f"{word:32s} {case.name:60s} {reason}", flush=True)
    print("\n".join(f"{count:5d}  {word}" for word, count in counts.most_common()))
    print("\nrefused because")
    print("\n".join(f"{count:5d}  {reason}" for reason, count in reasons.most_common()))


if __name__ == "__main__":
    main()

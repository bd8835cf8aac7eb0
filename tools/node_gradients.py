"""Check a loaded case for `node_sweep.py`: its gradient against central differences.

Its product with a random direction is compared in float64, where the case has such a form: with differences of onnx's
reference evaluator, else of the program evaluated op by op in NumPy, else of the float64 file in onnxruntime. The
gradient in the case's own dtype is compared with that one.
"""

from typing import Any

import numpy as np
import onnx.reference

from primsplit.ir.errors import PrimsplitError
from primsplit.programs.api import SplitProgram
from primsplit.testing.reference import Reference
from primsplit.tracing import trees
from tools.node_cases import Loaded, run, split_of, told
from tools.node_differences import TOLERANCES, Verdict, compared, drawn, pairing, refused


def gradient_verdict(loaded: Loaded) -> Verdict:
    """Compare the gradient along a random direction with central differences."""
    made = split_of(loaded.program)
    if isinstance(made, tuple):
        return made
    try:
        own = Gradient(loaded, made)
    except PrimsplitError as error:
        return refused(error)
    exact = None if loaded.wide is None else _in_wide(loaded.wide, own)
    found, reason = (exact or own).against_differences()
    if exact is not None and found == "right" and (far := own.distance(exact)):
        found, reason = own.against_differences()
        found, reason = ("right in float64", far) if found.startswith("wrong") else (found, reason)
    return ("right, partly zero" if found == "right" and own.is_partly_zero else found), reason


def _in_wide(wide: Loaded, own: "Gradient") -> "Gradient | None":
    """The gradient in float64 for the same cotangents; None where there is none."""
    made = split_of(wide.program)
    try:
        return None if isinstance(made, tuple) else Gradient(wide, made, own.cotangents)
    except PrimsplitError:
        return None


class Gradient:
    """The gradient of a loaded case, split, for random cotangents, or given ones: `gradients` by input."""

    def __init__(self, loaded: Loaded, made: SplitProgram, cotangents: list[Any] | None = None) -> None:
        self.loaded, self.made, self.inputs = loaded, made, loaded.inputs
        values = run(loaded.program, self.inputs)
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
        """Return the distance of the gradient from an exact one in words; an empty text if it is small."""
        tolerance = TOLERANCES[self.dtype] * max(exact.size, 1e-3)
        pairs = ((g.astype(float), exact.gradients[i]) for i, g in self.gradients.items())
        far = max(float(np.max(np.abs(a - b), initial=0)) if np.isfinite(a).all() else np.inf for a, b in pairs)
        return "" if far <= tolerance else f"{self.dtype} is off by {far:.2g} where gradients go up to {exact.size:.2g}"

    def against_differences(self) -> Verdict:
        """The verdict by the first reference that agrees, or the first that takes float64: rounding makes it stairs."""
        reasons, verdicts = [], []
        for name, evaluate in _references(self.loaded, self.made).items():

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


def _references(loaded: Loaded, made: SplitProgram) -> dict[str, Any]:
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

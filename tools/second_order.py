"""Files with an input's gradient, loaded and differentiated again: the node cases with weights, and networks.

    python -m tools.second_order [--named gemm] [--only Conv] [--few] [--networks] [--verbose] [--start 400]

Of each case some float inputs become weights of the model, under their names. Its gradient by the inputs that are left
is written to a file, which is loaded and differentiated with respect to each input and each weight. What comes is
compared, input by input and weight by weight, with central differences of the first derivative. That one is taken of
the model itself, every weight an input, and evaluated op by op in float64: no written file is part of the reference.
`--networks` asks the light networks of the onnx package; their first derivative is evaluated in float64 in onnxruntime.
One line a verdict that is not right, then a table. "wrong" and "crashed" tell of a fault. Progress goes to stderr, with
the number for `--start` that goes on after an interrupt.
"""

import argparse
import collections
import itertools
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper

import primsplit as ps
from primsplit.ir import walk
from primsplit.ir.errors import PrimsplitError
from primsplit.ir.reasons import FOLDED
from primsplit.programs.program import Program
from primsplit.rewrites.inline import inline_calls
from primsplit.testing.reference import Reference
from tests.networks import NAMES, light_network, random_inputs
from tools.node_cases import Case, flat, load_wide, node_cases, run
from tools.node_differences import ROUGH, TOLERANCES, Verdict, compared, drawn, pairing, refused, size_of
from tools.node_sweep import DRAWN

SAID = {"right", "not differentiable", "refused", "drawn at random"}
"""Verdicts that have no line of their own."""
Arrays = dict[str, Any]
Evaluator = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def with_weights(model: onnx.ModelProto, arrays: Mapping[str, Any]) -> onnx.ModelProto:
    """A copy of a model in which these inputs are initializers."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    kept = [v for v in made.graph.input if v.name not in arrays]
    del made.graph.input[:]
    made.graph.input.extend(kept)
    made.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(a), name) for name, a in arrays.items())
    made.ir_version = max(made.ir_version, 4)
    return made


def chosen(only: str | None, named: str, *, few: bool) -> list[Case]:
    """The node cases that are asked for; where few are, the smallest of each operator and number of inputs."""
    cases = node_cases(only, named)
    if not few:
        return cases
    first: dict[Any, Case] = {}
    for case in (c for c in cases if not c.name.endswith("_expanded")):
        key = (frozenset(n.op_type for n in case.model.graph.node), len(case.inputs))
        if key not in first or _size(case) < _size(first[key]):
            first[key] = case
    return list(first.values())


def _size(case: Case) -> int:
    return sum(int(x.size) for x in flat(case.inputs) if isinstance(x, np.ndarray))


def frozen_cases(case: Case) -> Iterator[Case]:
    """The case as it is, where it has weights; and with all of its float inputs but one as weights.

    The first float input stays one, or the last.
    """
    if any(t.data_type in {1, 10, 11, 16} for t in case.model.graph.initializer):
        yield case
    inputs = dict(zip(case.names, case.inputs, strict=False))
    floats = [n for n, x in inputs.items() if isinstance(x, np.ndarray) and x.dtype.name in TOLERANCES]
    for stays in dict.fromkeys((floats[0], floats[-1])) if len(floats) > 1 else ():
        weights = {name: inputs[name] for name in floats if name != stays}
        left = [array for name, array in inputs.items() if name not in weights]
        yield Case(f"{case.name}, by {stays}", with_weights(case.model, weights), left, case.expected)


@dataclass(frozen=True)
class Written:
    """A first derivative that was written and loaded: `loaded`, at a point, along `directions` of its results.

    `first` is the same derivative of the model itself, with every one of `weights` an input.
    """

    loaded: Program
    first: Program
    point: Arrays
    directions: Arrays
    weights: tuple[str, ...]

    def second(self) -> Arrays:
        """The second derivatives by input and weight."""
        asked = [name for name in (*self.loaded.inputs, *self.weights) if self.point[name].dtype.name in TOLERANCES]
        made = ps.split(self.loaded, wrt=asked, of=list(self.directions), seed="input")
        return self._values_of(made)

    def _values_of(self, made: Any) -> Arrays:
        """Return the results of a split of a first derivative at the point, by the names of its gradients."""
        seeds = dict(
            zip(made.seed_names, (self.directions[made.program.outputs[i]] for i in made.split.of), strict=True)
        )
        given = {**self.point, **seeds}
        joint = made.joint()
        found = run(joint, [given[name] for name in joint.inputs])
        return dict(zip(asked_of(made), found[len(made.program.outputs) :], strict=True))

    def unwritten(self) -> Arrays:
        """The same derivatives of the model's own first derivative, without a file and with every weight an input."""
        asked = [name for name in (*self.loaded.inputs, *self.weights) if self.point[name].dtype.name in TOLERANCES]
        made = ps.split(self.first, wrt=asked, of=list(self.directions), seed="input")
        return self._values_of(made)

    def verdict(self, evaluate: Evaluator) -> Verdict:
        """Compare them with differences of the first derivative; the worst that is said of one of them."""
        found, random = self.second(), np.random.default_rng(2)
        said: list[Verdict] = []
        for name, gradient in found.items():
            direction = drawn(random, self.point[name])
            terms = size_of([gradient], [direction])
            tolerance = TOLERANCES[gradient.dtype.name]

            def scalar(moved: list[Any], name: str = name) -> float:
                results = evaluate({**self.point, name: moved[0]})
                return pairing([np.asarray(results[r], float) for r in self.directions], [*self.directions.values()])

            base, line = [self.point[name].astype(np.float64)], [direction.astype(np.float64)]
            product = pairing([gradient], [direction])
            word, why = compared(scalar, base, line, product, size=max(terms, 1e-3), tolerance=tolerance)
            said.append((word, f"by {name}: {why}" if why else ""))
        return max(
            said, key=lambda v: (v[0] not in ROUGH | {"right"}, v[0] != "right"), default=("not differentiable", "")
        )


def _badness(said: Verdict) -> int:
    return 0 if said[0] == "right" else 1 if said[0] in ROUGH else 2


def asked_of(made: Any) -> list[str]:
    """The names of what a split is differentiated by."""
    return [made.program.inputs[i] for i in made.differentiated]


def written(program: Program, inputs: list[Any], folder: Path) -> Written | None:
    """Write and load the first derivative by the inputs; None where there is none. Raises PrimsplitError."""
    made = ps.split(program)
    if not made.split.targets:
        return None
    joint = made.joint()
    values, random = run(program, inputs), np.random.default_rng(0)
    seeds = [] if made.seeded else [drawn(random, values[i]) for i in made.split.of]
    named = dict(zip(made.differentiated, made.gradient_names, strict=True))
    directions = {named[i]: drawn(random, inputs[i]) for i in made.split.targets}
    (path,) = made.save(Path(tempfile.mkdtemp(dir=folder)) / "first.onnx")
    loaded = ps.load(path)
    weights = [n for n, v in program.initializers.items() if v.type.is_float]
    told = [n for n in weights if n in loaded.initializers and loaded.constants.get(n) != FOLDED]
    whole = ps.split(program.with_inputs(told) if told else program, wrt=list(program.given_names) and asked_of(made))
    point = dict(zip(joint.inputs, [*inputs, *seeds], strict=True))
    point.update({name: program.initializers[name].numpy() for name in told})
    return Written(loaded, whole.joint(), point, directions, tuple(told))


def verdict(case: Case, folder: Path) -> Verdict:
    """Whether the file's second derivatives are those of the model, in its dtypes or else in float64."""
    inputs = flat(case.inputs)
    if not all(isinstance(x, np.ndarray) for x in inputs):
        return "refused", "sparse values"
    try:
        program = case.load(folder / "case.onnx", case.model)
        program.check_arrays(inputs)
    except PrimsplitError as error:
        return refused(error)
    found = _verdict(program, inputs, folder)
    if found[0] in SAID:
        return found
    exact = load_wide(case, folder, inputs)
    wide = found if exact is None else _verdict(exact.program, exact.inputs, folder)
    return found if wide[0] == "refused" else wide


def _verdict(program: Program, inputs: list[Any], folder: Path) -> Verdict:
    try:
        if any(op.kind in DRAWN for op in walk(inline_calls(program.block))):
            return "drawn at random", ""
        found = written(program, inputs, folder)
        if found is None:
            return "not differentiable", ""
        reference = Reference(found.first.block, np.float64)

        def evaluate(arrays: Mapping[str, Any]) -> Mapping[str, Any]:
            return dict(zip(found.first.outputs, reference(*(arrays[n] for n in found.first.inputs)), strict=True))

        return found.verdict(evaluate)
    except PrimsplitError as error:
        return refused(error)


def network_verdict(name: str, folder: Path) -> Verdict:
    """The verdict on a light network with random weights, of which a few are asked."""
    arrays = random_inputs(light_network(name))
    double = light_network(name, double=True)
    image, *weights = arrays
    wide = {key: array.astype(np.float64) for key, array in arrays.items()}
    onnx.save(with_weights(double, {key: wide[key] for key in weights}), folder / "network.onnx")
    found = written(ps.load(str(folder / "network.onnx")), [wide[image]], folder)
    assert found is not None
    few = (*found.weights[:2], *found.weights[-2:])
    kept = Written(found.loaded, found.first, found.point, found.directions, few)

    def evaluate(given: Mapping[str, Any]) -> Mapping[str, Any]:
        arrays = [np.asarray(given[n], np.float64) for n in found.first.inputs]
        return dict(zip(found.first.outputs, run(found.first, arrays), strict=True))

    said = kept.verdict(evaluate)
    if said[0] == "right":
        return said
    # Differences of so many kinks do not settle: then the file must agree with the model that was never written.
    exact, again = kept.unwritten(), kept.second()
    apart = max(float(np.max(np.abs(again[n] - a)) / max(np.max(np.abs(a)), 1e-300)) for n, a in exact.items())
    return ("right", "") if apart < 1e-8 else ("wrong", f"{apart:.2g} apart from the model; differences: {said}")


def main() -> None:
    """Judge the cases, or the networks, that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="cases that hold this operator")
    parser.add_argument("--named", default="", help="cases with this in their name")
    parser.add_argument("--few", action="store_true", help="the first case alone of each set of operators")
    parser.add_argument("--networks", action="store_true", help="the light networks, not the node cases")
    parser.add_argument("--start", type=int, default=0, help="leave out so many verdicts")
    parser.add_argument("--verbose", action="store_true")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    judged: Iterator[tuple[str, Callable[[Path], Verdict]]]
    if asked.networks:
        judged = ((name, partial(network_verdict, name)) for name in NAMES if asked.named in name)
    else:
        cases = (made for case in chosen(asked.only, asked.named, few=asked.few) for made in frozen_cases(case))
        judged = ((case.name, partial(verdict, case)) for case in cases)
    print_verdicts(judged, start=asked.start, verbose=asked.verbose)


def print_verdicts(judged: Iterator[tuple[str, Callable[[Path], Verdict]]], *, start: int, verbose: bool) -> None:
    """Print a line for each verdict that is not `SAID`, and the counts, of the cases from this one on."""
    counts: collections.Counter[str] = collections.Counter()
    for number, (name, judge) in enumerate(itertools.islice(judged, start, None), start):
        if number % 50 == 0:
            print(f"at {number}: {dict(counts)}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            try:
                word, reason = judge(Path(folder))
            except Exception as error:  # noqa: BLE001  # a crash is what the sweep looks for
                word, reason = "crashed", f"{type(error).__name__}: {error}".splitlines()[0][:120]
        counts[word] += 1
        if verbose or word not in SAID:
            print(f"{word:24s} {name:60s} {reason}", flush=True)
    print("\n".join(f"{count:5d}  {word}" for word, count in counts.most_common()))


if __name__ == "__main__":
    main()

"""Models of sequences, and what is asked of them: the standard's own numbers and derivatives."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx.reference

import primsplit as ps
from primsplit.tracing import trees
from tests.onnx.sequence_rows import Row

Arrays = list[Any]


HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'


def saved(folder: Path, text: str) -> str:
    path = str(folder / "model.onnx")
    onnx.save(onnx.parser.parse_model(HEAD + text), path)
    return path


class Subject:
    """A row's program, the standard's own evaluator, and a direction for its floating-point inputs."""

    def __init__(self, row: Row, folder: Path) -> None:
        path = saved(folder, row.text)
        self.program = ps.load(path, lengths=row.lengths, given=row.given)
        self.arrays, self.structure = trees.flatten(row.arguments)
        model = onnx.load(path)
        self.names = [v.name for v in model.graph.input]
        self.evaluator = onnx.reference.ReferenceEvaluator(model)
        random = np.random.default_rng(3)
        self.direction = [
            random.standard_normal(x.shape) if x.dtype == np.float64 else np.zeros_like(x) for x in self.arrays
        ]

    def expected(self, step: float = 0.0) -> float:
        """The model's result, away from its inputs by so many times the direction."""
        moved = [x + step * d if x.dtype == np.float64 else x for x, d in zip(self.arrays, self.direction, strict=True)]
        nested = trees.unflatten(self.structure, moved)
        return float(self.evaluator.run(None, dict(zip(self.names, nested, strict=True)))[0])

    def run(self, program: Any, arrays: Arrays) -> Arrays:
        found: Arrays = program.session().run(dict(zip(program.inputs, arrays, strict=True)))
        return found

    def along(self, gradients: Arrays, wrt: Any) -> float:
        return float(sum(np.sum(g * self.direction[i]) for g, i in zip(gradients, wrt, strict=True)))


def check_numbers(row: Row, folder: Path) -> None:
    """The program gives the model's own number."""
    subject = Subject(row, folder)
    np.testing.assert_allclose(subject.program(*row.arguments), subject.expected(), rtol=1e-12)


def check_derivatives(row: Row, folder: Path) -> None:
    """The first and second derivatives along a direction are those of central differences."""
    subject = Subject(row, folder)
    made = ps.split(subject.program)
    joint = made.joint()
    _, *gradients = subject.run(joint, subject.arrays)
    first = (subject.expected(1e-5) - subject.expected(-1e-5)) / 2e-5
    np.testing.assert_allclose(subject.along(gradients, made.differentiated), first, rtol=1e-7)
    again = ps.split(joint, of=joint.outputs[1:])
    weights = [subject.direction[i] for i in made.differentiated]
    second = subject.run(again.joint(), [*subject.arrays, *weights])[len(joint.outputs) :]
    steps = subject.expected(1e-4) - 2 * subject.expected() + subject.expected(-1e-4)
    np.testing.assert_allclose(subject.along(second, again.differentiated), steps / 1e-8, rtol=1e-4)


ENDS = """m (seq(double[N]) x, optional(double[2]) o) => (seq(double[N]) s, optional(double[2]) p, double[2] q) {
    s = SequenceMap (x) <body = each (double[N] v) => (double[N] w) { w = Sin (v) }>
    p = Identity (o)
    q = Constant <value = double[2] {1, 2}> ()
}"""


def model(body: str, inputs: str = "double[2] a, double[3] b, int64 i", output: str = "double[] y") -> str:
    return f"m ({inputs}) => ({output}) {{ {body} }}"

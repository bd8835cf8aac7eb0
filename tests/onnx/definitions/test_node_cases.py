"""Every node case that the onnx package has of an operator above the written opset: loaded, run, differentiated."""

import collections
import contextlib
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.reference
import pytest
from onnx.backend.test.case.node import collect_testcases

from primsplit import load, split
from primsplit.testing import directional_derivative
from tests.versions import since

KINDS = (
    "Attention", "BitCast", "BitShift", "CausalConvWithState", "CumProd", "FlexAttention", "LinearAttention", "Mod",
    "RMSNormalization", "RotaryEmbedding", "SpaceToDepth", "SwiGLU", "Swish", "TensorScatter", "TreeEnsemble",
)  # fmt: skip
pytestmark = since("onnx", "1.23", "it lacks cases, and some it has are wrong")
TOLERANCES = {"bfloat16": 2e-2, "float16": 5e-3, "float32": 2e-5, "float64": 1e-10}
SLOPES = {"bfloat16": 2e-1, "float16": 5e-2, "float32": 2e-3, "float64": 1e-6}
Cases = dict[str, list[Any]]


@pytest.fixture(scope="module")
def cases() -> Cases:
    """The cases of one node, by its operator."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    made: Cases = collections.defaultdict(list)
    for case in found:
        if len(case.model.graph.node) == 1:
            made[case.model.graph.node[0].op_type].append(case)
    return made


def loaded(case: Any, folder: Path) -> tuple[Any, list[np.ndarray], list[np.ndarray]]:
    path = str(folder / "case.onnx")
    onnx.save(case.model, path)
    inputs, expected = case.data_sets[0]
    return load(path), [np.asarray(x) for x in inputs], [np.asarray(x) for x in expected]


def run(program: Any, names: Any, values: list[np.ndarray]) -> list[np.ndarray]:
    return program.session().run(dict(zip(names, values, strict=True)))


@pytest.mark.parametrize("kind", KINDS)
def test_every_case_has_the_outputs_that_the_standard_expects(kind: str, cases: Cases, tmp_path: Path) -> None:
    assert cases[kind]
    for case in cases[kind]:
        program, inputs, expected = loaded(case, tmp_path)
        for found, wanted in zip(run(program, program.inputs, inputs), expected, strict=True):
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), case.name
            tolerance = TOLERANCES.get(wanted.dtype.name, 0)
            np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=case.name)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted({*KINDS} - {"BitCast", "BitShift", "FlexAttention", "Mod", "TreeEnsemble"}))
def test_the_gradient_of_every_case_agrees_with_differences_of_the_reference(
    kind: str, cases: Cases, tmp_path: Path
) -> None:
    for case in cases[kind]:
        program, inputs, expected = loaded(case, tmp_path)
        if any(t.is_float for t in program.types):
            check_gradient(case, program, inputs, [np.isfinite(y) for y in expected])


def check_gradient(case: Any, program: Any, inputs: list[np.ndarray], finite: list[np.ndarray]) -> None:
    """The product of the gradient and a random direction, against central differences in float64.

    Outputs of minus infinity have no cotangent.
    """
    made, random = split(program), np.random.default_rng(0)
    outputs = [program.block.results[i].type.dtype for i in range(len(finite))]
    cotangents = [
        np.where(f, random.standard_normal(f.shape), 0).astype(d) for f, d in zip(finite, outputs, strict=True)
    ]
    seeds = [np.ones_like(cotangents[0])] if made.seeded else cotangents
    joint = made.joint()
    found = run(joint, joint.inputs, [*inputs, *([] if made.seeded else [seeds[i] for i in made.split.of])])
    gradients = dict(zip(made.differentiated, found[len(finite) :], strict=True))
    evaluator = onnx.reference.ReferenceEvaluator(case.model)

    def scalar(arrays: Any) -> float:
        feeds = dict(zip(program.inputs, inputs, strict=True))
        feeds.update({program.inputs[i]: x for i, x in zip(gradients, arrays, strict=True)})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = evaluator.run(None, feeds)
        return float(sum(np.sum(np.where(f, y, 0) * s) for f, y, s in zip(finite, results, seeds, strict=True)))

    point = [inputs[i].astype(np.float64) for i in gradients]
    direction = [random.standard_normal(x.shape) for x in point]
    product = sum(float(np.sum(g.astype(float) * d)) for g, d in zip(gradients.values(), direction, strict=True))
    steps = [directional_derivative(scalar, point, direction, step) for step in (1e-2, 1e-3, 1e-4)]
    size = max(float(np.max(np.abs(g.astype(float)), initial=1e-3)) for g in gradients.values())
    tolerance = max(SLOPES[inputs[i].dtype.name] for i in gradients)
    assert min(abs(product - s) / max(abs(s), size) for s in steps) <= tolerance, case.name


@pytest.mark.parametrize("kind", KINDS)
def test_a_case_is_saved_and_loaded_again_in_the_written_opset(kind: str, cases: Cases, tmp_path: Path) -> None:
    program, inputs, _ = loaded(cases[kind][0], tmp_path)
    path = str(tmp_path / "saved.onnx")
    program.save(path)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 21)]
    again = load(path)
    for found, wanted in zip(run(again, again.inputs, inputs), run(program, program.inputs, inputs), strict=True):
        np.testing.assert_array_equal(found, wanted)

"""Each operator's expression computes what the standard's own cases expect."""

import collections
import contextlib
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.backend.test.case.node import collect_testcases

from primsplit.audit.expressions.table import BUILDERS
from primsplit.audit.numpy_style import to_numpy
from primsplit.audit.written import read_written
from primsplit.ir.errors import PrimsplitError
from tests.versions import since

pytestmark = since("onnx", "1.23", "it lacks cases")
DEFINED = (
    "AffineGrid", "Attention", "Bernoulli", "BlackmanWindow", "CausalConvWithState", "CenterCropPad",
    "DynamicQuantizeLinear", "HammingWindow", "HannWindow", "LinearAttention",
    "NegativeLogLikelihoodLoss", "RotaryEmbedding", "SoftmaxCrossEntropyLoss", "SwiGLU",
)  # fmt: skip
"""Operators that the standard defines by others."""
OTHER_THERE = {
    "test_resize_downsample_scales_linear_align_corners",
    "test_resize_downsample_scales_cubic_align_corners",
}
"""Cases whose results are others in onnxruntime, which puts the last element of an axis at the corner."""
REASONS = ("which NumPy does not have", "draws random numbers", "converts ", "RandomUniformLike has no form")
"""Why cases are refused: dtypes that NumPy lacks, random numbers, conversions of texts."""
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


def run_in_place(model: onnx.ModelProto, inputs: list[Any], folder: Path) -> tuple[Any, ...]:
    """What the module of a model returns for these inputs, in this process."""
    onnx.save(model, folder / "case.onnx")
    module = to_numpy([read_written(str(folder / "case.onnx"))])
    np.savez(folder / "case.npz", **module.arrays)
    scope: dict[str, Any] = {"__file__": str(folder / "case.py")}
    exec(compile(module.text, "case.py", "exec"), scope)
    found = scope["forward"](*inputs)
    return found if isinstance(found, tuple) else (found,)


def arrays(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return [arrays(v) for v in value] if isinstance(value, list | tuple) else value


def assert_equal(found: Any, expected: Any, case: Any) -> None:
    if isinstance(expected, list):
        assert isinstance(found, list), case.name
        for a, b in zip(found, expected, strict=True):
            assert_equal(a, b, case)
        return
    expected = np.asarray(expected)
    assert isinstance(found, np.ndarray | np.generic), case.name
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), case.name
    least = 1e-3 if expected.dtype == np.float16 else 1e-6
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, case.rtol, max(case.atol, least), err_msg=case.name)
    else:
        np.testing.assert_array_equal(found, expected, err_msg=case.name)


@pytest.mark.parametrize("kind", sorted({*BUILDERS, *DEFINED}))
def test_the_expression_of_an_operator_computes_its_cases(kind: str, cases: Cases, tmp_path: Path) -> None:
    refused = []
    for case in cases.get(kind, []):
        for inputs, expected in case.data_sets:
            try:
                found = run_in_place(case.model, arrays(inputs), tmp_path)
            except PrimsplitError as error:
                refused.append(f"{case.name}: {error}")
                continue
            for a, b in zip(found, arrays(expected), strict=True):
                if case.name not in OTHER_THERE:
                    assert_equal(a, b, case)
    assert [why for why in refused if not any(reason in why for reason in REASONS)] == []


def test_an_operator_without_a_form_is_refused_by_name(tmp_path: Path) -> None:
    ends = [helper.make_tensor_value_info(name, 1, [3]) for name in "xy"]
    node = helper.make_node("RandomNormalLike", ["x"], ["y"], name="/draw")
    onnx.save(helper.make_model(helper.make_graph([node], "g", ends[:1], ends[1:])), tmp_path / "m.onnx")
    with pytest.raises(PrimsplitError, match="RandomNormalLike has no form in NumPy") as caught:
        to_numpy([read_written(str(tmp_path / "m.onnx"))])
    assert "'/draw'" in str(caught.value)

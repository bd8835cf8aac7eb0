"""Expansions from size 1 to a constant size of 0, which onnxruntime drops as if they changed nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.ops import op
from tests.recording import kinds, record


@pytest.mark.parametrize("shape", [["N", 1, 3], [2, 1, 3]])
@pytest.mark.parametrize("target", [[1, 0, 1], [0, 3], [2, 0, 3]])
def test_an_expansion_to_no_elements_has_none(shape: list[int | str], target: list[int]) -> None:
    program = ps.trace(lambda x: op.Shape(op.Expand(np.sin(x), target)), ps.spec("float64", shape))
    assert program(np.ones((2, 1, 3))).tolist() == [2, 0, 3]


FOLDED = {
    "a choice between constants": "c = Greater(one, zero) k = Where(c, none, two)",
    "a weight": "s = ReduceSum<keepdims=1>(w) t = Mul(s, zero) k = Cast<to=7>(t)",
    "the rows that a weight selects": "m = Greater(w, nine) n = NonZero(m) k = Shape<start=1>(n)",
    "the shape of what a weight selects": "m = Greater(w, nine) r = Compress<axis=0>(x, m) k = Shape<end=1>(r)",
    "a branch of a constant": """c = Greater(one, zero)
        k = If (c) <then_branch = a () => (int64[1] u) { u = Identity(none) },
                    else_branch = b () => (int64[1] v) { v = Identity(two) }>""",
    "a weight in a branch": """c = Greater(one, zero)
        k = If (c) <then_branch = a () => (int64[1] u) { s = ReduceSum<keepdims=1>(w) t = Mul(s, zero)
                                                         u = Cast<to=7>(t) },
                    else_branch = b () => (int64[1] v) { v = Identity(two) }>""",
}


@pytest.mark.parametrize("target", ["Concat<axis=0>(two, k, three)", "Concat<axis=0>(k, three)"])
@pytest.mark.parametrize("size", FOLDED.values(), ids=FOLDED.keys())
def test_the_gradient_of_an_expansion_to_a_size_that_is_folded_to_0_runs(
    size: str, target: str, tmp_path: Path
) -> None:
    text = f"""<ir_version: 10, opset_import: ["": 21]> g (double[2,1,3] x) => (double y)
      <float one = {{1}}, float zero = {{0}}, int64[1] none = {{0}}, int64[1] two = {{2}}, int64[1] three = {{3}},
       float[2] w = {{0.5, 1.5}}, float nine = {{9}}>
      {{ {size} s1 = {target} e = Expand(x, s1) f = Sin(e) p = ReduceSum<keepdims=0>(f)
         q = Mul(x, x) r1 = ReduceSum<keepdims=0>(q) y = Add(p, r1) }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    ps.split(ps.load(tmp_path / "m.onnx")).save(tmp_path / "gradient.onnx")
    x = np.arange(6.0).reshape(2, 1, 3)
    value, gradient = ps.load(tmp_path / "gradient.onnx")(x)
    np.testing.assert_allclose(value, np.sum(x * x))
    np.testing.assert_allclose(gradient, 2 * x)


def test_an_expansion_by_sizes_of_the_data_stays_as_it_is() -> None:
    from primsplit.targets.faults.expansions import keep_expansions

    def rows(x: Any, mask: Any) -> Any:
        return op.Expand(x, op.Concat(op.Shape(op.NonZero(mask), start=1), [3], axis=0))

    block = record(rows, "float32[1,3]", "bool[N]")
    assert keep_expansions(block) is block
    assert kinds(block).count("Expand") == 1

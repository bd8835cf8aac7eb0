"""One callable for every operator of the standard, found by its name."""

import subprocess
import sys

import numpy as np
import onnx.defs
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.ops.namespace import Operators, later
from primsplit.ops.schema import OPSET
from tests.recording import kinds, record


def test_every_operator_of_the_opset_is_there_and_made_once() -> None:
    schemas = {s.name for s in onnx.defs.get_all_schemas_with_history() if s.domain == "" and s.since_version <= OPSET}
    current = [k for k in schemas if not onnx.defs.get_schema(k, max_inclusive_version=OPSET).deprecated]
    namespace = Operators()
    for kind in current:
        assert getattr(namespace, kind) is getattr(namespace, kind)


@pytest.mark.parametrize("kind", ["Matmul", "matmul", "Mult", "__wrapped__"])
def test_what_is_no_operator_is_no_attribute(kind: str) -> None:
    assert not hasattr(op, kind)
    with pytest.raises(AttributeError, match=f"{kind} is no operator of the ONNX standard"):
        getattr(op, kind)


def test_inputs_are_positional_attributes_keywords_and_none_leaves_one_out() -> None:
    x = np.array([-2.0, 0.5, 3.0])
    found = ps.trace(lambda x: (op.Clip(x, None, 1.0), op.ReduceSum(x, [0], keepdims=0)), x)(x)
    np.testing.assert_array_equal(found[0], np.minimum(x, 1.0))
    assert found[1] == x.sum()


def test_an_operator_that_is_looked_up_later_is_the_same_one() -> None:
    made = later.Softmax
    assert kinds(record(lambda x: made(x, axis=0), "float32[3]")) == ["Softmax"]
    with pytest.raises(AttributeError, match="Sofmax is no operator"):
        later.Sofmax(np.ones(3))


def test_an_operator_that_is_read_before_anything_is_traced_is_found_at_its_call() -> None:
    code = """
import numpy as np, primsplit as ps
from primsplit.ops import op
relu = op.Relu
print(ps.grad(lambda x: relu(x).sum())(np.array([1.0, -1.0])).tolist())
try:
    op.Reluu
except AttributeError as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == ["[1.0, 0.0]", "Reluu is no operator of the ONNX standard"]

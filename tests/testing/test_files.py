"""The errors of check_model."""

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.testing import CheckFailed, check_model


def model() -> onnx.ModelProto:
    return ps.trace(lambda x: np.sin(x) * 2.0, ps.spec("float64", ["N"])).to_onnx()


def test_a_program_of_ours_passes() -> None:
    check_model(model())


def test_another_opset_fails() -> None:
    proto = model()
    proto.opset_import[0].version = 20
    with pytest.raises(CheckFailed, match="opset"):
        check_model(proto)


def test_another_domain_fails() -> None:
    proto = model()
    proto.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    with pytest.raises(CheckFailed, match=r"com\.microsoft"):
        check_model(proto)


def test_a_value_that_nothing_defines_fails() -> None:
    proto = model()
    proto.graph.node[0].input[0] = "nowhere"
    with pytest.raises(CheckFailed, match="nowhere"):
        check_model(proto)


def test_a_wrong_declared_type_fails() -> None:
    proto = model()
    proto.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    with pytest.raises(CheckFailed, match="not valid"):
        check_model(proto)

"""The float64 cosine, written with a sine for runtimes that have no kernel of it."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.ops import op
from primsplit.targets.faults.cosines import write_cosines
from tests.recording import kinds, record


def test_only_float64_cosines_are_written_otherwise() -> None:
    found = write_cosines(record(lambda x: op.Exp(op.Cos(x)), "float64[3]"))
    assert "Cos" not in {o.kind for o in walk(found)}
    assert "Sin" in kinds(found)
    narrow = record(lambda x: op.Exp(op.Cos(x)), "float32[3]")
    assert write_cosines(narrow) is narrow


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_the_value_is_the_cosine_to_a_few_units_of_1(scale: float) -> None:
    x = np.linspace(-7, 7, 101) * scale
    program = ps.trace(np.cos, x)
    assert "Cos" not in {node.op_type for node in program.to_onnx().graph.node}
    np.testing.assert_allclose(program(x), np.cos(x), rtol=0, atol=2e-15)

"""Function bodies that the standard defines for operators, as blocks."""

from typing import Any

import numpy as np
import onnx
import onnx.reference
import pytest

import primsplit as ps
from primsplit.ir import Op, Type, Var
from primsplit.ir.errors import PrimsplitError
from primsplit.ops import op
from primsplit.rules.bodies import body_of, function_of
from tests.recording import record

X = np.array([[0.5, -1.0, 2.0], [0.25, -3.0, 1.5]])


@pytest.mark.parametrize(
    ("kind", "attributes", "arrays"),
    [
        ("Elu", {"alpha": 0.5}, [X]),
        ("Shrink", {"lambd": 0.6, "bias": 0.1}, [X]),
        ("Clip", {}, [X, np.float64(-0.5), np.float64(1.0)]),
        ("ReduceLogSum", {"keepdims": 0}, [np.abs(X), np.array([1])]),
        ("CenterCropPad", {"axes": [1]}, [X, np.array([5])]),
    ],
)
def test_a_body_computes_what_the_operator_does(kind: str, attributes: dict[str, Any], arrays: list[Any]) -> None:
    types = [f"{a.dtype}[{','.join(map(str, a.shape))}]" if a.shape else str(a.dtype) for a in arrays]
    functions = [lambda a: getattr(op, kind)(a, **attributes), lambda a, b: getattr(op, kind)(a, b, **attributes)]
    functions.append(lambda a, b, c: getattr(op, kind)(a, b, c, **attributes))
    block = record(functions[len(arrays) - 1], *types)
    body, positions = body_of(block.ops[-1])
    assert positions == list(range(len(arrays)))
    assert kind not in {o.kind for o in body.ops}
    node = onnx.helper.make_node(kind, [f"x{i}" for i in range(len(arrays))], ["y"], **attributes)
    (expected,) = onnx.reference.ReferenceEvaluator(node).run(None, {f"x{i}": a for i, a in enumerate(arrays)})
    program = ps.trace(lambda *given: getattr(op, kind)(*given, **attributes), *arrays)
    np.testing.assert_allclose(program(*arrays), expected)


def test_an_operator_without_a_body_is_refused_by_name() -> None:
    with pytest.raises(PrimsplitError, match="no function body for Conv"):
        function_of(Op("Conv", (Var(Type("float32", [1, 1, 4])),), (Var(Type("float32", [1, 1, 4])),)))


def test_small_constants_are_a_part_of_the_body() -> None:
    block = record(lambda x: op.Clip(x, np.float32(0.0), np.float32(1.0)), "float32[3]")
    body, positions = body_of(block.ops[-1])
    assert positions == [0]
    assert len(body.params) == 1

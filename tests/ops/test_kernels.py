"""The dtypes in the table of kernels run in the installed onnxruntime, with NumPy's numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnxruntime
import pytest

from primsplit.ops.kernels import ALL, FLOATS, INTEGERS, KERNELS, NUMBERS
from primsplit.ops.schema import schema

BINARY: dict[str, Callable[..., Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum, "MatMul": np.matmul,
    "BitwiseAnd": np.bitwise_and, "And": np.logical_and, "Equal": np.equal, "Less": np.less,
}  # fmt: skip
UNARY: dict[str, Callable[..., Any]] = {
    "Abs": np.abs, "Neg": np.negative, "Sqrt": np.sqrt, "Sign": np.sign, "Not": np.logical_not, "Floor": np.floor,
    "ReduceMax": lambda x: x.max(keepdims=True), "Transpose": np.transpose, "Tanh": np.tanh,
}  # fmt: skip


def run(kind: str, *arrays: np.ndarray[Any, Any]) -> Any:
    """The result of an operator in onnxruntime, without optimizations."""
    names = [f"x{i}" for i in range(len(arrays))]
    of = [onnx.helper.np_dtype_to_tensor_dtype(a.dtype) for a in arrays]
    inputs = [onnx.helper.make_tensor_value_info(n, t, a.shape) for n, t, a in zip(names, of, arrays, strict=True)]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(kind, names, ["y"])], "g", inputs, [onnx.ValueInfoProto(name="y")]
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip(names, arrays, strict=True)))[0]


def dtypes_of(kind: str) -> list[str]:
    variable = schema(kind).variable(0)
    found = {d for row in KERNELS.get(kind, ()) for d in row[variable]}
    return sorted(found - {"bfloat16", "int4", "uint4"})  # which NumPy does not have


CASES = [(kind, dtype) for kind in (*BINARY, *UNARY) for dtype in dtypes_of(kind)]


@pytest.mark.parametrize(("kind", "dtype"), CASES)
def test_a_kernel_of_the_table_runs(kind: str, dtype: str) -> None:
    x, y = np.array([[1, 3], [0, 2]], dtype), np.array([[2, 3], [1, 0]], dtype)
    wanted = BINARY[kind](x, y) if kind in BINARY else UNARY[kind](x)
    found = run(kind, *([x, y] if kind in BINARY else [x]))
    np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=2e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize(("kind", "dtype"), [("Acos", "float64"), ("Sinh", "float64"), ("Floor", "int32")])
def test_what_the_table_lacks_does_not_run(kind: str, dtype: str) -> None:
    assert all(dtype not in row["T"] for row in KERNELS[kind])
    with pytest.raises(Exception, match=r"NOT_IMPLEMENTED|INVALID_GRAPH|Type Error"):
        run(kind, np.ones(2, dtype))


def test_dtypes_are_of_the_standards_type_variables() -> None:
    for kind, rows in KERNELS.items():
        known = schema(kind)
        variables = {variable for _, variable in (*known.inputs, *known.outputs)}
        for row in rows:
            assert row.keys() <= variables, kind


def test_groups_of_dtypes_are_parts_of_one_another() -> None:
    assert FLOATS | INTEGERS | {"bfloat16"} == NUMBERS
    assert NUMBERS | {"bool"} == ALL

"""The checks of each row: types against onnx's C++ inference, and against onnxruntime's results."""

from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnxruntime
import pytest

from primsplit.ir import Const, Type, Value, Var, dims
from primsplit.ir.dims import Dim, Size
from primsplit.ops.inference import infer
from primsplit.ops.inference.standard import infer_by_standard
from primsplit.ops.inference.table import RULES, Site
from primsplit.tracing.specs import parse_spec
from tests.ops.inference.rows import AT_RUN_TIME, ROWS, Row
from tests.versions import is_since


def rows_of(module: str) -> list[Any]:
    """Return the rows of the operators whose rule is in this module of `primsplit.ops.inference`."""
    own = f"primsplit.ops.inference.{module}"
    found = [row for row in (*ROWS, *AT_RUN_TIME) if row.kind in RULES and RULES[row.kind].__module__ == own]
    return [pytest.param(row, id=f"{i}-{row}"[:90]) for i, row in enumerate(found)]


def _values(row: Row, sizes: dict[str, Dim]) -> list[Value | None]:
    """The row's inputs, the symbols replaced by these sizes."""
    return [
        None if i is None else Var(parse_spec(i).substitute(sizes)) if isinstance(i, str) else Const(i)
        for i in row.inputs
    ]


def types_of(row: Row, sizes: dict[str, Dim]) -> list[Type]:
    return [t for t, _ in infer(row.kind, _values(row, sizes), row.attributes, row.outputs)]


def _is_misread(row: Row, n: int, m: int) -> bool:
    """Whether the installed onnxruntime or onnx is wrong about empty arrays here, or ends the process."""
    if n and m:
        return False
    if row.kind in {"TopK", "OneHot"}:
        return not is_since("onnxruntime", "1.31")
    if row.kind == "ReduceSum" and row.attributes.get("noop_with_empty_axes"):
        return not is_since("onnxruntime", "1.29")
    return row.kind == "Slice" and not is_since("onnx", "1.23")


def check_literal_types(row: Row) -> None:
    """Check that literal types equal those of onnx's own inference, where it has an answer."""
    for n, m in row.sizes:
        if row.kind == "Slice" and _is_misread(row, n, m):
            continue
        sizes: dict[str, Dim] = {"N": n, "M": m}
        ours = types_of(row, sizes)
        theirs = infer_by_standard(Site(row.kind, _values(row, sizes), row.attributes, row.outputs))
        for a, b in zip(ours, theirs, strict=True):
            assert a.dtype == b.dtype
            if b.shape is not None and a.shape is not None:
                assert len(a.shape) == len(b.shape)
                known = [(x, y) for x, y in zip(a.shape, b.shape, strict=True) if isinstance(y, int)]
                assert all(isinstance(x, Size) or x == y for x, y in known), (a, b)


def _array(value: Value, random: np.random.Generator) -> np.ndarray:
    if isinstance(value, Const):
        return value.numpy()
    shape = tuple(int(d) for d in value.type.shape or ())  # type: ignore[arg-type]
    if value.type.dtype.kind == "f":
        return np.asarray(random.uniform(0.1, 0.9, shape), value.type.dtype)
    if value.type.dtype.kind == "b":
        return np.ones(shape, bool)
    return np.ones(shape, value.type.dtype)


def _run(row: Row, values: list[Value | None]) -> list[np.ndarray]:
    """Return onnxruntime's results for the operator, from a file that declares no types of its outputs."""
    random = np.random.default_rng(0)
    arrays = {f"i{k}": _array(v, random) for k, v in enumerate(values) if v is not None}
    arrays |= {f"i{k}": np.array(v, arrays[f"i{k}"].dtype) for k, v in row.values.items()}
    names = [f"i{k}" if v is not None else "" for k, v in enumerate(values)]
    outputs = [f"o{k}" for k in range(row.outputs)]
    node = onnx.helper.make_node(row.kind, names, outputs, **_attributes(row.attributes))
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [
            onnx.helper.make_tensor_value_info(k, onnx.helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for k, a in arrays.items()
        ],
        [onnx.ValueInfoProto(name=name) for name in outputs],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found: list[np.ndarray] = session.run(None, arrays)
    return found


def _attributes(attributes: dict[str, Any]) -> dict[str, Any]:
    return {k: onnx.numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v for k, v in attributes.items()}


def check_symbolic_types(row: Row) -> None:
    """Check that symbolic types evaluate to the shapes that onnxruntime produces."""
    symbolic = types_of(row, {})
    for n, m in row.sizes:
        if row.kind != "Slice" and _is_misread(row, n, m):
            continue
        for inferred, array in zip(symbolic, _run(row, _values(row, {"N": n, "M": m})), strict=True):
            assert inferred.dtype == array.dtype
            if inferred.shape is None:
                continue
            assert len(inferred.shape) == array.ndim
            for dim, size in zip(inferred.shape, array.shape, strict=True):
                if dims.symbols(dim) <= {"N", "M"}:
                    assert dims.evaluate(dim, {"N": n, "M": m}) == size, (inferred, array.shape, n, m)

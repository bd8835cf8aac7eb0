"""Result types: the rules agree with onnx's C++ inference and with what onnxruntime produces, symbols included."""

from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnxruntime
import pytest

from primsplit.ir import Block, Const, Op, Type, Value, Var, dims
from primsplit.ir.dims import Dim, Size, symbol
from primsplit.ir.errors import DtypeError, PrimsplitError, ShapeError
from primsplit.ops import op
from primsplit.ops.inference import check_types, infer
from primsplit.ops.inference.standard import infer_by_standard
from primsplit.ops.inference.table import RULES, Site
from primsplit.tracing.specs import parse_spec
from tests.ops.inference.rows import ROWS, Row
from tests.recording import record
from tests.versions import is_since

IDS = [f"{i}-{row}"[:90] for i, row in enumerate(ROWS)]


def _values(row: Row, sizes: dict[str, Dim]) -> list[Value | None]:
    """The row's inputs, the symbols replaced by these sizes."""
    return [
        None if i is None else Var(parse_spec(i).substitute(sizes)) if isinstance(i, str) else Const(i)
        for i in row.inputs
    ]


def _types(row: Row, sizes: dict[str, Dim]) -> list[Type]:
    return [t for t, _ in infer(row.kind, _values(row, sizes), row.attributes, row.outputs)]


def _is_misread(row: Row, n: int, m: int) -> bool:
    """True where the installed onnxruntime or onnx is wrong about, or ends the process at, what is empty."""
    if n and m:
        return False
    if row.kind in {"TopK", "OneHot"}:
        return not is_since("onnxruntime", "1.31")
    if row.kind == "ReduceSum" and row.attributes.get("noop_with_empty_axes"):
        return not is_since("onnxruntime", "1.29")
    return row.kind == "Slice" and not is_since("onnx", "1.23")


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_literal_types_equal_onnxs_own_inference_where_it_has_an_answer(row: Row) -> None:
    for n, m in row.sizes:
        if row.kind == "Slice" and _is_misread(row, n, m):
            continue
        sizes: dict[str, Dim] = {"N": n, "M": m}
        ours = _types(row, sizes)
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
    """What onnxruntime makes of the operator, from a file that says nothing of its outputs."""
    random = np.random.default_rng(0)
    arrays = {f"i{k}": _array(v, random) for k, v in enumerate(values) if v is not None}
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


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_symbolic_types_evaluate_to_the_shapes_that_onnxruntime_produces(row: Row) -> None:
    symbolic = _types(row, {})
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


def test_every_rule_has_a_row() -> None:
    assert set(RULES) <= {row.kind for row in ROWS}


def test_symbols_are_only_invented_for_sizes_that_depend_on_data() -> None:
    data_dependent = {"Compress", "NonZero", "Unique"}
    for row in ROWS:
        made = {s for t in _types(row, {}) for d in t.shape or () for s in dims.symbols(d)} - {"N", "M"}
        assert bool(made) == (row.kind in data_dependent), row


SIZES = [
    (lambda x: op.Shape(x), "(N, M, 3)"),
    (lambda x: op.Shape(x, start=1), "(M, 3)"),
    (lambda x: op.Size(x), "(3*M*N,)"),
    (lambda x: op.Gather(op.Shape(x), [1, 0]), "(M, N)"),
    (lambda x: op.Gather(op.Shape(x), 1), "(M,)"),
    (lambda x: op.Concat(op.Shape(x, end=1), [4], axis=0), "(N, 4)"),
    (lambda x: op.Slice(op.Shape(x), [-1], [-(2**62)], [0], [-1]), "(3, M, N)"),
    (lambda x: op.ReduceProd(op.Shape(x), keepdims=0), "(3*M*N,)"),
    (lambda x: op.Add(op.Shape(x), 1), "(N + 1, M + 1, 4)"),
    (lambda x: op.Div(op.Shape(x), 2), "(floordiv(N, 2), floordiv(M, 2), 1)"),
    (lambda x: op.Mod(op.Shape(x), 2), "(mod(N, 2), mod(M, 2), 1)"),
    (lambda x: op.Max(op.Shape(x), np.int64(2)), "(max(N, 2), max(M, 2), 3)"),
    (lambda x: op.Max(op.Shape(x), np.int64(2), np.int64(5)), "(max(max(N, 2), 5), max(max(M, 2), 5), 5)"),
    (lambda x: op.Unsqueeze(op.Squeeze(op.Shape(x, end=1), [0]), [0]), "(N,)"),
    (lambda x: op.Cast(op.Shape(x), to=np.int32), "(N, M, 3)"),
]


@pytest.mark.parametrize(("function", "expected"), SIZES)
def test_what_an_integer_vector_says_of_sizes_is_known(function: Any, expected: str) -> None:
    block = record(function, "float32[N,M,3]")
    assert str(block.results[0].sizes) == expected


UNKNOWN = [
    (lambda x: op.Div(op.Sub(op.Shape(x), 5), 2), "it may be negative, and Div truncates"),
    (lambda x: op.Div(np.array([7]), op.Shape(x)), "the divisor may be 0"),
    (lambda x: op.Sub(op.Cast(op.Shape(x), to=np.uint64), np.uint64(5)), "it may wrap around"),
    (lambda x: op.Cast(op.Shape(x), to=np.int8), "it may wrap around"),
    (lambda x: op.Div(np.array([1]), np.array([0])), "it is no number"),
]


@pytest.mark.parametrize(("function", "why"), UNKNOWN)
def test_what_an_integer_vector_might_not_say_is_not_assumed(function: Any, why: str) -> None:
    assert record(function, "float32[N]").results[0].sizes is None, why


def test_integers_that_wrap_around_are_left_to_the_run() -> None:
    for function in (
        lambda: op.Mul(np.array([2**30], np.int32), np.array([7], np.int32)),
        lambda: op.Add(np.array([2**62]), np.array([2**62])),
    ):
        assert isinstance(record(function).results[0], Var)


def test_large_quotients_are_exact() -> None:
    (result,) = record(lambda: op.Div(np.array([2**62 + 1, -(2**62) - 1]), np.array([1]))).results
    assert isinstance(result, Const)
    assert result.numpy().tolist() == [2**62 + 1, -(2**62) - 1]


WRONG: list[tuple[type[PrimsplitError], Any, tuple[str, ...], str]] = [
    (ShapeError, lambda x, y: op.Add(x, y), ("float32[2]", "float32[3]"), "cannot broadcast"),
    (ShapeError, lambda x, y: op.MatMul(x, y), ("float32[2,3]", "float32[4,5]"), "inner sizes 3 and 4"),
    (ShapeError, lambda x: op.Reshape(x, [5]), ("float32[2,3]",), "cannot reshape"),
    (ShapeError, lambda x: op.Reshape(x, [0, -1]), ("float32[0,3]",), "-1 may be any size"),
    (ShapeError, lambda x: op.Pad(x, [0, -7, 0, 0]), ("float32[N,3]",), "a size is from 0"),
    (ShapeError, lambda x: op.Transpose(x, perm=[0, 0]), ("float32[2,3]",), "does not permute"),
    (ShapeError, lambda x: op.Squeeze(x, [0]), ("float32[2]",), "cannot squeeze"),
    (ShapeError, lambda x: op.Concat(x, x, axis=4), ("float32[2]",), "axis 4"),
    (ShapeError, lambda x, y: op.Concat(x, y, axis=0), ("float32[2,3]", "float32[2,4]"), "differ at axis 1"),
    (ShapeError, lambda x: op.Gather(x, [0]), ("float32",), "at least one axis"),
    (DtypeError, lambda x, y: op.Add(x, y), ("float32[2]", "float64[2]"), "float32 and float64"),
    (DtypeError, lambda x: op.Sin(x), ("int64[2]",), "does not take int64"),
    (PrimsplitError, lambda x: op.Elu(x, beta=1.0), ("float32",), "no attribute beta"),
    (PrimsplitError, lambda x: op.Concat(x), ("float32[2]",), "needs its attribute axis"),
    (PrimsplitError, lambda x: op.Sin(x, x), ("float32",), "takes 1 to 1 inputs"),
]


@pytest.mark.parametrize(("error", "function", "specs", "text"), WRONG)
def test_inputs_that_do_not_fit_are_refused_at_the_users_line(
    error: type[PrimsplitError], function: Any, specs: tuple[str, ...], text: str
) -> None:
    with pytest.raises(error, match=text) as caught:
        record(function, *specs)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__


def test_two_symbols_are_never_taken_for_equal() -> None:
    (result,) = record(lambda x, y: op.Add(x, y), "float32[N]", "float32[M]").results
    assert str(result.type) == "float32[broadcast(M, N)]"


def test_a_wrong_declaration_is_found() -> None:
    x, y = Var(Type("float32", [symbol("N"), 3])), Var(Type("float32", [4, symbol("N")]))
    with pytest.raises(PrimsplitError, match="declared"):
        check_types(Block("f", (x,), (Op("Transpose", (x,), (y,)),), (y,)))

"""A file that is loaded holds the guards that were written into it: they are not written once more."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir import Op
from primsplit.ir.dims import symbol
from primsplit.ops import op
from primsplit.rewrites.asked_sizes import SizeRewriter

HEADER = '<ir_version: 9, opset_import: ["": 21]> g '
MODELS = {
    "GRU": "(float[s,b,3] x, float[1,6,3] w, float[1,6,2] r) => (float[s,1,b,2] y) "
    "{ y, z = GRU<hidden_size = 2>(x, w, r) }",
    "LSTM": "(float[s,b,3] x, float[1,8,3] w, float[1,8,2] r) => (float[s,1,b,2] y) "
    "{ y, z, c = LSTM<hidden_size = 2>(x, w, r) }",
    "Einsum": '(float[s,b] x, float[c,b] w) => (float[s,c] y) { y = Einsum<equation = "ij,kj->ki">(x, w) }',
    "TopK": "(float[s,4] x) => (float[s,2] y) { k = Constant<value_ints = [2]>() y, i = TopK(x, k) }",
    "LpNormalization": "(float[s,b] x) => (float[s,b] y) { y = LpNormalization(x) }",
    "Conv": "(float[1,b,5] x, float[2,b,3] w) => (float[1,2,5] y) { y = Conv<pads = [1, 1]>(x, w) }",
    "ConvTranspose": "(float[1,2,s] x, float[2,b,3] w) => (float[1,b,t] y) { y = ConvTranspose(x, w) }",
    "ReduceSum": "(float[s,b] x, int64[k] axes) => (float[d,e] y) { y = ReduceSum<noop_with_empty_axes = 1>(x, axes) }",
    "Pad around": "(float[s,b] x) => (float[t,u] y) "
    '{ p = Constant<value_ints = [1, 2, 3, 1]>() y = Pad<mode = "wrap">(x, p) }',
    "Pad around by amounts of the run": '(float[s,b] x, int64[4] p) => (float[t,u] y) { y = Pad<mode = "wrap">(x, p) }',
    "Pad of nothing": "(float[s,b] x) => (float[t,u] y) { p = Constant<value_ints = [0, -3, 0, 2]>() y = Pad(x, p) }",
    "MatMul with a vector": "(float[s,b] x, float[b] w) => (float[s] y) { y = MatMul(x, w) }",
    "MatMul of stacks": "(float[c,s,b] x, float[d,c,b,e] w) => (float[d,c,s,e] y) { y = MatMul(x, w) }",
    "ScatterND of rows": "(float[s,b] x, int64[k,1] i, float[k,b] w) => (float[s,b] y) "
    '{ y = ScatterND<reduction = "add">(x, i, w) }',
    "ScatterND of elements": "(float[s,b] x, int64[k,2] i, float[k] w) => (float[s,b] y) "
    '{ y = ScatterND<reduction = "add">(x, i, w) }',
    "ScatterND by a matrix of places": "(float[s,b] x, int64[k,3,1] i, float[k,3,b] w) => (float[s,b] y) "
    '{ y = ScatterND<reduction = "mul">(x, i, w) }',
    "ReduceMean": "(float[s,b] x) => (float[b] y) "
    "{ a = Constant<value_ints = [0]>() y = ReduceMean<keepdims = 0>(x, a) }",
    "Scan": "(float[s,b] x, float[b] c) => (float[b] y, float[s,b] rows) { y, rows = Scan<num_scan_inputs = 1, "
    "body = step (float[b] c, float[b] v) => (float[b] d, float[b] row) { t = Mul(c, v) d = Sin(t) row = Neg(d) }>"
    "(c, x) }",
}
SIZES = {"s": 4, "b": 3, "c": 2, "d": 5, "e": 3, "k": 2}


def nodes_in(graph: Any) -> int:
    return sum(1 + sum(nodes_in(a.g) for a in n.attribute if a.type == a.GRAPH) for n in graph.node)


def given(model: Any, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    draws = np.random.default_rng(0)
    found = {}
    for value in model.graph.input:
        shape = [d.dim_value or sizes[d.dim_param] for d in value.type.tensor_type.shape.dim]
        is_float = value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
        found[value.name] = draws.standard_normal(shape).astype(np.float32) if is_float else draws.integers(0, 2, shape)
    return found


@pytest.mark.parametrize("name", MODELS)
def test_a_file_does_not_grow_when_it_is_loaded_and_saved(name: str, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(HEADER + MODELS[name])
    onnx.save(model, tmp_path / "0.onnx")
    counts = []
    for turn in range(4):
        program = ps.load(tmp_path / f"{turn}.onnx")
        program.save(tmp_path / f"{turn + 1}.onnx")
        counts.append(nodes_in(onnx.load(tmp_path / f"{turn + 1}.onnx").graph))
    assert counts[3] == counts[2] <= counts[1] <= counts[0] + 2

    arrays = given(model, SIZES)
    wanted = onnxruntime.InferenceSession(str(tmp_path / "0.onnx")).run(None, arrays)
    found = program(*arrays.values())
    for a, b in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "name", ["Einsum", "TopK", "MatMul with a vector", "ScatterND of rows", "Scan", "LpNormalization"]
)
def test_it_still_takes_arrays_without_elements(name: str, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(HEADER + MODELS[name])
    onnx.save(model, tmp_path / "0.onnx")
    for turn in range(2):
        ps.load(tmp_path / f"{turn}.onnx").save(tmp_path / f"{turn + 1}.onnx")
    program = ps.load(tmp_path / "2.onnx")
    for empty in ("s", "b", "k"):
        if empty == "s" and name.startswith("Scatter"):
            continue
        found = program(*given(model, {**SIZES, empty: 0}).values())
        assert not any(np.isnan(a).any() for a in (found if isinstance(found, tuple) else (found,)))


CHOICES = {
    "another size": ("Less", "c", 200000),
    "a larger number": ("Less", "w", 200001),
    "the other order": ("Greater", "w", 200000),
}


@pytest.mark.parametrize("name", CHOICES)
def test_an_if_of_the_users_own_is_no_guard(name: str, tmp_path: Path) -> None:
    kind, read, number = CHOICES[name]
    text = (
        "(float[s,b] x, int64[k,1] i, float[k,b] w, float[m] c) => (float[s,b] y) { n = Size(%s) "
        "l = Constant<value_int = %d>() t = %s(n, l) y = If(t)<then_branch = p () => (float[s,b] u) "
        '{ u = ScatterND<reduction = "add">(x, i, w) }, else_branch = q () => (float[s,b] v) { v = Neg(x) }> }'
    )
    onnx.save(onnx.parser.parse_model(HEADER + text % (read, number, kind)), tmp_path / "own.onnx")
    ps.load(tmp_path / "own.onnx").save(tmp_path / "saved.onnx")
    branches = [a.g for n in onnx.load(tmp_path / "saved.onnx").graph.node for a in n.attribute if a.type == a.GRAPH]
    assert any(n.op_type == "If" for branch in branches for n in branch.node)


class Asking(SizeRewriter):
    """Ask at each Neg whether the first size of its operand is above 2, and whether all are above 0."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[bool, bool]] = []

    def visit(self, step: Op) -> Op | None:
        if step.kind == "Neg":
            assert step.inputs[0] is not None
            shape = step.inputs[0].type.shape or ()
            self.found.append((self.above(shape[0], 2), all(self.above(size, 0) for size in shape)))
        return super().visit(step)


CONDITIONS = {
    "Less(n, 3)": ((False, False), (True, False)),
    "LessOrEqual(n, 3)": ((False, False), (True, False)),
    "GreaterOrEqual(n, 3)": ((True, False), (False, False)),
    "Greater(n, 1)": ((False, False), (False, False)),
    "Equal(Size(x), 0)": ((False, False), (False, True)),
    "Or(Less(n, 3), Equal(m, 0))": ((False, False), (True, True)),
    "And(Less(n, 3), Equal(m, 0))": ((False, False), (False, False)),
    "Not(Or(Less(n, 4), Less(m, 1)))": ((True, True), (False, False)),
    "Equal(n, 3)": ((True, False), (False, False)),
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_what_a_condition_says_about_sizes(condition: str) -> None:
    def f(x: Any) -> Any:
        names = {kind: getattr(op, kind) for kind in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")}
        names |= {kind: getattr(op, kind) for kind in ("And", "Or", "Not", "Size")}
        sizes = {"n": op.Gather(op.Shape(x), np.int64(0)), "m": op.Gather(op.Shape(x), np.int64(1))}
        chosen = eval(condition, names | sizes | {"x": x})
        return ps.cond(chosen, lambda: op.Neg(x), lambda: op.Neg(op.Neg(x)))

    program = ps.trace(f, ps.spec("float64", ["n", "m"]))
    asking = Asking()
    asking.run(program.block)
    then, other = CONDITIONS[condition]
    assert asking.found == [then, other, other]


def test_nothing_is_known_behind_the_if() -> None:
    asking = Asking()
    assert not asking.above(symbol("n"), 0)
    asking.known.append(symbol("n") - 5)
    assert asking.above(symbol("n"), 4)
    assert not asking.above(symbol("n"), 5)
    assert asking.above(symbol("n") + symbol("m"), 4)
    assert not asking.above(symbol("n") - symbol("m"), 0)

"""A choice whose condition is computed from constants alone is told; what an input, a weight or a size decides is not.

An exporter that runs a Python `if` once writes such a condition.
"""

import warnings
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import pytest

import primsplit as ps
from primsplit.ir.errors import FrozenBranchWarning

SIDES = "<then_branch = a () => (float[N] p) { p = Sin (x) }, else_branch = b () => (float[N] q) { q = Exp (x) }>"


def written(path: Path, body: str, *, inputs: str = "float[N] x", stored: str = "float[1] unused = {0}") -> str:
    """A file of a graph with these nodes, from `x` to `y`."""
    header = '<ir_version: 8, opset_import: ["" : 18]>'
    model = onnx.parser.parse_model(f"{header} g ({inputs}) => (float[N] y) <{stored}> {{ {body} }}")
    onnx.save(model, str(path / "model.onnx"))
    return str(path / "model.onnx")


def found_in(path: str) -> list[tuple[str, str, bool]]:
    """The kind, condition and value of each choice that loading warns of, and no warning where there is none."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        program = ps.load(path)
    said = [w for w in told if issubclass(w.category, FrozenBranchWarning)]
    assert len(said) == bool(program.frozen_branches)
    assert all(w.filename == __file__ for w in said)
    return [(b.kind, b.condition, b.value) for b in program.frozen_branches]


CONSTANTS = {
    "an initializer": ("bool flag = {0}", "c = Identity (flag)", False),
    "a vector of one": ("bool[1] flag = {1}", "c = Identity (flag)", True),
    "a Constant": ("float z = {0}", "n = Constant <value_int = 1> () c = Cast <to = 9> (n)", True),
    "Equal": ("int64 a = {3}, int64 b = {3}", "c = Equal (a, b)", True),
    "Greater of floats": ("float a = {3}, float b = {4}", "c = Greater (a, b)", False),
    "Not": ("int64 a = {3}, int64 b = {3}", "e = Equal (a, b) c = Not (e)", False),
    "Gather": ("float[3] a = {1, 2, 3}, int64 i = {2}, float b = {2}", "g = Gather (a, i) c = Greater (g, b)", True),
    "a sum": (
        "float[3] a = {1, 2, 3}, float b = {7}",
        "g = ReduceSum <keepdims = 0> (a) c = Less (g, b)",
        True,
    ),
    "a maximum": ("float[3] a = {1, 2, 3}, float b = {7}", "g = ReduceMax (a) c = Less (b, g)", False),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_an_if_by_constants_alone_is_told_with_its_value_and_side(name: str, tmp_path: Path) -> None:
    stored, nodes, value = CONSTANTS[name]
    path = written(tmp_path, f"{nodes} y = If (c) {SIDES}", stored=stored)
    assert found_in(path) == [("If", "c", value)]
    with pytest.warns(FrozenBranchWarning, match="then_branch" if value else "else_branch"):
        program = ps.load(path)
    x = np.array([0.5, 1.5], np.float32)
    np.testing.assert_allclose(program(x), np.sin(x) if value else np.exp(x), rtol=1e-6)


OTHERS = {
    "an input": ("float[N] x, bool flag", "float z = {0}", "c = Identity (flag)"),
    "a sum of the input": ("float[N] x", "float z = {0}", "s = ReduceSum <keepdims=0> (x) c = Less (s, z)"),
    "an initializer that is an input": ("float[N] x, bool flag", "bool flag = {1}", "c = Identity (flag)"),
    "computed from such a one": ("float[N] x, float w", "float w = {1}, float z = {0}", "c = Less (w, z)"),
    "a size": ("float[3] x", "int64[1] n = {3}", "s = Shape (x) c = Equal (s, n)"),
    "a number of elements": ("float[3] x", "int64 n = {3}", "s = Size (x) c = Equal (s, n)"),
    "a rank": ("float[3] x", "int64[1] n = {1}", "s = Shape (x) r = Shape (s) c = Equal (r, n)"),
    "a size of a constant": ("float[N] x", "float[2] w = {1, 2}, int64[1] n = {2}", "s = Shape (w) c = Equal (s, n)"),
    "a draw": ("float[N] x", "float z = {0}", "r = RandomNormal <shape = [1], seed = 1.0> () c = Less (r, z)"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_choice_by_an_input_a_size_or_a_draw_is_not_told(name: str, tmp_path: Path) -> None:
    inputs, stored, nodes = OTHERS[name]
    assert found_in(written(tmp_path, f"{nodes} y = If (c) {SIDES}", inputs=inputs, stored=stored)) == []


@pytest.mark.parametrize("nodes", ["y = Where (m, x, z)", "k = Squeeze (m) w = Where (k, z, u) y = Mul (w, x)"])
def test_a_mask_of_elements_and_a_choice_of_constants_are_not_told(nodes: str, tmp_path: Path) -> None:
    assert found_in(written(tmp_path, nodes, stored="bool[1] m = {1}, float z = {0}, float u = {1}")) == []


def test_a_choice_in_another_one_or_in_a_loop_is_told_once(tmp_path: Path) -> None:
    inner = "<then_branch = c () => (float[N] r) { r = Neg (x) }, else_branch = d () => (float[N] s) { s = Abs (x) }>"
    body = (
        "t = ReduceSum <keepdims=0> (x) v = Less (t, z) "
        f"y = If (v) <then_branch = a () => (float[N] p) {{ p = If (flag) {inner} }}, "
        "else_branch = b () => (float[N] q) { q = Exp (x) }>"
    )
    assert found_in(written(tmp_path, body, stored="bool flag = {1}, float z = {0}")) == [("If", "flag", True)]
    loop = (
        "y = Loop (trips, on, x) <body = l (int64 i, bool a, float[N] h) => (bool b, float[N] g) "
        "{ b = Identity (a) g = If (flag) <then_branch = c () => (float[N] r) { r = Neg (h) }, "
        "else_branch = d () => (float[N] s) { s = Abs (h) }> }>"
    )
    stored = "bool flag = {0}, bool on = {1}, int64 trips = {3}"
    assert found_in(written(tmp_path, loop, stored=stored)) == [("If", "flag", False)]


def test_a_choice_by_the_number_of_a_step_is_not_told_where_another_graph_calls_a_constant_so(tmp_path: Path) -> None:
    body = (
        "t = ReduceSum <keepdims=0> (x) v = Less (t, z) "
        "w = If (v) <then_branch = a () => (float[N] p) { n = Identity (trips) m = CastLike (n, x) p = Add (x, m) }, "
        "else_branch = b () => (float[N] q) { q = Exp (x) }>"
        "y = Loop (trips, on, w) <body = l (int64 n, bool a, float[N] h) => (bool b, float[N] g) "
        "{ b = Identity (a) e = Equal (n, trips) g = If (e) <then_branch = c () => (float[N] r) { r = Neg (h) }, "
        "else_branch = d () => (float[N] s) { s = Abs (h) }> }>"
    )
    stored = "bool on = {1}, int64 trips = {3}, float z = {0}"
    assert found_in(written(tmp_path, body, stored=stored)) == []


@pytest.mark.parametrize(("value", "told"), [(0, [("Loop", "on", False)]), (1, [])])
def test_a_loop_that_never_starts_is_told_and_one_that_counts_is_not(
    value: int, told: list[tuple[str, str, bool]], tmp_path: Path
) -> None:
    loop = (
        "y = Loop (trips, on, x) <body = l (int64 i, bool a, float[N] h) => (bool b, float[N] g) "
        "{ b = Identity (a) g = Neg (h) }>"
    )
    stored = f"bool on = {{{value}}}, int64 trips = {{3}}"
    assert found_in(written(tmp_path, loop, stored=stored)) == told


def test_a_where_by_one_constant_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, "s = Sin (x) y = Where (flag, s, x)", stored="bool flag = {1}")
    assert found_in(path) == [("Where", "flag", True)]


@pytest.mark.parametrize("opset", [7, 11, 22])
def test_a_choice_in_a_model_of_another_opset_is_told(opset: int, tmp_path: Path) -> None:
    path = written(tmp_path, f"c = Greater (a, b) y = If (c) {SIDES}", stored="float[1] a = {0}, float[1] b = {1}")
    model = onnx.load(path)
    model.opset_import[0].version = opset
    onnx.save(model, path)
    assert found_in(path) == [("If", "c", False)]


def test_a_choice_in_a_function_is_told_where_constants_are_handed_in(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["" : 18, "own" : 1]>
    g (float[N] x, bool given) => (float[N] y) <bool flag = {0}> { %s }
    <opset_import: ["" : 18], domain: "own">
    pick (c, h) => (o) { n = Not (c) o = If (n) <then_branch = a () => (p) { p = Sin (h) },
        else_branch = b () => (q) { q = Exp (h) }> }"""
    path = str(tmp_path / "model.onnx")
    onnx.save(onnx.parser.parse_model(text % "y = own.pick (flag, x)"), path)
    assert [(kind, value) for kind, _, value in found_in(path)] == [("If", True)]
    onnx.save(onnx.parser.parse_model(text % "y = own.pick (given, x)"), path)
    assert found_in(path) == []


def test_a_file_that_primsplit_wrote_is_not_told(tmp_path: Path) -> None:
    path = written(tmp_path, f"y = If (flag) {SIDES}", stored="bool flag = {0}")
    model = onnx.load(path)
    model.producer_name = "primsplit"
    onnx.save(model, path)
    assert found_in(path) == []


def test_a_warning_names_the_first_three_choices_and_the_number_of_others(tmp_path: Path) -> None:
    nodes = "".join(f"h{i} = Where (flag, x, h{i - 1}) " for i in range(1, 6))
    path = written(tmp_path, f"h0 = Sin (x) {nodes} y = Identity (h5)", stored="bool flag = {1}")
    with pytest.warns(FrozenBranchWarning, match=r"Where h1 .*Where h2 .*Where h3 .*and 2 more"):
        ps.load(path)


def test_a_condition_by_an_array_that_is_long_is_not_computed(tmp_path: Path) -> None:
    """Weights may be gigabytes, and are read when they are asked for."""
    nodes = "s = ReduceSum <keepdims = 0> (w) c = Less (s, z)"
    path = written(tmp_path, f"{nodes} y = If (c) {SIDES}", stored="float z = {1}")
    model = onnx.load(path)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(40_000, np.float32), "w"))
    onnx.save(model, path)
    assert found_in(path) == []

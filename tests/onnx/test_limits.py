"""Small files that tell much: what they become grows with the file, or they are refused before it is made."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import primsplit as ps
from primsplit.ir.errors import ParseError, ShapeError
from primsplit.onnx import limits, load
from tests.onnx.edits import node, written

IMPORTS = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]


def value(name: str, kind: int = 1, shape: Any = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def model(
    nodes: list[onnx.NodeProto], inputs: list[onnx.ValueInfoProto], functions: list[onnx.FunctionProto] | None = None
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "small", inputs, [value("y")])
    return helper.make_model(graph, opset_imports=IMPORTS, ir_version=8, functions=functions or [])


def graph(nodes: list[onnx.NodeProto], inputs: list[onnx.ValueInfoProto], outputs: list[str]) -> onnx.GraphProto:
    return helper.make_graph(nodes, "inner", inputs, [onnx.ValueInfoProto(name=name) for name in outputs])


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """The time of the processor, so that other work on the machine does not count."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


def function_chain(depth: int, calls: int) -> onnx.ModelProto:
    """Functions that call the next one so often: calls ** depth nodes."""
    functions = []
    for level in range(depth):
        kind, domain = (f"F{level + 1}", "own") if level + 1 < depth else ("Neg", "")
        names = [f"v{i}" for i in range(calls + 1)]
        body = [helper.make_node(kind, [a], [b], domain=domain) for a, b in pairwise(names)]
        functions.append(helper.make_function("own", f"F{level}", ["v0"], [names[-1]], body, IMPORTS))
    return model([helper.make_node("F0", ["x"], ["y"], domain="own")], [value("x", 1, [3])], functions)


@pytest.mark.parametrize(("depth", "calls", "nodes"), [(8, 3, "6,561"), (9, 3, "19,683"), (60, 2, r"1.2e\+18")])
def test_functions_that_call_each_other_are_counted_before_they_are_told(
    depth: int, calls: int, nodes: str, tmp_path: Path
) -> None:
    with within(2), pytest.raises(ParseError, match=f"would have {nodes} nodes"):
        ps.load(written(tmp_path, function_chain(depth, calls)))


def test_a_function_of_a_layer_is_called_by_many_layers(tmp_path: Path) -> None:
    x = np.linspace(-1, 1, 3, dtype=np.float32)
    program = ps.load(written(tmp_path, function_chain(2, 50)))
    np.testing.assert_array_equal(program(x), x)
    assert len(program.block.ops) == 2500


SHAPES = {
    "a filled vector": node("ConstantOfShape", "count", "s", value=helper.make_tensor("one", 7, [1], [1])),
    "a repeated vector": node("Tile", "count count", "s"),
}


@pytest.mark.parametrize("reader", ["Expand", "Reshape"])
@pytest.mark.parametrize("made", SHAPES)
def test_a_shape_of_billions_of_axes_is_refused_before_its_sizes_are_named(
    made: str, reader: str, tmp_path: Path
) -> None:
    whole = model([SHAPES[made], node(reader, "x s", "y")], [value("x", 1, [1])])
    whole.graph.initializer.append(numpy_helper.from_array(np.array([2**33]), "count"))
    with within(2), pytest.raises(ShapeError, match=f"{reader} of 8,589,934,592 axes"):
        ps.load(written(tmp_path, whole))


def with_branches(depth: int) -> onnx.ModelProto:
    """Ifs in each other, with a call of a function at the bottom."""
    inner = graph([helper.make_node("F", ["x"], ["o0"], domain="own")], [], ["o0"])
    for level in range(1, depth):
        other = graph([node("Exp", "x", f"e{level}")], [], [f"e{level}"])
        inner = graph([node("If", "c", f"o{level}", then_branch=inner, else_branch=other)], [], [f"o{level}"])
    function = helper.make_function("own", "F", ["x"], ["y"], [node("Tanh", "x", "y")], IMPORTS)
    end = node("Identity", f"o{depth - 1}", "y")
    return model([*inner.node, end], [value("x", 1, [3]), value("c", 9, [])], [function])


def test_branches_in_branches_that_call_a_function_take_time_for_each_once(tmp_path: Path) -> None:
    with within(3):
        program = ps.load(written(tmp_path, with_branches(28)))
    x = np.linspace(-1, 1, 3, dtype=np.float32)
    np.testing.assert_allclose(program(x, np.array(True)), np.tanh(x), rtol=1e-6)
    np.testing.assert_allclose(program(x, np.array(False)), np.exp(x), rtol=1e-6)


def test_branches_that_are_too_deep_once_functions_are_told_are_refused(tmp_path: Path) -> None:
    functions = []
    for level in range(40):
        kind, reads, domain = (f"F{level + 1}", ["x", "c"], "own") if level < 39 else ("Neg", ["x"], "")
        sides = {
            "then_branch": graph([helper.make_node(kind, reads, ["a"], domain=domain)], [], ["a"]),
            "else_branch": graph([node("Exp", "x", "b")], [], ["b"]),
        }
        body = [helper.make_node("If", ["c"], ["y"], **sides)]
        functions.append(helper.make_function("own", f"F{level}", ["x", "c"], ["y"], body, IMPORTS))
    whole = model([helper.make_node("F0", ["x", "c"], ["y"], domain="own")], [value("x", 1, [3]), value("c", 9, [])])
    whole.functions.extend(functions)
    with pytest.raises(ParseError, match="nested too deep"):
        ps.load(written(tmp_path, whole))


def loops(depth: int, shape: Any, innermost: str) -> onnx.ModelProto:
    """Loops in each other around one node."""

    def body(level: int) -> onnx.GraphProto:
        before, after = f"v{level}", f"w{level}"
        if level == depth:
            step = node(innermost, before if innermost == "Sin" else f"{before} {before}", after, **AXIS[innermost])
        else:
            step = helper.make_node("Loop", ["t", "", before], [after], body=body(level + 1))
        counters = [value(f"i{level}", 7, []), value(f"k{level}", 9, [])]
        going = node("Identity", f"k{level}", f"on{level}")
        return graph([going, step], [*counters, value(before, 1, shape)], [f"on{level}", after])

    nodes = [helper.make_node("Loop", ["t", "", "x"], ["y"], body=body(1))]
    return model(nodes, [value("x", 1, shape), value("t", 7, [])])


AXIS: dict[str, dict[str, Any]] = {"Sin": {}, "Concat": {"axis": 0}}


@pytest.mark.parametrize("shape", [["N"], None], ids=["a size", "no rank"])
def test_loops_in_loops_that_change_sizes_are_recorded_a_limited_number_of_times(shape: Any, tmp_path: Path) -> None:
    with within(3), pytest.raises(ParseError, match="more than 5 loops in each other change"):
        ps.load(written(tmp_path, loops(20, shape, "Concat")))


def test_loops_in_loops_that_are_unrolled_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FREE", 100)
    monkeypatch.setattr(load, "STEPS", 10)
    with within(2), pytest.raises(ParseError, match="becomes too large while it is read") as caught:
        ps.load(written(tmp_path, appending(6)))
    assert len(str(caught.value).splitlines()) < 10


def appending(depth: int) -> onnx.ModelProto:
    """Loops of many steps in each other, the innermost of which appends to a sequence."""

    def body(level: int) -> onnx.GraphProto:
        before, after = f"v{level}", f"w{level}"
        if level == depth:
            step = node("SequenceInsert", f"{before} x", after)
        else:
            step = helper.make_node("Loop", ["t", "", before], [after], body=body(level + 1))
        inputs = [value(f"i{level}", 7, []), value(f"k{level}", 9, [])]
        inputs.append(helper.make_tensor_sequence_value_info(before, 1, None))
        return graph([node("Identity", f"k{level}", f"on{level}"), step], inputs, [f"on{level}", after])

    nodes = [
        node("SequenceEmpty", "", "q"),
        helper.make_node("Loop", ["t", "", "q"], ["p"], body=body(1)),
        node("ConcatFromSequence", "p", "y", axis=0),
    ]
    whole = model(nodes, [value("x", 1, [3])])
    whole.graph.initializer.append(numpy_helper.from_array(np.int64(10), "t"))
    return whole


def test_few_steps_that_are_unrolled_are_right(tmp_path: Path) -> None:
    program = ps.load(written(tmp_path, appending(2)))
    np.testing.assert_array_equal(program(np.arange(3, dtype=np.float32)), np.tile(np.arange(3), 100))


@pytest.mark.parametrize("shape", [["N"], None], ids=["a size", "no rank"])
def test_few_loops_in_loops_that_change_sizes_are_right(shape: Any, tmp_path: Path) -> None:
    program = ps.load(written(tmp_path, loops(2, shape, "Concat")))
    assert np.shape(program(np.ones(1, np.float32), np.array(2))) == (16,)


def scans(depth: int) -> onnx.ModelProto:
    """Scans in each other: each step reads the whole sequence in the next one."""

    def body(level: int) -> onnx.GraphProto:
        before, after = f"v{level}", f"w{level}"
        if level == depth:
            step = node("Sin", before, after)
        else:
            step = node("Scan", f"{before} s", f"{after} z{level}", body=body(level + 1), num_scan_inputs=1)
        inputs = [value(before, 1, [3]), value(f"e{level}", 1, [])]
        return graph([step, node("Identity", f"e{level}", f"f{level}")], inputs, [after, f"f{level}"])

    nodes = [node("Scan", "x s", "y z", body=body(1), num_scan_inputs=1)]
    return model(nodes, [value("x", 1, [3]), value("s", 1, [2])])


def test_scans_in_scans_are_written_in_time_that_grows_with_their_number(tmp_path: Path) -> None:
    made = ps.split(ps.load(written(tmp_path, scans(14))), wrt="x")
    with within(3):
        made.save(tmp_path / "gradient.onnx")


def test_scans_in_scans_have_the_derivative_of_their_steps(tmp_path: Path) -> None:
    x = np.array([0.3, 0.5, -0.2])
    program = ps.load(written(tmp_path, scans(3)))
    gradient = ps.split(program, wrt="x", seed="ones").joint()(x.astype(np.float32), np.ones(2, np.float32))[1]
    slope, point = np.ones(3), x
    for _ in range(8):  # two steps at each of three levels
        slope, point = slope * np.cos(point), np.sin(point)
    np.testing.assert_allclose(gradient, slope, rtol=1e-5)


def test_a_tensor_of_more_axes_than_numpy_has_is_refused(tmp_path: Path) -> None:
    whole = model([node("Add", "x w", "y")], [value("x", 1, [3])])
    whole.graph.initializer.append(numpy_helper.from_array(np.ones((1,) * 60, np.float32), "w"))
    whole.graph.initializer[0].dims.extend([1] * 10)
    with pytest.raises(ParseError, match="w has 70 axes"):
        ps.load(written(tmp_path, whole))

"""Values that are read once are in the line that reads them; what is computed, and the count of nodes, stays."""

import collections
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

import primsplit as ps
from primsplit.audit.numpy_folding import LONGEST, folded
from primsplit.audit.numpy_style import to_numpy
from primsplit.audit.statement_maker import statements_of
from primsplit.audit.statements import Assignment
from primsplit.audit.written import Written, read_written
from tests.written_modules import run_module, write_module


def written(function: Any, *arguments: Any, path: Path, **options: Any) -> Written:
    ps.export(function, *arguments, path=path / "f.onnx", **options)
    return read_written(str(path / "f.onnx"))


def lines_of(file: Written) -> list[str]:
    return [line.strip() for line in to_numpy([file]).text.splitlines()]


def kalman(a: Any, q: Any, ys: Any) -> Any:
    def step(state: Any, y: Any) -> Any:
        mean, var = state
        var = a * a * var + q
        gap = y - a * mean
        gain = var / (var + 0.5)
        return (a * mean + gain * gap, (1 - gain) * var), gap

    _, gaps = ps.scan(step, (np.float64(0.0), np.float64(1.0)), ys)
    return np.sum(gaps**2)


def test_each_node_stays_in_one_statement_and_the_results_are_the_same(tmp_path: Path) -> None:
    ys = np.sin(np.arange(6.0))
    file = written(kalman, np.float64(0.9), np.float64(0.1), ys, path=tmp_path, wrt=("a", "q"))
    made = statements_of(file)
    nodes = collections.Counter(made.main.every_op())
    assert collections.Counter(folded(made).main.every_op()) == nodes
    write_module([file], tmp_path / "module.py")
    y, d_a, _ = run_module(tmp_path / "module.py", [np.float64(0.9), np.float64(0.1), ys], tmp_path)
    step = 1e-6
    high, low = (kalman(np.float64(0.9 + s), np.float64(0.1), ys) for s in (step, -step))
    np.testing.assert_allclose(y, kalman(np.float64(0.9), np.float64(0.1), ys))
    np.testing.assert_allclose(d_a, (high - low) / (2 * step), rtol=1e-6)


def test_what_a_step_hands_on_is_written_where_it_is_assigned(tmp_path: Path) -> None:
    file = written(kalman, np.float64(0.9), np.float64(0.1), np.ones(6), path=tmp_path, mode="value")
    assert any("= (1.0 - gain) * var" in line for line in lines_of(file))


def test_variables_of_the_users_and_values_of_several_readers_have_statements(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        shift = x + 1.0
        return np.sum(np.exp(shift) / (1.0 + np.exp(shift) * np.tanh(x)))

    lines = lines_of(written(f, np.ones(3), path=tmp_path, mode="value"))
    assert "shift = x + 1.0" in lines
    assert "exp_shift = np.exp(shift)" in lines
    assert "y = np.sum(exp_shift / (1.0 + exp_shift * np.tanh(x)))" in lines


def test_lines_stay_short_and_shallow(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        for _ in range(40):
            x = np.tanh(np.sin(x) * 1.25 + np.cos(x))
        return np.exp(np.exp(np.exp(np.exp(np.exp(np.exp(np.exp(-np.exp(x))))))))

    file = written(f, np.ones(3), path=tmp_path, mode="value")
    found = [s for s in folded(statements_of(file)).main.statements if isinstance(s, Assignment)]
    assert len(found) < sum(1 for _ in file.ops())
    lines = [line for line in to_numpy([file]).text.splitlines() if " = " in line]
    assert max(map(len, lines)) <= LONGEST
    assert max(line.count("np.exp(") for line in lines) <= 4


def test_a_value_is_not_moved_behind_what_assigns_a_variable_that_it_reads(tmp_path: Path) -> None:
    """`old` of a step is the carry before it, whatever is assigned in between."""

    def branch(name: str, kind: str) -> onnx.GraphProto:
        out = helper.make_tensor_value_info(name, TensorProto.DOUBLE, [])
        return helper.make_graph([helper.make_node(kind, ["h"], [name])], name, [], [out])

    body = helper.make_graph(
        [
            helper.make_node("Neg", ["h"], ["old"]),
            helper.make_node("If", ["go"], ["h2"], then_branch=branch("a", "Exp"), else_branch=branch("b", "Abs")),
            helper.make_node("Add", ["h2", "old"], ["next"]),
            helper.make_node("Identity", ["go"], ["on"]),
        ],
        "body",
        [helper.make_tensor_value_info(n, t, []) for n, t in (("i", 7), ("go", 9), ("h", 11))],
        [helper.make_tensor_value_info(n, t, []) for n, t in (("on", 9), ("next", 11))],
    )
    ends = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, []) for n in ("x", "y")]
    node = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)
    count = helper.make_tensor("n", TensorProto.INT64, [], [3])
    graph = helper.make_graph([node], "g", ends[:1], ends[1:], [count])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), tmp_path / "f.onnx")
    write_module([read_written(str(tmp_path / "f.onnx"))], tmp_path / "module.py")
    (y,) = run_module(tmp_path / "module.py", [np.float64(0.5)], tmp_path)
    h = 0.5
    for _ in range(3):
        h = np.exp(h) - h
    np.testing.assert_allclose(y, h)

"""A Loop is written once, whether or not the sizes of what it stacks are known around it."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import primsplit as ps
from primsplit.targets.finish import finish

ROWS = """<ir_version: 8, opset_import: ["": 17]> g (double[N, M] x, int64 most) => (double[T, N, K] y) {
    yes = Constant<value = bool {1}>()
    y = Loop(most, yes) <body = step (int64 i, bool c) => (bool again, double[N, K] row) {
        zero = Constant<value = double {0.0}>()
        first = Constant<value = int64 {0}>()
        total = ReduceSum<keepdims = 0>(x)
        turn = Cast<to = 11>(i)
        again = Less(turn, total)
        kept = Greater(top, zero)
        top = Gather<axis = 0>(x, first)
        turned = Mul(x, turn)
        columns = Compress<axis = 1>(turned, kept)
        row = Sin(columns)
    }>
}"""


@pytest.mark.parametrize("steps", [2, 0])
def test_a_loop_that_stacks_rows_of_a_size_that_only_its_steps_know_is_written_once(steps: int, tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(ROWS), tmp_path / "rows.onnx")
    x = np.array([[1.0, -1.0, 2.0], [3.0, 4.0, 5.0]])
    y, slope = ps.split(ps.load(str(tmp_path / "rows.onnx")), wrt="x", seed="ones").joint()(x, steps)
    turns = np.arange(float(steps))[:, None, None]
    assert y.shape == (steps, 2, 2 if steps else 0)
    np.testing.assert_allclose(y, np.sin(turns * x[:, [0, 2]])[:, :, : y.shape[2]])
    np.testing.assert_allclose(slope, np.sum(turns * np.cos(turns * x), 0) * [1, 0, 1])


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_scans_of_as_many_steps_are_guarded_by_one_condition(rows: int) -> None:
    def f(x: Any, xs: Any, ys: Any) -> Any:
        first, _ = ps.scan(lambda c, row: (np.sin(c) + row, None), x, xs)
        second, _ = ps.scan(lambda c, row: (np.cos(c) * row, None), first, np.exp(xs))
        return ps.scan(lambda c, row: (np.sin(c) * row, None), second, ys)[0]

    program = ps.trace(f, ps.spec("float64", []), ps.spec("float64", ["N"]), ps.spec("float64", ["M"]))
    kinds = [op.kind for op in finish(program.block).ops]
    assert (kinds.count("If"), kinds.count("Equal")) == (3, 2)
    x, xs, ys = np.array(0.3), np.arange(float(rows)), np.array([0.5, 2.0])
    wanted = x
    for step in (lambda c, row: np.sin(c) + row, lambda c, row: np.cos(c) * np.exp(row)):
        for row in xs:
            wanted = step(wanted, row)
    for row in ys:
        wanted = np.sin(wanted) * row
    np.testing.assert_allclose(program(x, xs, ys), wanted, rtol=1e-13)


STEPS = {
    "a recurrence": lambda s, a: (np.tanh(s + a),) * 2,
    "a linear recurrence": lambda s, a: (0.5 * s + a,) * 2,
}


def nodes_in(graph: Any) -> int:
    return sum(1 + sum(nodes_in(a.g) for a in n.attribute if a.type == a.GRAPH) for n in graph.node)


@pytest.mark.parametrize("name", STEPS)
def test_the_guards_of_a_file_are_not_written_again_when_it_is_loaded_and_saved(name: str, tmp_path: Path) -> None:
    def function(x: Any) -> Any:
        return np.sum(ps.scan(STEPS[name], np.zeros(2), x)[1] ** 2)

    first = made = ps.split(function, ps.spec("float64", ["N", 2])).joint()
    counts = []
    for turn in range(3):
        made.save(tmp_path / f"{turn}.onnx")
        counts.append(nodes_in(onnx.load(tmp_path / f"{turn}.onnx").graph))
        made = ps.load(tmp_path / f"{turn}.onnx")
    assert counts[2] <= counts[1] <= 1.05 * counts[0]

    for steps in (0, 1, 40, 2000):
        x = np.random.default_rng(steps).standard_normal((steps, 2))
        state, total = np.zeros(2), 0.0
        for row in x:
            state = np.asarray(STEPS[name](state, row)[0])
            total += np.sum(state**2)
        value, slope = made(x)
        np.testing.assert_allclose(value, total, rtol=1e-12)
        np.testing.assert_allclose(slope, first(x)[1], rtol=1e-9, atol=1e-12)

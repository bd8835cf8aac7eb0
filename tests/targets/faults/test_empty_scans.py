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

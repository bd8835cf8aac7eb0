"""Each node of a file is in one statement."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.statement_maker import statements_of
from primsplit.audit.statements import Branch, Scan
from primsplit.audit.written import read_written
from primsplit.cli.options import Exported, FunctionDerivation
from primsplit.programs.export import save_derived

MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.py"))


@pytest.mark.sweep(3)
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_each_node_of_a_model_is_in_one_statement(path: Path, tmp_path: Path) -> None:
    made = Exported(str(path), FunctionDerivation(), quiet=True)
    for written in save_derived(made.derived, str(tmp_path / "model.onnx"), made.mode, "joint"):
        file = read_written(written)
        statements = statements_of(file)
        found = [op for function in (statements.main, *statements.functions) for op in function.every_op()]
        assert Counter(map(id, found)) == Counter(map(id, file.ops()))


def test_variables_of_branches_and_loops_are_called_after_what_is_computed_in_them(tmp_path: Path) -> None:
    def f(x: Any, xs: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            gap = row - state
            level = np.tanh(gap) + 0.5 * gap * state
            return level, gap

        level, gaps = ps.scan(step, x, xs)
        if level > 0:
            ratio = np.exp(level) / 3.0
            total = ratio**2
        else:
            total = level * 2.0
        return total + np.max(gaps)

    ps.export(f, np.float64(0.5), np.ones(4), path=tmp_path / "f.onnx", mode="value")
    made = statements_of(read_written(str(tmp_path / "f.onnx"))).main
    branch = next(s for s in made.statements if isinstance(s, Branch))
    scan = next(s for s in made.statements if isinstance(s, Scan))
    assert "total" in branch.targets
    assert scan.targets[0].startswith("level")
    assert "gap_steps" in scan.targets
    assert [s.name for s in scan.scanned] == ["xs_t"]


def test_a_carry_has_the_name_that_the_users_line_assigns_it(tmp_path: Path) -> None:
    def main(h: Any, xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            (position, speed), count = carry
            speed = speed - position + x
            return ((position + speed, speed), count + 1.0), position * count

        ((place, speed), count), kept = ps.scan(step, ((h, h * 0.5), 0.0), xs)
        return place * speed * count + np.sum(kept)

    (path,) = ps.export(main, 1.0, np.ones(4), path=tmp_path / "f.onnx", mode="value")
    (loop,) = (s for s in statements_of(read_written(str(path))).main.statements if isinstance(s, Scan))
    assert [target for target, _ in loop.initial] == ["place", "speed", "count"]

"""Branches and loops as Python writes them."""

from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.audit.numpy_style import to_numpy
from primsplit.audit.statement_maker import statements_of
from primsplit.audit.statements import Branch, Loop, Scan
from primsplit.audit.suites import read_by
from primsplit.audit.written import read_written


def traced(function: Any, *types: Any, path: Path) -> Any:
    ps.trace(function, *types).save(path)
    return read_written(str(path))


def test_a_branch_assigns_on_both_sides(tmp_path: Path) -> None:
    def chosen(x: Any) -> Any:
        return ps.cond(np.sum(x) > 0, lambda x: x * 2.0, lambda x: x, x)

    file = traced(chosen, ps.spec("float64", [3]), path=tmp_path / "f.onnx")
    text = to_numpy([file]).text
    assert "    if greater:\n        y = x * 2.0\n    else:\n        y = x\n    return y\n" in text
    (branch,) = (s for s in statements_of(file).main.statements if isinstance(s, Branch))
    assert read_by([branch]) == {"greater", "x"}


def test_a_scan_is_a_loop_over_its_arrays(tmp_path: Path) -> None:
    def total(h: Any, xs: Any) -> Any:
        return ps.scan(lambda h, x: (h + x, h * x), h, xs, reverse=True)

    file = traced(total, ps.spec("float32"), ps.spec("float32", [4]), path=tmp_path / "f.onnx")
    text = to_numpy([file]).text
    assert "in xs[::-1]:\n" in text
    assert "_steps[::-1], np.zeros((0,), 'float32'))" in text
    assert any(isinstance(s, Scan) for s in statements_of(file).main.statements)


def test_a_loop_ends_by_its_condition(tmp_path: Path) -> None:
    def halved(x: Any) -> Any:
        return ps.while_loop(lambda v: v > 1.0, lambda v: v / 2.0, x)

    file = traced(halved, ps.spec("float64"), path=tmp_path / "f.onnx")
    assert any(isinstance(s, Loop) for s in statements_of(file).main.statements)
    scope: dict[str, Any] = {}
    exec(to_numpy([file]).text, scope)
    assert scope["forward"](np.float64(40.0)) == 0.625
    assert scope["forward"](np.float64(0.5)) == 0.5

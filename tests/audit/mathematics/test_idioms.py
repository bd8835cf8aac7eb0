"""A choice by sizes is written as what both sides compute, where both do."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics
from primsplit.audit.written import read_written
from primsplit.onnx.modelfile import graphs
from tests.mathematics import assert_statements_compute


def exported(path: Path) -> str:
    ps.export(lambda x: np.sum(np.exp(x)), ps.spec("float32", ["N"]), path=path, mode="value")
    return list_as_mathematics(read_written(str(path)))


def test_a_sum_in_stages_is_one_sum(tmp_path: Path) -> None:
    text = exported(tmp_path / "sum.onnx")
    assert "  y = sum(exp(x))" in text or "= sum(exp_x)" in text
    assert "summed in stages" in text
    assert "if " not in text


def test_a_side_that_does_more_than_add_up_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "sum.onnx"
    exported(path)
    model = onnx.load(path)
    for graph in graphs(model.graph):
        for node in graph.node:
            if node.op_type == "Concat" and graph is not model.graph:
                node.op_type = "Max"
                del node.attribute[:]
    onnx.save(model, path)
    text = list_as_mathematics(read_written(str(path)))
    assert "summed in stages" not in text
    assert "  if " in text


def test_a_loop_needs_no_test_for_no_steps(tmp_path: Path) -> None:
    def total(xs: Any) -> Any:
        last, _ = ps.scan(lambda h, x: (np.tanh(h + x), h), np.zeros(()), xs)
        return last

    ps.export(total, ps.spec("float64", ["T"]), path=tmp_path / "f.onnx", mode="value")
    text = list_as_mathematics(read_written(str(tmp_path / "f.onnx")))
    assert "for t in range(T):" in text
    assert "if " not in text


def test_a_recurrence_of_matrices_is_its_loop_in_both_passes(tmp_path: Path) -> None:
    """The pullback solves for all steps at once where there are many; the listing shows the steps."""

    def total(a: Any, h: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = a @ h + x
            return h, h

        return np.sum(ps.scan(step, h, xs)[1] ** 2)

    path = str(tmp_path / "f.onnx")
    given = [ps.spec("float64", shape) for shape in ([3, 3], [3], ["T", 3])]
    ps.export(total, *given, path=path, wrt=("a", "h", "xs"))
    text = list_as_mathematics(read_written(path))
    assert text.count("many steps are solved for at once") == 2
    assert "@ a" in text.split("\nbackward")[1]
    assert "if " not in text
    assert int(text.splitlines()[-1].split()[0]) <= 14
    random = np.random.default_rng(0)
    for steps in (5, 80):
        inputs = [random.standard_normal(shape) * 0.3 for shape in ((3, 3), (3,), (steps, 3))]
        assert_statements_compute(path, inputs)

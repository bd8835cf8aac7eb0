"""A choice by sizes is written as what both sides compute, where both do."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from scipy.special import softmax

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics
from primsplit.audit.written import read_written
from primsplit.onnx.protobufs import graphs
from tests.mathematics import assert_statements_compute


def exported(path: Path) -> str:
    ps.export(lambda x: np.sum(np.exp(x)), ps.spec("float32", ["N"]), path=path, mode="value")
    return list_as_mathematics(read_written(str(path)))


def test_a_sum_in_stages_is_one_sum(tmp_path: Path) -> None:
    text = exported(tmp_path / "sum.onnx")
    assert "  y = sum(exp(x)) " in text
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


def products(x: Any, y: Any) -> Any:
    """Products of stacks of matrices, for which the file makes zeros by sums where there are no elements."""
    first, second = (a.reshape(len(a), 2, 4) for a in (x, y))
    return np.sum(np.tanh(first.transpose(1, 0, 2) @ second.transpose(1, 2, 0)), axis=0)


def test_a_product_of_stacks_is_one_product_though_it_may_have_no_elements(tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    given = ps.spec("float32", ["N", 8]), ps.spec("float32", ["N", 8])
    ps.export(products, *given, path=path, wrt=("x", "y"))
    assert any(op.kind == "If" for op in read_written(path).ops())
    text = list_as_mathematics(read_written(path))
    assert " @ transpose(y.reshape(-1, 2, 4), (1, 2," in text
    assert "if " not in text
    random = np.random.default_rng(0)
    for n in (3, 1):
        inputs = [random.standard_normal(shape).astype("f") for shape in ((n, 8), (n, 8), (n, n))]
        assert_statements_compute(path, inputs)


def test_a_side_that_adds_other_sums_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "f.onnx"
    given = ps.spec("float32", ["N", 8]), ps.spec("float32", ["N", 8])
    ps.export(products, *given, path=path, mode="value")
    model = onnx.load(path)
    changed = 0
    for graph in graphs(model.graph):
        for node in graph.node:
            if node.op_type == "Add" and graph is not model.graph:
                node.op_type = "Mul"
                changed += 1
    assert changed
    onnx.save(model, path)
    assert "  if " in list_as_mathematics(read_written(str(path)))


def test_what_only_sizes_read_is_no_statement(tmp_path: Path) -> None:
    def f(q: Any, k: Any) -> Any:
        return softmax(q @ k.T, axis=-1)

    path = str(tmp_path / "f.onnx")
    ps.export(f, ps.spec("float32", ["N", 8]), ps.spec("float32", ["M", 8]), path=path, mode="value")
    text = list_as_mathematics(read_written(path))
    assert "  y = softmax(q @ k.T, axis=1)" in text
    assert "\n1 statement, " in text

"""Attention that is written out is called attention, where nothing else reads its weights."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics, mathematics_of
from primsplit.audit.written import read_written
from tests.mathematics import assert_statements_compute
from tests.written_modules import run_module, write_module


def softmax(z: Any) -> Any:
    e = np.exp(z - np.max(z, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def plain(q: Any, k: Any, v: Any) -> Any:
    return softmax(q @ k.T / np.sqrt(8.0)) @ v


def scaled(q: Any, k: Any, v: Any) -> Any:
    return softmax(0.3 * (q @ k.T)) @ v


def queries_scaled(q: Any, k: Any, v: Any) -> Any:
    return softmax((q / np.sqrt(8.0)) @ k.T) @ v


def masked(q: Any, k: Any, v: Any) -> Any:
    mask = np.where(np.tril(np.ones((5, 6))) > 0, 0.0, -1e9)
    return softmax(q @ k.T / np.sqrt(8.0) + mask) @ v


def batches(q: Any, k: Any, v: Any) -> Any:
    return softmax(q @ k.transpose(0, 2, 1) / np.sqrt(8.0)) @ v


def over_queries(q: Any, k: Any, v: Any) -> Any:
    """The softmax is over the queries: this is no attention."""
    scores = q @ k.T
    e = np.exp(scores - np.max(scores, axis=0, keepdims=True))
    return e / np.sum(e, axis=0, keepdims=True) @ v


def read_twice(q: Any, k: Any, v: Any) -> Any:
    weights = softmax(q @ k.T)
    return weights @ v, weights


def drawn(*shapes: tuple[int, ...]) -> list[Any]:
    random = np.random.default_rng(0)
    return [random.normal(size=shape) for shape in shapes]


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (plain, "y = attention(q, k, v)"),
        (scaled, "y = attention(q, k, v, scale=0.3)"),
        (queries_scaled, "attention(q"),
        (masked, "y = attention(q, k, v, mask)"),
        (over_queries, ""),
        (read_twice, ""),
    ],
)
def test_attention_has_its_name(function: Any, wanted: str, tmp_path: Path) -> None:
    path, arrays = str(tmp_path / "f.onnx"), drawn((5, 8), (6, 8), (6, 3))
    ps.trace(function, *arrays).save(path)
    text = list_as_mathematics(read_written(path))
    assert wanted in text
    assert ("attention(" in text) == bool(wanted)
    assert_statements_compute(path, arrays)


def test_attention_of_batches_has_its_name(tmp_path: Path) -> None:
    path, arrays = str(tmp_path / "f.onnx"), drawn((2, 5, 8), (2, 6, 8), (2, 6, 3))
    ps.trace(batches, *arrays).save(path)
    assert "  y = attention(q, k, v) " in list_as_mathematics(read_written(path))
    assert_statements_compute(path, arrays)


def test_the_pullback_of_attention_has_a_statement_for_each_cotangent(tmp_path: Path) -> None:
    path, arrays = str(tmp_path / "f.onnx"), drawn((5, 8), (6, 8), (6, 3))
    ps.split(plain, *arrays, wrt=(0, 1, 2)).save(path)
    text = list_as_mathematics(read_written(path))
    for statement in (
        "weights = softmax(q @ k.T / sqrt(8), axis=1)",
        "y = weights @ v",
        "d_weights = d_y @ v.T",
        "d_v = weights.T @ d_y",
        "d_q_by_k = weights * (d_weights - sum(weights * d_weights, axis=1, keepdims=True)) / sqrt(8)",
        "d_q = d_q_by_k @ k",
        "d_k = d_q_by_k.T @ q",
    ):
        assert f"  {statement}" in text, statement
    assert_statements_compute(path, [*arrays, *drawn((5, 3))])


HEADED = {"q_num_heads": 2, "kv_num_heads": 2, "is_causal": 1}


@pytest.mark.parametrize(
    ("shapes", "attributes"),
    [([[2, 2, 5, 4], [2, 2, 6, 4], [2, 2, 6, 3]], {}), ([["B", 5, 8], ["B", 6, 8], ["B", 6, 8]], HEADED)],
)
def test_a_file_with_the_operator_is_listed_and_runs_and_its_gradient_is_short(
    shapes: list[list[Any]], attributes: dict[str, int], tmp_path: Path
) -> None:
    given = [helper.make_tensor_value_info(n, 1, s) for n, s in zip("qkv", shapes, strict=True)]
    graph = helper.make_graph(
        [helper.make_node("Attention", ["q", "k", "v"], ["y"], **attributes)],
        "attend", given, [helper.make_tensor_value_info("y", 1, None)],
    )  # fmt: skip
    path, gradient = str(tmp_path / "m.onnx"), str(tmp_path / "gradient.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10), path)
    assert "  y = attention(q, k, v" in list_as_mathematics(read_written(path))
    arrays = [a.astype("f") for a in drawn(*(tuple(3 if n == "B" else n for n in s) for s in shapes))]
    loaded = ps.load(path)
    write_module([read_written(path)], tmp_path / "module.py")
    (found,) = run_module(tmp_path / "module.py", arrays, tmp_path)
    np.testing.assert_allclose(found, loaded(*arrays), rtol=1e-5, atol=1e-6)
    ps.split(loaded, wrt=(0, 1, 2)).save(gradient)
    file = read_written(gradient)
    (made,) = mathematics_of(file)
    assert made.count <= 0.4 * sum(1 for _ in file.ops())
    text = list_as_mathematics(file)
    assert "weights = softmax(" in text
    assert "d_v = " in text
    assert "mul_q" not in text  # no remark tells a value by another that is not shown
    assert_statements_compute(gradient, [*arrays, np.ones_like(found)])

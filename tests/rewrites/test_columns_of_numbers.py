"""Numbers beside columns have axes in the file, and the values keep their bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Const
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites.columns_of_numbers import MANY, number_columns
from tests.random_programs import run
from tests.recording import kinds, record

TWO, ZERO = np.asarray(2.0), np.asarray(0.0)
TYPES = ("float64[N,1]", "float64[300,1]", "float64")
COLUMNS: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "a product": (lambda x, y, s: op.Mul(x, TWO), ["Mul"]),
    "a product from the left": (lambda x, y, s: op.Sub(TWO, x), ["Sub"]),
    "a maximum of three": (lambda x, y, s: op.Max(x, TWO, ZERO), ["Max"]),
    "a choice": (lambda x, y, s: op.Where(op.Greater(x, ZERO), TWO, x), ["Greater", "Where"]),
    "a choice between numbers": (lambda x, y, s: op.Where(op.Greater(x, ZERO), TWO, ZERO), ["Greater", "Where"]),
    "a power": (lambda x, y, s: op.Pow(op.Abs(x), TWO), ["Abs", "Pow"]),
    "a number of the run beside many": (lambda x, y, s: op.Add(y, s), ["Reshape", "Add"]),
    "columns of columns": (lambda x, y, s: op.Mul(op.Unsqueeze(x, [0]), TWO), ["Unsqueeze", "Mul"]),
}
STAY: dict[str, Callable[..., Any]] = {
    "a number of the run beside few": lambda x, y, s: op.Add(x, s),
    "rows": lambda x, y, s: op.Mul(op.Transpose(x, perm=[1, 0]), TWO),
    "a vector": lambda x, y, s: op.Mul(op.Squeeze(x, [1]), TWO),
    "a column of columns": lambda x, y, s: op.Mul(x, op.Exp(x)),
    "what is added to a mean": lambda x, y, s: op.Add(op.ReduceMean(x, [1]), TWO),
}


def inputs_of(rows: int) -> list[Any]:
    random = np.random.default_rng(rows)
    return [random.standard_normal((rows, 1)), random.standard_normal((300, 1)), np.asarray(0.7)]


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_a_number_beside_a_column_has_as_many_axes(name: str, rows: int) -> None:
    function, left = COLUMNS[name]
    block = record(function, *TYPES)
    found = number_columns(block)
    check_types(found)
    assert kinds(found) == left
    last = found.ops[-1]
    assert {v.type.rank for v in last.inputs if v is not None} == {
        last.outputs[0].type.rank
    } or last.kind == "Unsqueeze"
    for a, b in zip(run(block, inputs_of(rows)), run(found, inputs_of(rows)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", STAY)
def test_others_stay(name: str) -> None:
    block = record(STAY[name], *TYPES)
    assert number_columns(block) is block


def test_a_file_of_norms_has_no_number_without_axes_beside_them() -> None:
    def unit(x: Any) -> Any:
        return x / np.maximum(np.sqrt(np.sum(x * x, axis=-1, keepdims=True)), 1e-6)

    graph = ps.trace(unit, ps.spec("float64", ["N", 3])).to_onnx().graph
    (floor,) = (node for node in graph.node if node.op_type == "Max")
    shapes = {t.name: tuple(t.dims) for t in graph.initializer}
    assert {shapes[name] for name in floor.input if name in shapes} == {(1, 1)}
    x = np.random.default_rng(0).standard_normal((MANY, 3))
    np.testing.assert_allclose(ps.trace(unit, x).session()(x)[0], unit(x), rtol=1e-15)


def test_a_number_that_may_become_an_input_stays_what_it_is() -> None:
    block = record(lambda x, y, s: op.Mul(x, TWO), *TYPES)
    (number,) = (v for v in block.ops[0].inputs if isinstance(v, Const))
    number.role = "param"
    assert number_columns(block) is block

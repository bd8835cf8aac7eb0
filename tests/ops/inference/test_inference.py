"""Result types: the rules agree with onnx's C++ inference and with what onnxruntime produces, symbols included."""

from typing import Any

import numpy as np
import pytest

from primsplit.ir import dims
from primsplit.ir.errors import DtypeError, PrimsplitError, ShapeError
from primsplit.ops import op
from primsplit.ops.inference.table import RULES
from tests.ops.inference.checks import types_of
from tests.ops.inference.rows import AT_RUN_TIME, ROWS, Row, row
from tests.recording import record


def test_every_rule_has_a_row() -> None:
    assert set(RULES) <= {each.kind for each in ROWS}


def test_symbols_are_only_invented_for_sizes_that_depend_on_data() -> None:
    data_dependent = {"Compress", "NonZero", "Unique"}
    for each in ROWS:
        made = {s for t in types_of(each, {}) for d in t.shape or () for s in dims.symbols(d)} - {"N", "M"}
        assert bool(made) == (each.kind in data_dependent), each


def test_a_shape_of_known_length_gives_the_rank_though_only_the_run_knows_its_values() -> None:
    assert [t.shape for each in AT_RUN_TIME for t in types_of(each, {}) if t.shape is None] == []


@pytest.mark.parametrize(
    "each",
    [
        row("Reshape", "float32[N,3]", "int64[K]"),
        row("Squeeze", "float32[N,3]", "int64[K]"),
        row("Unsqueeze", "float32[N,3]", "int64[K]"),
        row("Expand", "float32[N,3]", "int64[K]"),
        row("ConstantOfShape", "int64[K]"),
        row("ReduceSum", "float32[N,3]", "int64[K]", keepdims=0),
    ],
    ids=str,
)
def test_a_shape_of_unknown_length_leaves_the_rank_unknown(each: Row) -> None:
    (found,) = types_of(each, {})
    assert found.shape is None
    assert found.dtype == "float32"


WRONG: list[tuple[type[PrimsplitError], Any, tuple[str, ...], str]] = [
    (ShapeError, lambda x, y: op.Add(x, y), ("float32[2]", "float32[3]"), "cannot broadcast"),
    (ShapeError, lambda x, y: op.MatMul(x, y), ("float32[2,3]", "float32[4,5]"), "inner sizes 3 and 4"),
    (ShapeError, lambda x: op.Reshape(x, [5]), ("float32[2,3]",), "cannot reshape"),
    (ShapeError, lambda x: op.Reshape(x, [0, -1]), ("float32[0,3]",), "-1 may be any size"),
    (ShapeError, lambda x: op.Pad(x, [0, -7, 0, 0]), ("float32[N,3]",), "a size is from 0"),
    (ShapeError, lambda x: op.Transpose(x, perm=[0, 0]), ("float32[2,3]",), "does not permute"),
    (ShapeError, lambda x: op.Squeeze(x, [0]), ("float32[2]",), "cannot squeeze"),
    (ShapeError, lambda x: op.Concat(x, x, axis=4), ("float32[2]",), "axis 4"),
    (ShapeError, lambda x, y: op.Concat(x, y, axis=0), ("float32[2,3]", "float32[2,4]"), "differ at axis 1"),
    (ShapeError, lambda x: op.GatherElements(x, np.array([[0]]), axis=2), ("float32[2,3]",), "axis 2"),
    (ShapeError, lambda x: op.ScatterElements(x, np.array([[0]]), x[:1, :1], axis=-3), ("float32[2,3]",), "axis -3"),
    (ShapeError, lambda x: op.Gather(x, [0]), ("float32",), "at least one axis"),
    (DtypeError, lambda x, y: op.Add(x, y), ("float32[2]", "float64[2]"), "float32 and float64"),
    (DtypeError, lambda x: op.Sin(x), ("int64[2]",), "does not take int64"),
    (PrimsplitError, lambda x: op.Elu(x, beta=1.0), ("float32",), "no attribute beta"),
    (PrimsplitError, lambda x: op.Concat(x), ("float32[2]",), "needs its attribute axis"),
    (PrimsplitError, lambda x: op.Sin(x, x), ("float32",), "takes 1 to 1 inputs"),
]


@pytest.mark.parametrize(("error", "function", "specs", "text"), WRONG)
def test_inputs_that_do_not_fit_are_refused_at_the_users_line(
    error: type[PrimsplitError], function: Any, specs: tuple[str, ...], text: str
) -> None:
    with pytest.raises(error, match=text) as caught:
        record(function, *specs)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__

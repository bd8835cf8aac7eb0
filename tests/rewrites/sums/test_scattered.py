"""Many float32 numbers that are added to few places keep their digits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.ops import op

COUNT = 300_000
PLACES = np.arange(COUNT) % 2
UPDATES = np.full(COUNT, 0.1, np.float32)
WANTED = COUNT / 2 * float(np.float32(0.1))


def add_rows(x: Any, places: Any, u: Any) -> Any:
    return op.ScatterND(x, places, u, reduction="add")


def add_elements(x: Any, places: Any, u: Any) -> Any:
    return op.ScatterElements(x, places, u, axis=-2, reduction="add")


SPECS: dict[str, tuple[list[Any], list[Any], list[Any]]] = {
    "literal": ([2], [COUNT, 1], [COUNT]),
    "writes": ([2], ["N", 1], ["N"]),
}


@pytest.mark.parametrize("sizes", SPECS)
def test_rows_that_are_added_to_few_rows_keep_their_digits(sizes: str) -> None:
    specs = [ps.spec(t, s) for t, s in zip(("float32", "int64", "float32"), SPECS[sizes], strict=True)]
    program = ps.trace(add_rows, *specs)
    found = program(np.ones(2, np.float32), PLACES[:, None], UPDATES)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, WANTED + 1, rtol=1e-7)


@pytest.mark.parametrize("sizes", [([2, 1], [COUNT, 1]), ([2, 1], ["N", 1])], ids=str)
def test_so_do_elements(sizes: Any) -> None:
    data, many = sizes
    program = ps.trace(add_elements, ps.spec("float32", data), ps.spec("int64", many), ps.spec("float32", many))
    found = program(np.zeros((2, 1), np.float32), PLACES[:, None], UPDATES[:, None])
    np.testing.assert_allclose(found[:, 0], WANTED, rtol=1e-7)


FUNCTIONS: dict[str, tuple[Callable[..., Any], np.ndarray[Any, Any]]] = {
    "elements": (lambda s: s[PLACES] * UPDATES, np.ones(2, np.float32)),
    "rows": (lambda s: np.take(s, PLACES, axis=0) * UPDATES[:, None], np.ones((2, 1), np.float32)),
    "along an axis": (lambda s: np.take_along_axis(s, PLACES, axis=0) * UPDATES, np.ones(2, np.float32)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_so_do_gradients_of_what_is_read_often(name: str) -> None:
    function, x = FUNCTIONS[name]
    found = ps.grad(lambda x: np.sum(function(x)))(x)
    np.testing.assert_allclose(found.ravel(), WANTED, rtol=1e-7)


def test_weights_in_bins_are_numpys() -> None:
    def counted(weights: Any) -> Any:
        return np.histogram(PLACES, bins=2, weights=weights)[0]

    np.testing.assert_allclose(ps.trace(counted, UPDATES)(UPDATES), counted(UPDATES), rtol=1e-6)


FEW: dict[str, tuple[list[Any], list[Any], list[Any]]] = {
    "few writes": ([2, 3], [100, 1], [100, 3]),
    "many places": ([100_000, 3], [100_000, 1], [100_000, 3]),
    "places of a number that the run has": (["M", 3], ["N", 1], ["N", 3]),
    "many numbers, and writes of a number that the run has": ([1000, 64], ["N", 1], ["N", 64]),
}


@pytest.mark.parametrize("name", FEW)
def test_where_float64_would_cost_time_the_scatter_stays(name: str) -> None:
    specs = [ps.spec(t, s) for t, s in zip(("float32", "int64", "float32"), FEW[name], strict=True)]
    model = ps.trace(add_rows, *specs).to_onnx()
    assert onnx.TensorProto.DOUBLE not in {
        a.i for node in model.graph.node if node.op_type == "Cast" for a in node.attribute
    }


def test_a_file_that_is_loaded_and_saved_again_does_not_grow(tmp_path: Any) -> None:
    specs = [ps.spec("float32", [2]), ps.spec("int64", ["N", 1]), ps.spec("float32", ["N"])]
    ps.trace(add_rows, *specs).save(tmp_path / "first.onnx")
    ps.load(tmp_path / "first.onnx").save(tmp_path / "second.onnx")
    first, second = (onnx.load(tmp_path / f"{name}.onnx").ByteSize() for name in ("first", "second"))
    assert second < 1.05 * first

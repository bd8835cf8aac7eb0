"""Updates of places that repeat are added up one after the other, however many threads there are."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir import Const
from primsplit.onnx.protobufs import graphs
from primsplit.ops import op
from primsplit.targets.faults.shared_places import ALONE, are_distinct
from primsplit.targets.finish import finish


def embedded(table: Any, places: Any, weights: Any) -> Any:
    return np.sum(table[places] * weights)


def kinds(program: Any) -> list[str]:
    return [step.kind for step in finish(program.block).ops]


@pytest.mark.parametrize(
    ("rows", "count", "width"), [(4, 5000, 64), (1000, 40000, 64), (3, 400_000, 1), (2, 3, 200_000), (2, 17, 90_000)]
)
@pytest.mark.parametrize("sizes", ["numbers", "symbols"])
def test_the_gradient_of_an_embedding_is_the_same_in_every_run(rows: int, count: int, width: int, sizes: str) -> None:
    """With onnxruntime's own kernel one run of seven lost updates on two cores."""
    random = np.random.default_rng(0)
    table = random.standard_normal((rows, width)).astype(np.float32)
    places, weights = random.integers(0, rows, count), random.integers(-3, 4, (count, width)).astype(np.float32)
    wanted = np.zeros(table.shape, np.float32)
    np.add.at(wanted, places, weights)
    specs = [table, places, weights]
    if sizes == "symbols":
        specs = [ps.spec("float32", ["R", "W"]), ps.spec("int64", ["N"]), ps.spec("float32", ["N", "W"])]
    gradient = ps.split(embedded, *specs, wrt="table").joint()
    for _ in range(10):
        np.testing.assert_array_equal(gradient(table, places, weights)[1], wanted)  # small integers: sums are exact


@pytest.mark.parametrize("reduction", ["add", "max", "min", "mul"])
@pytest.mark.parametrize("depth", [1, 2])
def test_every_reduction_and_depth_has_a_form_of_one_thread(reduction: str, depth: int) -> None:
    random = np.random.default_rng(1)
    data = random.uniform(0.9, 1.1, (5, 6, 8))
    count = 2 * ALONE // int(np.prod(data.shape[depth:]))
    places = np.stack([random.integers(-size, size, count) for size in data.shape[:depth]], -1)
    updates = random.uniform(0.99, 1.01, (count, *data.shape[depth:]))
    combined = {"add": np.add, "max": np.maximum, "min": np.minimum, "mul": np.multiply}[reduction]

    def scattered(*arrays: Any) -> Any:
        return op.ScatterND(*arrays, reduction=reduction)

    specs = (
        ps.spec("float64", [5, "K", 8]),
        ps.spec("int64", ["N", depth]),
        ps.spec("float64", ["N", *["K", 8][depth - 1 :]]),
    )
    for given in ((data, places, updates), specs):
        found = ps.trace(scattered, *given)(data, places, updates)
        np.testing.assert_allclose(found, in_turn(data, places, updates, combined), rtol=1e-9)
    few = data, places[:7], updates[:7]
    np.testing.assert_array_equal(ps.trace(scattered, *specs)(*few), in_turn(*few, combined))


def in_turn(data: Any, places: Any, updates: Any, combined: Any) -> Any:
    found = data.copy()
    for place, update in zip(places, updates, strict=True):
        found[tuple(place)] = combined(found[tuple(place)], update)
    return found


def test_what_one_thread_does_and_distinct_places_stay_as_they_are() -> None:
    def added(x: Any, places: Any, u: Any) -> Any:
        return op.ScatterND(x, places, u, reduction="add")

    x, u = ps.spec("float32", [1000, 300]), ps.spec("float32", [900, 300])
    distinct = np.arange(900)[:, None]
    assert kinds(ps.trace(lambda x, u: added(x, distinct, u), x, u)) == ["ScatterND"]
    small = ps.trace(added, ps.spec("float32", [9, 8]), ps.spec("int64", [70, 1]), ps.spec("float32", [70, 8]))
    assert kinds(small) == ["ScatterND"]
    large = ps.trace(added, x, ps.spec("int64", [900, 1]), u)
    assert kinds(large) == ["Slice", "Slice", "ScatterND"] * 2


def test_an_array_without_places_keeps_its_scatter() -> None:
    def added(x: Any, places: Any, u: Any) -> Any:
        return op.ScatterND(x, places, u, reduction="add")

    x, places, u = np.zeros((0, 3)), np.zeros((0, 1), np.int64), ps.spec("float64", ["N", 3])
    program = ps.trace(added, x, ps.spec("int64", ["N", 1]), u)
    assert program(x, places, np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("reduction", ["add", "max", "min", "mul"])
@pytest.mark.parametrize("depth", [1, 2])
def test_so_has_one_whose_depth_only_the_run_knows(reduction: str, depth: int) -> None:
    combined = {"add": np.add, "max": np.maximum, "min": np.minimum, "mul": np.multiply}[reduction]
    random, shape = np.random.default_rng(1), (5, 6)
    specs = ps.spec("float64", shape), ps.spec("int64", ["N", "K"]), ps.spec("float64", ["N", "M"][: 3 - depth])
    program = ps.trace(lambda *arrays: op.ScatterND(*arrays, reduction=reduction), *specs)
    assert "If" in kinds(program)
    data = random.uniform(0.9, 1.1, shape)
    for count in (2 * ALONE // int(np.prod(shape[depth:])), 7, 0):
        places = np.stack([random.integers(-size, size, count) for size in shape[:depth]], -1)
        updates = random.uniform(0.99, 1.01, (count, *shape[depth:]))
        np.testing.assert_allclose(program(data, places, updates), in_turn(data, places, updates, combined), rtol=1e-9)


@pytest.mark.parametrize(("count", "distinct"), [(0, True), (1, True), (2, False)])
def test_indices_of_no_axes_name_the_whole_array(count: int, distinct: bool) -> None:
    assert are_distinct(Const(np.zeros((count, 0), np.int64)), (2, 2)) is distinct


def test_updates_of_rows_that_constants_remove_load(tmp_path: Path) -> None:
    """onnxruntime loads no remainder by a constant 0, which the number of rows is, in a branch that is not taken."""
    text = """<ir_version: 10, opset_import: ["": 21]> g (double[3,2] x) => (double y)
      <float[2] w = {0.5, 1.5}, float zero = {0}, float[0] none = {}, int64[1] a = {-2}, int64[1] b = {-1},
       int64[1] z = {0}> {
      s = ReduceSum<keepdims=1>(w) t = Mul(s, zero) k = Cast<to=7>(t)
      p = Concat<axis=0>(a, k, b, z) v = Pad(x, p) m = Greater(none, zero)
      r = Compress<axis=0>(v, m) f = Sin(r) g1 = ReduceSum<keepdims=0>(f)
      q = Mul(x, x) q1 = ReduceSum<keepdims=0>(q) y = Add(g1, q1) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    ps.split(ps.load(tmp_path / "m.onnx")).save(tmp_path / "gradient.onnx")
    x = np.arange(6.0).reshape(3, 2)
    _, gradient = ps.load(tmp_path / "gradient.onnx")(x)
    np.testing.assert_allclose(gradient, 2 * x)
    onnxruntime.InferenceSession(tmp_path / "gradient.onnx")


def test_updates_of_numbers_into_rows_of_seven_are_not_shared_out_over_copies_of_the_array() -> None:
    """However many rows there are, eight copies of the array cost more than one thread that adds by elements."""

    def added(x: Any, places: Any) -> Any:
        np.add.at(x, (places[:, 0], places[:, 1]), x[:, 0])
        return x

    program = ps.trace(added, ps.spec("float32", ["B", 7]), ps.spec("int64", ["B", 2]))
    scatters = [n.op_type for g in graphs(program.to_onnx().graph) for n in g.node if n.op_type.startswith("Scatter")]
    assert sorted(scatters) == ["ScatterElements", "ScatterND"]

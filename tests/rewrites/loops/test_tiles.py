"""Work on many rows is done a tile at a time: what is gained, and that the numbers are those of the whole arrays."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.rewrites.loops import tiled_regions
from primsplit.rewrites.loops.tiled_regions import region_of
from primsplit.targets import pipeline
from primsplit.testing import check_grads
from tests.recording import record

rng = np.random.default_rng(5)


@pytest.fixture
def _in_tiles_of_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor with next to no cache, for which whatever can be tiled is."""
    for name, value in {"CACHE": 1, "LARGE": 1, "TILE": 256, "LAUNCH": 0, "STAYS": 2**40, "GAIN": 1e9}.items():
        monkeypatch.setattr(tiled_regions, name, value)
    stages = [replace(s, has=None) if s.name == "work_in_tiles" else s for s in pipeline.STAGES]
    monkeypatch.setattr(pipeline, "STAGES", tuple(stages))


def kinds(program: ps.Program) -> list[str]:
    """The operators of the file, without those inside of its loops."""
    return [node.op_type for node in program.to_onnx().graph.node]


def density(w: Any, x: Any, y: Any) -> Any:
    """Log density of Student-t errors, up to a constant."""
    return -2.5 * np.sum(np.log1p((y - x @ w) ** 2 / 4.0))


@pytest.mark.parametrize(("rows", "loop"), [(50_000, "Scan"), (49_999, "Loop")])
def test_a_density_and_its_gradient_fetch_the_observations_once(rows: int, loop: str) -> None:
    x, w = rng.standard_normal((rows, 50)), rng.standard_normal(50)
    y = x @ w + rng.standard_t(4, rows)
    joint = ps.split(density, w, x, y, wrt="w").joint()
    found = kinds(joint)
    assert loop in found
    products = found.count("MatMul") + found.count("Gemm")
    assert products == (2 if loop == "Loop" else 0), "the rows that are left, and none of all rows"
    value, gradient = joint.session()(w + 0.1, x, y)
    residual = y - x @ (w + 0.1)
    np.testing.assert_allclose(value, -2.5 * np.sum(np.log1p(residual**2 / 4.0)), rtol=1e-12)
    np.testing.assert_allclose(gradient, x.T @ (5 * residual / (4 + residual**2)), rtol=1e-9)


def test_distances_of_all_pairs_are_never_there_together() -> None:
    def energy(x: Any) -> Any:
        apart = x[:, None, :] - x[None, :, :]
        return np.sum(1.0 / (1.0 + np.sum(apart * apart, axis=-1)))

    x = rng.standard_normal((1200, 2))
    joint = ps.split(energy, x).joint()
    (scan,) = (node for node in joint.to_onnx().graph.node if node.op_type == "Scan")
    sizes = [[d.dim_value for d in v.type.tensor_type.shape.dim] for v in joint.to_onnx().graph.value_info]
    assert [1200, 1200] not in sizes
    assert {"Sub", "ReduceSum"} <= {node.op_type for node in scan.attribute[0].g.node}
    apart = x[:, None] - x[None]
    weights = 1 / (1 + np.sum(apart**2, -1))
    value, gradient = joint.session()(x)
    np.testing.assert_allclose(value, weights.sum(), rtol=1e-12)
    np.testing.assert_allclose(gradient, -4 * np.sum(apart * weights[..., None] ** 2, 1), rtol=1e-9, atol=1e-9)


def test_what_each_row_has_as_result_is_kept() -> None:
    def both(x: Any) -> Any:
        found = x
        for k in range(8):
            found = np.sqrt(found * found + x * (0.5 + k))
        return found, np.sum(found)

    x = rng.random(2_000_000).astype(np.float32)
    program = ps.trace(both, x)
    assert kinds(program).count("Scan") == 1
    assert "Sqrt" not in kinds(program)
    each, total = program.session()(x)
    wanted = both(x)
    np.testing.assert_allclose(each, wanted[0], rtol=1e-6)
    np.testing.assert_allclose(total, wanted[1], rtol=1e-5)


@pytest.mark.parametrize("rows", ["N", 400])
def test_few_rows_and_rows_that_are_not_counted_stay_together(rows: Any) -> None:
    specs = [ps.spec("float64", shape) for shape in ([50], [rows, 50], [rows])]
    assert not {"Scan", "Loop"} & set(kinds(ps.split(density, *specs, wrt="w").joint()))


def test_a_file_for_cuda_has_whole_arrays(tmp_path: Path) -> None:
    x = rng.standard_normal((50_000, 50))
    ps.split(density, x[0], x, x[:, 0], wrt="w").joint().save(str(tmp_path / "file.onnx"), "cuda")
    assert not {"Scan", "Loop"} & {node.op_type for node in onnx.load(tmp_path / "file.onnx").graph.node}


@pytest.mark.usefixtures("_in_tiles_of_little")
def test_a_long_chain_along_columns_is_given_up_at_once() -> None:
    """The tiles of each op's result would lie apart: each op that stays behind takes the one before it along."""

    def chain(x: Any) -> Any:
        found = op.Transpose(x, perm=[1, 0])
        for _ in range(100):
            found = op.Mul(found, found)
        return op.CumSum(found, np.int64(1))

    block = record(chain, "float64[40,6]")
    assert region_of(block, 40).inside == [], "after more rounds than there are for ops one by one"


PROGRAMS: dict[str, Callable[..., Any]] = {
    "rows of products": lambda x, w: np.tanh(x @ w).sum(axis=1),
    "columns of products": lambda x, w: np.sum(np.sin(w.T @ x.T), axis=0),
    "sums of products": lambda x, w: (np.exp(x @ w).T @ x) ** 2,
    "of one another": lambda x, w: np.sum(np.exp(x @ x.T * 0.1)) * w,
    "products of stacks": lambda x, w: np.sum((x[:, :, None] * x[:, None, :]) @ w, axis=(1, 2)),
    "softmax": lambda x, w: np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True) @ w,
    "largest": lambda x, w: np.max(x @ w, axis=1) - np.min(x, axis=1),
    "means of columns": lambda x, w: np.mean(np.cos(x), axis=0) @ w,
    "standardized by all": lambda x, w: ((x - x.mean(axis=0)) / x.std(axis=0)) @ w,
    "flattened": lambda x, w: np.sum(np.sin(x.reshape(-1) * 2.0)) * w + x.ravel()[3],
    "joined columns": lambda x, w: np.concatenate([x, np.sin(x)], axis=1).sum(axis=1) * w[0, 0],
    "chosen columns": lambda x, w: x[:, 0] * np.exp(x[:, 2]) * w[1, 1],
    "chosen by index": lambda x, w: w[np.arange(len(x)) % 3].sum(axis=1) * np.sin(x[:, 0]),
    "chosen by condition": lambda x, w: np.where(x > 0.2, x**2, w[0, 0] * x).sum(axis=1),
    "turned": lambda x, w: (x.T * np.arange(1.0, 1.0 + len(x))).sum(axis=1) @ w,
    "spread": lambda x, w: np.broadcast_to(x[:, None, :], (len(x), 2, 3)).sum(axis=(1, 2)) * w[2, 0],
    "running": lambda x, w: np.cumsum(np.sin(x), axis=0) @ w,
    "in order": lambda x, w: np.sort(np.sin(x), axis=0) @ w,
}


@pytest.mark.sweep(2)
@pytest.mark.usefixtures("_in_tiles_of_little")
@pytest.mark.parametrize("rows", [12, 11])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_in_tiles_is_what_it_is_as_a_whole(name: str, rows: int) -> None:
    function = PROGRAMS[name]
    x, w = rng.standard_normal((rows, 3)), rng.standard_normal((3, 3))
    joint = ps.split(function, x, w).joint()
    assert {"Scan", "Loop"} & set(kinds(joint))
    np.testing.assert_allclose(ps.trace(function, x, w)(x, w), function(x, w), rtol=1e-12, atol=1e-12)
    check_grads(function, x, w, order=2, modes=("rev", "fwd"))


@pytest.mark.parametrize(("rows", "most"), [(12, 5), (97, 20), (1000, 333), (2**20, 1000), (2 * 3 * 5 * 7 * 11, 100)])
def test_tiles_are_the_largest_that_leave_no_rest_if_one_is_half_as_large_as_may_be(rows: int, most: int) -> None:
    divisors = [d for d in range(1, most + 1) if rows % d == 0 and 2 * d >= most]
    assert tiled_regions._divisor(rows, most) == max(divisors, default=None)


@pytest.mark.parametrize("rows", [2**56, 10**14 + 31, 4 * 10**15], ids=["power", "prime", "round"])
def test_a_number_of_rows_is_not_factorized(rows: int, tmp_path: Path) -> None:
    made = ps.split(lambda x: np.sum(np.tanh(x) ** 2), ps.spec("float32", [rows, 3]))
    began = time.process_time()
    made.save(tmp_path / "rows.onnx")
    assert time.process_time() - began < 2

"""Arrays of few bits, of the dtypes that ml_dtypes adds to NumPy, in traced functions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, SpecError
from primsplit.testing import check_grads
from tests.versions import since

INTEGERS = ["int4", "uint4", "int2", "uint2"]
EIGHT = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"]
FLOATS = [*EIGHT, "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"]
EVERY = [*INTEGERS, *FLOATS]
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((2, 4))
SCALES = RANDOM.uniform(0.5, 1.5, 3)


def weights(name: str) -> Any:
    """Numbers that every one of these dtypes has."""
    low = 0 if name.startswith("u") else -1
    return np.array([[low, 1, 0], [1, 1, low], [0, low, 1], [1, 0, 1]]).astype(name)


def dense(x: Any, w: Any, scales: Any) -> Any:
    return x @ (w.astype(x.dtype) * scales)


@pytest.mark.parametrize("name", [*EVERY, "float8_e8m0fnu"])
def test_weights_are_converted_inside(name: str) -> None:
    w = weights(name) if name in EVERY else np.full((4, 3), 0.5).astype(name)
    np.testing.assert_allclose(ps.trace(dense, X, w, SCALES)(X, w, SCALES), dense(X, w, SCALES), strict=True)


@pytest.mark.parametrize("name", EVERY)
def test_what_stands_beside_them_has_a_gradient(name: str) -> None:
    w = weights(name)
    check_grads(lambda x, scales: np.sin(dense(x, w, scales)), X, SCALES)
    found = ps.grad(lambda x, w, scales: np.sum(dense(x, w, scales)), wrt=("x", "scales"))(X, w, SCALES)
    np.testing.assert_allclose(found[1], (X @ w.astype(float)).sum(axis=0))


MOVES: dict[str, Callable[[Any], Any]] = {
    "rows": lambda w: w[::2],
    "turned": lambda w: w.T.reshape(2, 6),
    "joined": lambda w: np.concatenate([w, w[:1]]),
    "stacked": lambda w: np.stack([w, w]),
    "picked": lambda w: w[np.array([3, 0])],
    "repeated": lambda w: np.tile(w, (1, 2)),
}


@pytest.mark.parametrize("name", EVERY)
def test_they_are_moved_as_they_are(name: str) -> None:
    w = weights(name)
    for move in MOVES.values():
        made, expected = ps.trace(move, w)(w), move(w)
        assert made.dtype == expected.dtype
        np.testing.assert_array_equal(made.astype(np.float32), expected.astype(np.float32), strict=True)


SIX = since("onnx", "1.23", "it has no number for floats of six bits")
WITH_SIX = [pytest.param(name, marks=SIX) if "float6" in name else name for name in EVERY]


def within(name: str, x: np.ndarray) -> np.ndarray:
    """Which floats a type of integers has a number for: of others C says nothing, and versions of ml_dtypes differ."""
    limits = ml_dtypes.iinfo(name)
    return (np.trunc(x) >= limits.min) & (np.trunc(x) <= limits.max)


@pytest.mark.parametrize("name", WITH_SIX)
def test_a_conversion_to_them_gives_the_numbers_of_numpy(name: str) -> None:
    finite = np.arange(2**16, dtype=np.uint16).view(ml_dtypes.bfloat16).astype(np.float32)
    finite = finite[np.isfinite(finite)]
    near = finite[within(name, finite)] if name in INTEGERS else finite
    for x in (near, near.astype(np.float64), np.arange(-128, 128), np.arange(256, dtype=np.uint8)):
        made = ps.trace(lambda x: x.astype(name), x)(x)
        np.testing.assert_array_equal(made.astype(np.float32), x.astype(name).astype(np.float32))
    if name in EIGHT:
        x = np.array([np.inf, -np.inf, np.nan], np.float32)
        made = ps.trace(lambda x: x.astype(name), x)(x)
        np.testing.assert_array_equal(made.astype(float), x.astype(name).astype(float))


@pytest.mark.parametrize("name", EIGHT)
def test_floats_of_eight_bits_are_stretched_once_they_are_converted(name: str) -> None:
    w = weights(name)
    with pytest.raises(DtypeError, match="Convert it first"):
        ps.trace(lambda w: np.broadcast_to(w, (2, 4, 3)), w)
    made = ps.trace(lambda w: np.broadcast_to(w.astype(np.float32), (2, 4, 3)), w)(w)
    np.testing.assert_array_equal(made, np.broadcast_to(w.astype(np.float32), (2, 4, 3)))


@pytest.mark.parametrize("name", EVERY)
def test_they_are_not_computed_with_and_the_error_says_the_way_out(name: str) -> None:
    with pytest.raises(DtypeError, match=r"Convert it first: x.astype\(np.float32\)"):
        ps.trace(lambda w: w + w, weights(name))


def test_a_conversion_that_the_standard_does_otherwise_is_refused() -> None:
    with pytest.raises(DtypeError, match="float8_e8m0fnu"):
        ps.trace(lambda x: x.astype("float8_e8m0fnu"), X)


@pytest.mark.parametrize("name", ["float8_e4m3", "float8_e3m4"])
def test_dtypes_that_the_standard_lacks_are_refused(name: str) -> None:
    with pytest.raises(SpecError, match=name):
        ps.trace(lambda w: w, np.zeros(3, name))


def test_an_annotation_names_them() -> None:
    def read(w: Any) -> Any:
        return w.astype(np.float32)

    read.__annotations__["w"] = "int4[N,3]"
    program = ps.trace(read)
    assert str(program.types[0]) == "int4[N,3]"
    np.testing.assert_array_equal(program(weights("int4")), weights("int4").astype(np.float32))


def test_a_program_of_a_closure_is_made_anew_where_the_dtype_changes() -> None:
    w = np.array([-1, 1]).astype("int4")

    @ps.grad
    def slope(x: Any) -> Any:
        return np.sum(x * w.astype(x.dtype))

    x = np.ones(2)
    np.testing.assert_array_equal(slope(x), [-1, 1])
    w = w.view("uint4")
    np.testing.assert_array_equal(slope(x), w.astype(float))


def test_a_converted_parameter_stays_one() -> None:
    program = ps.trace(lambda x: x * ps.param(np.ones(4, np.float32), "w").astype(np.float64), X)
    (slope,) = ps.split(program, wrt="w", seed="ones").joint()(X, np.ones(4, np.float32))[1:]
    np.testing.assert_allclose(slope, X.sum(axis=0), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "told"), [("int4", onnx.TensorProto.INT4), ("float8_e4m3fn", onnx.TensorProto.FLOAT8E4M3FN)]
)
def test_a_file_holds_the_weights_in_their_few_bits(name: str, told: int, tmp_path: Path) -> None:
    w, x, path = weights(name), X.astype(np.float32), str(tmp_path / "model.onnx")
    program = ps.trace(lambda x: dense(x, ps.param(w, "w"), SCALES.astype(np.float32)), x)
    program.save(path)
    assert {t.name: t.data_type for t in onnx.load(path).graph.initializer}["w"] == told
    np.testing.assert_array_equal(ps.load(path)(x), program(x))
    np.testing.assert_allclose(program(x), dense(x, w, SCALES), rtol=1e-5)

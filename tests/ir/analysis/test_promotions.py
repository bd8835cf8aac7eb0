"""A program of float32 that meets a float64 of NumPy's is told at the line; one that is of float64 anyway is not."""

import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import primsplit as ps
from primsplit.ir.errors import PromotionWarning

ROWS = ps.spec("f32", [3, 16])
WIDE = np.ones((16, 4))
NARROW = WIDE.astype(np.float32)
ROOT = np.sqrt(16)
WIDE_TYPE = np.float64


def told(run: Callable[[], Any]) -> list[warnings.WarningMessage]:
    """The warnings about promotions."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    return [w for w in found if issubclass(w.category, PromotionWarning)]


PROMOTED: dict[str, Callable[[Any], Any]] = {
    "number": lambda x: x / ROOT,
    "number of a call": lambda x: x * np.sqrt(2),
    "product of matrices": lambda x: x @ WIDE,
    "array": lambda x: x * np.linspace(0, 1, 16),
    "identity": lambda x: x[:, :3] + np.eye(3),
    "joined": lambda x: np.concatenate([x, np.zeros((3, 1))], axis=1),
    "chosen": lambda x: np.where(x > 0, x, np.zeros(16)),
    "maximum": lambda x: np.maximum(x, np.float64(0)),
    "einsum": lambda x: np.einsum("ij,jk", x, WIDE),
    "polynomial": lambda x: np.polyval(np.array([1.0, 2.0]), x),
    "convolution": lambda x: np.convolve(x[0], np.ones(3)),
    "known integers": lambda x: x + np.arange(16),
    "positions": lambda x: x[:, :3] * np.argmax(x, axis=1),
    "count": lambda x: x / np.sum(x > 0),
    "power": lambda x: x**ROOT,
    "interpolation": lambda x: np.interp(x, [0, 1], [2, 3]),
    "count in a loop": lambda x: ps.scan(lambda total, row: (total + row, row / np.sum(row > 0)), x[0], x)[1],
    "count in a loop of rows": lambda x: np.stack([row / np.sum(row > 0) for row in x]),
    "count in a branch": lambda x: ps.cond(x[0, 0] > 0, lambda r: r / np.sum(r > 0), lambda r: r / np.sum(r > 1), x),
    "narrower dtype of an operand": lambda x: x.astype(np.float32) * ROOT,
    "narrower dtype by its name": lambda x: x.astype("float32") * ROOT,
    "dtype of another array": lambda x: (x > 0).astype(x.dtype) * ROOT,
    "narrower dtype of sums": lambda x: np.sum(x, axis=0, dtype=np.float32) * ROOT,
    "dtype of integers": lambda x: x * np.arange(16, dtype=np.int64),
    "dtype of a comparison": lambda x: x * ROOT if x.dtype == np.float32 else x,
    "comment about a dtype": lambda x: x * ROOT,  # .astype(np.float64), dtype=float
    "numbers of Python in an array": lambda x: np.array([x[0, 0], 1.0]),
}
KEPT: dict[str, Callable[[Any], Any]] = {
    "Python's number": lambda x: x / 4.0,
    "pi": lambda x: x * np.pi,
    "float()": lambda x: x / float(ROOT),
    "float() of a traced number": lambda x: x * float(x[0, 0]),
    "a loss that is a float": lambda x: float(np.sum(x**2)),
    "float32": lambda x: x @ NARROW,
    "compared": lambda x: np.where(x > ROOT, x, 0),
    "written into": lambda x: np.add(x, 1, out=x),
    "mean": lambda x: np.mean(x),
    "mean in a loop": lambda x: ps.scan(lambda c, row: (c + row, np.mean(row) + np.median(row)), x[0], x)[1],
    "variance": lambda x: np.var(x, axis=0),
    "norm": lambda x: np.linalg.norm(x),
    "softmax": lambda x: scipy.special.softmax(x, axis=1),
    "erf": lambda x: scipy.special.erf(x),
    "converted": lambda x: x.astype(np.float64) * np.linspace(0, 1, 16),
    "converted by its name": lambda x: np.float64(x[0, 0]) * 2.0,
    "least squares": lambda x: np.linalg.lstsq(x, x[:, 0], rcond=None)[0],
    "integers of few bits": lambda x: x * np.arange(16, dtype=np.int16),
    "size": lambda x: x / x.shape[0],
    "narrowed on the line": lambda x: (x * ROOT).astype(np.float32),
    "narrowed behind a function": lambda x: (np.tanh(x * ROOT) + 1).astype(dtype=np.float32),
    "narrowed by a call": lambda x: np.float32(np.sum(x * ROOT)),
    "narrowed to a dtype": lambda x: (x * ROOT).astype(x.dtype),
    "dtype float": lambda x: x.astype(float) * np.linspace(0, 1, 16),
    "dtype of a variable": lambda x: np.asarray(x, dtype=WIDE_TYPE) * ROOT,
    "summed in float64": lambda x: np.sum(x, dtype=np.float64) * ROOT,
}


@pytest.mark.parametrize("name", PROMOTED)
def test_a_promotion_is_told_once_at_its_line(name: str) -> None:
    function = PROMOTED[name]
    (found,) = told(lambda: ps.trace(function, ROWS))
    assert pathlib.Path(found.filename).name == "test_promotions.py"
    assert "float32 becomes float64 here" in str(found.message)
    assert function(np.ones((3, 16), np.float32)).dtype == np.float64
    assert len(told(lambda: ps.grad(lambda x: np.sum(function(x)))(np.ones((3, 16), np.float32)))) == 1


@pytest.mark.parametrize("name", KEPT)
def test_what_stays_float32_or_is_converted_is_not_told(name: str) -> None:
    assert told(lambda: ps.trace(KEPT[name], ROWS)) == []


def test_a_program_with_an_input_of_float64_is_not_told() -> None:
    wide = ps.spec("f64", [3, 16])
    assert told(lambda: ps.trace(PROMOTED["number"], wide)) == []
    assert told(lambda: ps.trace(lambda x, y: x * ROOT + y, ROWS, wide)) == []
    assert told(lambda: ps.trace(lambda n: n * ROOT, ps.spec("i32", [3]))) == []


def test_a_promotion_inside_of_a_loop_is_told() -> None:
    def step(total, row):
        wide = total + row * ROOT
        return wide.astype(np.float32), None

    (found,) = told(lambda: ps.trace(lambda x: ps.scan(step, x[0], x)[0], ROWS))
    assert "float32 becomes float64 here" in str(found.message)

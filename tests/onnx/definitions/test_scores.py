"""Scores and labels of linear models of ai.onnx.ml are what onnxruntime's kernels compute, with their gradients."""

from pathlib import Path

import numpy as np
import pytest

from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, defined, kernel, ranked
from tests.onnx.definitions.trained import F, check_slope, check_value, row, title

rng = np.random.default_rng(6)

draw = drawing(rng)


def floats(*shape: int) -> list[float]:
    return [float(v) for v in draw(*shape).reshape(-1)]


X = draw(3, 4)

ROWS = [
    row("LinearRegressor", X, coefficients=floats(8), intercepts=floats(2), targets=2),
    row("LinearRegressor", X, coefficients=floats(4), intercepts=[0.5]),
    row("LinearRegressor", X, coefficients=floats(8), intercepts=floats(2), targets=2, post_transform="SOFTMAX"),
    *(
        row(
            "LinearClassifier",
            X,
            outputs=("int64", F),
            coefficients=floats(12),
            intercepts=floats(3),
            classlabels_ints=[5, 3, 9],
            post_transform=name,
        )
        for name in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")
    ),
    row("LinearClassifier", X, outputs=("int64", F), coefficients=floats(4), intercepts=[0.5], classlabels_ints=[4, 7]),
    *(
        row(
            "LinearClassifier",
            X,
            outputs=("int64", F),
            coefficients=floats(4),
            intercepts=[0.5],
            classlabels_ints=[4, 7],
            post_transform=name,
        )
        for name in ("LOGISTIC", "SOFTMAX")
    ),
    *(row("LinearRegressor", X, coefficients=floats(4), post_transform=name) for name in ("LOGISTIC", "SOFTMAX")),
]


def test_the_quantile_of_scores_is_the_kernels(tmp_path: Path) -> None:
    x = rng.random((3, 4)).astype(np.float32)
    given = row("LinearRegressor", x, coefficients=[0.1] * 4, intercepts=[0.3], post_transform="PROBIT")
    expected = kernel(given, tmp_path / "kernel.onnx")
    np.testing.assert_allclose(defined(ranked(given, expected), tmp_path / "node.onnx")[0], expected[0], rtol=1e-4)


def test_labels_may_be_texts(tmp_path: Path) -> None:
    given = row(
        "LinearClassifier", X, outputs=("object", F), coefficients=floats(12), intercepts=floats(3),
        classlabels_strings=["ant", "bee", "fly"],
    )  # fmt: skip
    expected = kernel(given, tmp_path / "kernel.onnx")
    found = defined(ranked(given, expected), tmp_path / "node.onnx")
    assert found[0].tolist() == expected[0].tolist()
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5)


@pytest.mark.parametrize("given", ROWS, ids=title)
def test_an_operator_is_what_its_kernel_computes(given: Node, tmp_path: Path) -> None:
    check_value(given, tmp_path)


@pytest.mark.parametrize("given", ROWS, ids=title)
def test_an_operators_gradient_agrees_with_differences_in_float64(given: Node, tmp_path: Path) -> None:
    check_slope(given, tmp_path)

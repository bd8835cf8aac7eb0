"""Support vector machines of ai.onnx.ml are what onnxruntime's kernels compute, with their gradients."""

from pathlib import Path

import numpy as np
import pytest

from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node
from tests.onnx.definitions.trained import F, check_slope, check_value, row, title

rng = np.random.default_rng(6)

draw = drawing(rng)


def floats(*shape: int) -> list[float]:
    return [float(v) for v in draw(*shape).reshape(-1)]


X = draw(3, 4)

ROWS = [
    *(
        row(
            "SVMRegressor",
            X,
            coefficients=floats(2),
            support_vectors=floats(2, 4),
            n_supports=2,
            rho=[0.25],
            kernel_type="RBF",
            kernel_params=[0.3, 0.4, 2.0],
            post_transform=name,
        )
        for name in ("LOGISTIC", "PROBIT")
    ),
    *(
        row(
            "SVMClassifier",
            X,
            outputs=("int64", F),
            coefficients=floats(5),
            support_vectors=floats(5, 4),
            vectors_per_class=[2, 3],
            rho=[0.1],
            kernel_type="RBF",
            kernel_params=[0.3, 0.0, 0.0],
            classlabels_ints=[0, 1],
            post_transform=name,
            **more,
        )
        for name in ("LOGISTIC", "SOFTMAX", "NONE")
        for more in ({}, {"prob_a": [-1.5], "prob_b": [0.2]})
    ),
    *(
        row(
            "SVMRegressor",
            X,
            coefficients=floats(5),
            support_vectors=floats(5, 4),
            n_supports=5,
            rho=[0.25],
            kernel_type=kind,
            kernel_params=[0.3, 0.4, 2.0],
        )
        for kind in ("LINEAR", "RBF", "POLY", "SIGMOID")
    ),
    row("SVMRegressor", X, coefficients=floats(4), rho=[0.25], kernel_params=[0.0, 0.0, 0.0]),
    *(
        row(
            "SVMClassifier",
            X,
            outputs=("int64", F),
            coefficients=floats(2, 6),
            support_vectors=floats(6, 4),
            vectors_per_class=[1, 2, 3],
            rho=floats(3),
            kernel_type=kind,
            kernel_params=[0.3, 0.4, 3.0],
            classlabels_ints=[0, 1, 2],
        )
        for kind in ("RBF", "POLY")
    ),
    *(
        row(
            "SVMClassifier",
            X,
            outputs=("int64", F),
            coefficients=floats(classes - 1, 2 * classes),
            support_vectors=floats(2 * classes, 4),
            vectors_per_class=[1, 3] + [2] * (classes - 2),
            rho=floats(pairs),
            kernel_type="RBF",
            kernel_params=[0.3, 0.0, 0.0],
            classlabels_ints=list(range(classes)),
            prob_a=[-1.5, -0.5, -2.0, -1.0, -1.2, -0.8][:pairs],
            prob_b=[0.2, -0.1, 0.3, 0.0, -0.4, 0.1][:pairs],
        )
        for classes, pairs in ((3, 3), (4, 6))
    ),
    row(
        "SVMClassifier",
        X,
        outputs=("int64", F),
        coefficients=floats(5),
        support_vectors=floats(5, 4),
        vectors_per_class=[2, 3],
        rho=[0.1],
        kernel_type="LINEAR",
        kernel_params=[0.0, 0.0, 0.0],
        classlabels_ints=[0, 1],
    ),
]


@pytest.mark.parametrize("given", ROWS, ids=title)
def test_an_operator_is_what_its_kernel_computes(given: Node, tmp_path: Path) -> None:
    check_value(given, tmp_path)


@pytest.mark.parametrize("given", ROWS, ids=title)
def test_an_operators_gradient_agrees_with_differences_in_float64(given: Node, tmp_path: Path) -> None:
    check_slope(given, tmp_path)

"""Statements that compute a known function are written as that function, and have its nodes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics, mathematics_of
from primsplit.audit.written import read_written
from tests.mathematics import assert_statements_compute

X = np.linspace(-1.0, 2.0, 12).reshape(4, 3)


def log_softmax(x: Any) -> Any:
    shifted = x - np.max(x, axis=1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))


def log1p(x: Any) -> Any:
    return np.log1p(np.exp(x))


def polynomial(x: Any) -> Any:
    return ((((0.5 * x + 0.25) * x - 0.125) * x + 2.0) * x - 3.0) * x + 0.75


def normalized(x: Any) -> Any:
    apart = x - np.mean(x, axis=1, keepdims=True)
    return apart / np.sqrt(np.mean(apart * apart, axis=1, keepdims=True) + 1e-5)


def logsumexp(x: Any) -> Any:
    return scipy.special.logsumexp(x, axis=1)


ROWS: list[tuple[Callable[[Any], Any], str]] = [
    (log1p, "log1p("),
    (logsumexp, "logsumexp(x, axis=1, keepdims=True)"),
    (polynomial, "polyval([0.5, 0.25, -0.125, 2, -3, 0.75], x)"),
]


@pytest.mark.parametrize(("function", "text"), ROWS, ids=[f.__name__ for f, _ in ROWS])
def test_a_function_has_its_name_and_its_numbers(function: Callable[[Any], Any], text: str, tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    ps.export(lambda x: np.sum(function(x)), X, path=path, mode="value")
    file = read_written(path)
    assert text in list_as_mathematics(file)
    (made,) = mathematics_of(file)
    assert len({op for line in made.every for op in line.ops} | {*made.plumbing}) == sum(1 for _ in file.ops())
    assert_statements_compute(path, [X])


@pytest.mark.parametrize("function", [log_softmax, normalized, log1p, polynomial], ids=lambda f: f.__name__)
def test_what_is_written_as_a_function_computes_the_gradient(function: Callable[[Any], Any], tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    ps.export(lambda x: np.sum(np.sin(function(x))), X, path=path)
    assert_statements_compute(path, [X])


def test_a_polynomial_of_another_variable_in_between_is_none(tmp_path: Path) -> None:
    def mixed(x: Any) -> Any:
        return np.sum(((((0.5 * x + 0.25) * x - 0.125) * np.sin(x) + 2.0) * x - 3.0) * x + 0.75)

    path = str(tmp_path / "f.onnx")
    ps.export(mixed, X, path=path, mode="value")
    assert "polyval" not in list_as_mathematics(read_written(path))
    assert_statements_compute(path, [X])


def test_norms_and_deviations_are_called_by_their_names(tmp_path: Path) -> None:
    def spread(x: Any) -> Any:
        a = np.linalg.norm(x)
        b = np.linalg.norm(x, axis=1)
        c = np.linalg.norm(x, axis=0, keepdims=True)
        d = np.std(x, axis=1, keepdims=True)
        e = np.std(x, axis=0, ddof=1)
        f = np.var(x, axis=1)
        return a, b, c, d, e, f

    path = str(tmp_path / "f.onnx")
    ps.export(spread, ps.spec("float64", ["N", 3]), path=path, mode="value")
    listed = [line.split("  ")[1] for line in list_as_mathematics(read_written(path)).splitlines() if " = " in line]
    found = [line.partition(" = ")[2] for line in listed]
    assert found[:6] == [
        "norm(x)",
        "norm(x, axis=1)",
        "norm(x, axis=0, keepdims=True)",
        "std(x, axis=1, keepdims=True)",
        "std(x, axis=0, ddof=1)",
        "var(x, axis=1)",
    ]
    assert_statements_compute(path, [np.arange(12.0).reshape(4, 3) ** 1.5])


@pytest.mark.parametrize("shape", [(4, 3), (5, 9), (8, 16)], ids=str)
def test_variances_of_known_sizes_have_their_divisors(shape: tuple[int, int], tmp_path: Path) -> None:
    def spread(x: Any) -> Any:
        a = np.var(x, axis=0)
        b = np.var(x, ddof=1)
        c = np.std(x, axis=-1, ddof=1, keepdims=True)
        d = np.var(x, axis=1, ddof=2)
        return np.sum(a) + b + np.sum(c) + np.sum(np.sqrt(d))

    path = str(tmp_path / "f.onnx")
    x = np.random.default_rng(0).normal(size=shape)
    ps.export(spread, x, path=path)
    listed = list_as_mathematics(read_written(path))
    for text in ("a = var(x, axis=0)", "b = var(x, ddof=1)", "c = std(x, axis=1, keepdims=True, ddof=1)"):
        assert text in listed
    assert "var(x, axis=1, ddof=2)" in listed or shape == (4, 3)  # there it divides by 1
    assert_statements_compute(path, [x])


NO_SPREAD: dict[str, Callable[[Any], Any]] = {
    "columns centred, then all": lambda x: np.mean((x - np.mean(x, axis=0, keepdims=True)) ** 2, keepdims=True),
    "columns centred, then rows": lambda x: np.mean((x - np.mean(x, axis=0, keepdims=True)) ** 2, axis=1),
    "another divisor": lambda x: np.sum((x - np.mean(x, axis=0, keepdims=True)) ** 2, axis=0) / 7.5,
    "all centred, then columns": lambda x: np.mean((x - np.mean(x, keepdims=True)) ** 2, axis=0),
}


@pytest.mark.parametrize("name", NO_SPREAD)
def test_means_of_squares_about_other_means_are_no_variances(name: str, tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    ps.export(NO_SPREAD[name], ps.spec("float64", ["N", 3]), path=path, mode="value")
    assert "var(" not in list_as_mathematics(read_written(path))
    assert_statements_compute(path, [X])

"""The proven bound of the rounding error of a file's outputs is more than the measured error."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.bounds import bound_rows
from primsplit.audit.written import read_written
from primsplit.cli.inputs import arrays_for, examples
from primsplit.cli.options import DtypeName, Exported, FunctionDerivation
from primsplit.programs.export import save_derived
from primsplit.programs.opened import OpenedFile
from primsplit.testing.reference import computing, evaluate

MODELS = Path(__file__).parents[2] / "models"
FAST = (
    "asian_option", "bayesian_logistic", "black_scholes", "digits_classifier", "inverse_kinematics", "lennard_jones",
    "newton_logistic", "poisson_network", "robust_regression",
)  # fmt: skip
SLOW = ("damped_building", "gaussian_process", "heat_conduction", "language_model", "optimal_control")


def rows_of(path: str, arrays: dict[str, np.ndarray], **options: Any) -> dict[str, Any]:
    return bound_rows(
        read_written(path), arrays, run=OpenedFile(path), exactly=evaluate, compute=computing(), **options
    )


def exported(function: Any, *arguments: Any, path: Path, **options: Any) -> str:
    (written,) = ps.export(function, *arguments, path=path / "f.onnx", **options)
    return str(written)


def quadratic(w: Any, x: Any) -> Any:
    return np.sum((x @ w) ** 2)


W, X = np.float32([0.5, -1.25, 2.0]), np.linspace(0, 1, 12, dtype=np.float32).reshape(4, 3)


def test_value_and_gradient_have_a_bound_beside_the_measured_error(tmp_path: Path) -> None:
    path = exported(quadratic, W, X, path=tmp_path)
    found = rows_of(path, {"w": W, "x": X})
    assert [r["output"] for r in found["rows"]] == ["y", "d_w", "d_x"]
    for row in found["rows"]:
        assert row["measured"] <= row["bound"] < 1e-4
        assert row["ratio"] == (row["bound"] / row["measured"] if row["measured"] else None)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("box", [{}, {"width": 1e-2}, {"ranges": {"x": (0.0, 1.0)}}])
def test_the_bound_holds_in_the_whole_box(tmp_path: Path, dtype: str, box: dict[str, Any]) -> None:
    w, x = W.astype(dtype), X.astype(dtype)
    path = exported(quadratic, w, x, path=tmp_path)
    rows, point = (rows_of(path, {"w": w, "x": x}, **options)["rows"] for options in (box, {}))
    for row, at_point in zip(rows, point, strict=True):
        assert row["measured"] <= row["bound"]
        assert at_point["bound"] <= row["bound"] * (1 + 1e-12)


def test_an_output_without_a_bound_names_the_node_that_has_none(tmp_path: Path) -> None:
    def risky(x: Any) -> Any:
        total = np.sum(x)
        return 1 / total

    x = np.float32([1.0, -1.0, 1e-3])
    path = exported(risky, x, path=tmp_path, mode="value")
    (row,) = rows_of(path, {"x": x}, ranges={"x": (-1.0, 1.0)})["rows"]
    assert (row["bound"], row["ratio"], row["operator"] in {"Div", "Reciprocal"}) == (None, None, True)
    assert row["source"] == "return 1 / total"


def test_of_a_loop_the_node_inside_and_its_step_are_named(tmp_path: Path) -> None:
    def inverted(y: Any) -> Any:
        """The second divisor is between -1/6 and 1/2 for a first one between 1 and 3."""

        def step(carry: Any, change: Any) -> Any:
            near, far = carry
            return (1.0 / near - change, np.tanh(far)), None

        (near, far), _ = ps.scan(step, (y, y), np.full(4, 0.5))
        return near, far

    path = exported(inverted, np.float64(2.0), path=tmp_path, mode="value")
    near, far = rows_of(path, {"y": np.float64(2.0)}, ranges={"y": (1.0, 3.0)})["rows"]
    assert (near["bound"], near["operator"] in {"Div", "Reciprocal"}) == (None, True)
    assert near["source"].startswith("return (1.0 / near")
    assert near["why"] == "at an operand of step 2, division by 0 can happen"
    assert far["bound"] is not None


def test_of_a_loop_that_is_solved_at_once_that_is_told(tmp_path: Path) -> None:
    def filtered(a: Any, xs: Any) -> Any:
        last, _ = ps.scan(lambda h, x: (a * h + x, h), np.zeros(3), xs)
        return np.sum(last)

    a, xs = np.full(3, 0.5), np.ones((500, 3))
    path = exported(filtered, a, xs, path=tmp_path, mode="value")
    (row,) = rows_of(path, {"a": a, "xs": xs}, width=0.001)["rows"]
    assert (row["bound"], row["source"].startswith("last, _ = ps.scan")) == (None, True)
    assert "solved for all steps at once" in row["why"]


def test_what_exact_arithmetic_cannot_run_is_not_measured(tmp_path: Path) -> None:
    def failing(*arguments: Any) -> Any:
        raise ps.errors.RunError("no such operator")

    path = exported(quadratic, W, X, path=tmp_path)
    named = {"run": OpenedFile(path), "exactly": failing, "compute": computing()}
    found = bound_rows(read_written(path), {"w": W, "x": X}, **named)
    assert "no such operator" in found["why"]
    assert [r["measured"] for r in found["rows"]] == [None, None, None]


CASES = [pytest.param(name, id=name) for name in FAST]
CASES += [pytest.param(name, id=name, marks=pytest.mark.slow) for name in SLOW]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_a_model_is_no_farther_from_exact_arithmetic_than_its_bounds(name: str, dtype: str, tmp_path: Path) -> None:
    made = Exported(str(MODELS / f"{name}.py"), FunctionDerivation(dtype=DtypeName(dtype)), quiet=True)
    (path, *_) = save_derived(made.derived, str(tmp_path / "f.onnx"), made.mode)
    point = arrays_for(OpenedFile(path), read_written(path).block, examples(made.derived, made.arguments.values))
    found = rows_of(path, point, width=0.0 if name == "lennard_jones" else 1e-4)  # atoms apart from themselves
    assert not found["why"]
    for row in found["rows"]:
        assert row["bound"] is None or row["measured"] <= row["bound"], row
    assert name in SLOW or any(row["bound"] is not None for row in found["rows"])


def root(x: Any) -> Any:
    """The square root, by as many steps of Newton's iteration as it takes."""

    def is_far(state: Any) -> Any:
        return np.abs(state * state - x) > 1e-3

    return ps.while_loop(is_far, lambda state: 0.5 * (state + x / state), x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_loop_that_the_data_end_has_a_bound_where_its_end_is_certain(tmp_path: Path, dtype: str) -> None:
    path = exported(root, np.ones((), dtype), path=tmp_path)
    for at in (2.0, 0.3, 77.0):
        for row in rows_of(path, {"x": np.array(at, dtype)})["rows"]:
            assert row["bound"] is not None
            assert row["measured"] <= row["bound"] < 1e3 * np.finfo(dtype).eps * max(row["size"], 1.0)


def test_a_loop_has_no_bound_where_the_box_or_rounding_may_end_it_elsewhere(tmp_path: Path) -> None:
    path = exported(root, np.ones((), np.float32), path=tmp_path)
    wide = rows_of(path, {"x": np.float32(2.0)}, ranges={"x": (1.0, 50.0)})["rows"]

    def halves(x: Any) -> Any:  # ends at a state that rounding alone moves to the other side of the bound
        return ps.while_loop(lambda s: s > 0.25 * x, lambda s: s * np.float32(0.5) * (x / x), x)

    (tmp_path / "halves").mkdir()
    path = exported(halves, np.ones((), np.float32), path=tmp_path / "halves")
    near = rows_of(path, {"x": np.float32(3.1)})["rows"]
    for row in (*wide, *near):
        assert (row["bound"], row["operator"]) == (None, "Loop")
        assert "when it ends" in row["why"]


def test_an_overflow_is_why_there_is_no_bound_and_no_measured_error(tmp_path: Path) -> None:
    x = np.float32([1.0, 100.0])
    path = exported(lambda x: np.exp(x) / np.sum(np.exp(x)), x, path=tmp_path, mode="value")
    (row,) = rows_of(path, {"x": x})["rows"]
    assert (row["operator"], row["why"]) == ("Exp", "at an operand, overflow happens")
    assert row["bound"] is row["measured"] is row["size"] is None

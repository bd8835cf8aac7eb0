"""`primsplit audit --linear`, `--zero`: answers as tables and JSON, and the status."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from primsplit.cli.audit_questions import _certainty

BENT = """
import numpy as np
import primsplit as ps

@ps.primitive
def soft(x):
    return np.log1p(np.exp(x))

@ps.rrule(soft)
def rule(x):
    return soft(x), lambda dy: np.sin(dy) / (1.0 + np.exp(-x))

def main(w, x):
    return np.sum(soft(x @ w))

wrt = ("w",)

def example_inputs():
    return np.full((3, 4), 0.1), np.ones((2, 3))
"""
RIGHT = BENT.replace("np.sin(dy)", "dy")


def test_a_seeded_gradient_is_proven_with_the_cotangent_as_an_input(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    done = primsplit("audit", model(RIGHT), "--linear", "--json")
    found = done.json["linear"]
    assert done.status == 0
    assert found["seeded"]
    assert [(r["output"], r["verdict"], r["in"]) for r in found["rows"]] == [("d_w", "linear", ["d_y"])]
    assert found["numbers"]["agree"]
    assert found["numbers"]["deviations"]["d_w"] < 1e-14


def test_a_wrong_rule_is_told_at_the_users_line_with_status_1(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    done = primsplit("audit", model(BENT), "--linear")
    assert done.status == 1
    for phrase in ("not linear", "Sin", "model.py:13", "return np.sum(soft(x @ w))", "They differ"):
        assert phrase in done.out


def test_a_file_that_was_written_is_asked_like_its_model(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = tmp_path / "f.onnx"
    assert primsplit("export", model(BENT), "--onnx", path).status == 0
    found = primsplit("audit", path, "--linear", "--zero", "--json").json
    assert {*found} == {"linear", "zero"}
    assert found["linear"]["rows"][0]["verdict"] == "seeded"
    assert not found["linear"]["numbers"]["agree"]
    assert found["zero"] == []


@pytest.mark.parametrize("also", ["--rules", "--frozen"])
def test_a_question_stands_alone(primsplit: Callable[..., Any], model: Callable[..., Path], also: str) -> None:
    done = primsplit("audit", model(RIGHT), "--zero", also)
    assert done.status == 1
    assert "stands alone" in done.error
    assert "--stage" not in primsplit("audit", model(RIGHT), "--zero", "--stage", "split").out
    assert "another stage" in primsplit("audit", model(RIGHT), "--zero", "--stage", "split").error


def test_a_dropped_path_that_only_the_numbers_show_has_the_status_1(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = model("""
    import numpy as np
    import primsplit as ps

    def main(w, x):
        return np.sum(np.tanh(x @ w) * ps.stop_gradient(np.exp(w[0])))

    def example_inputs():
        return np.full(3, 0.3), np.ones((2, 3))
    """)
    done = primsplit("audit", path, "--linear")
    assert (done.status, "They differ" in done.out, "not linear" in done.out) == (1, True, False)
    assert primsplit("export", path, "--onnx", tmp_path / "f.onnx").status == 0
    assert primsplit("audit", tmp_path / "f.onnx", "--linear", "--json").status == 1


def test_what_is_not_finite_at_the_examples_is_no_difference(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    path = model("""
    import numpy as np

    def main(x):
        return np.sum(np.log(x))

    def example_inputs():
        return (np.full(3, -1.0),)
    """)
    done = primsplit("audit", path, "--linear")
    assert done.status == 0
    assert "Not checked by numbers: y is not finite at the examples." in done.out


def test_a_file_with_a_large_hessian_is_not_run(
    primsplit: Callable[..., Any], model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = model(RIGHT)
    assert "agree" in primsplit("audit", path, "--mode", "hessian", "--linear", "--json").json["linear"]["numbers"]
    monkeypatch.setattr("primsplit.cli.audit_questions.MOST_NUMBERS", 100)
    found = primsplit("audit", path, "--mode", "hessian", "--linear", "--json").json["linear"]
    assert found["numbers"] == {"why": "the outputs hold more than 100 numbers"}


QUOTIENT = """
import numpy as np

def main(x):
    total = np.sum(x, axis=1)
    share = x / total[:, None]
    return np.sum(share**2)

def example_inputs():
    return (np.array([[1.0, 3.0], [0.0, 0.0]]),)
"""


def test_numerics_start_with_the_statement_that_a_nan_begins_at(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    done = primsplit("audit", model(QUOTIENT), "--numerics", "examples")
    assert done.status == 0, done.error
    (line,) = (line for line in done.out.splitlines() if "begins" in line)
    assert "NaN begins: 2 NaN" in line
    assert "share = x / total[:, None]" in line


def test_numerics_take_arrays_of_a_file(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    np.savez(tmp_path / "in.npz", x=np.ones((2, 2)))
    found = primsplit("audit", model(QUOTIENT), "--numerics", tmp_path / "in.npz", "--json").json["numerics"]
    assert {r["nan"] for r in found["rows"]} == {0}
    (share,) = (r for r in found["rows"] if r["name"] == "share")
    assert (share["min"], share["max"], share["count"]) == (0.5, 0.5, 4)


def test_examples_are_those_of_a_python_file(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = tmp_path / "f.onnx"
    assert primsplit("export", model(QUOTIENT), "--onnx", path).status == 0
    assert "example_inputs()" in primsplit("audit", path, "--numerics", "examples").error


def test_hazards_hold_for_the_ranges_that_are_given(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    path = model(QUOTIENT)
    done = primsplit("audit", path, "--hazards", "--range", "x:0,1")
    assert done.status == 0, done.error
    assert "0 / 0" in done.out
    assert "share = x / total[:, None]" in done.out
    assert "none begins" in primsplit("audit", path, "--hazards", "--range", "x:0.5,1").out
    found = primsplit("audit", path, "--hazards", "--json").json["hazards"]
    assert found["free"] == ["x"]
    assert {"0 / 0", "division by 0"} <= {r["hazard"] for r in found["rows"]}
    assert "cannot read --range" in primsplit("audit", path, "--hazards", "--range", "x").error


def test_bounds_stand_beside_the_measured_error(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    path = model(RIGHT)
    found = primsplit("audit", path, "--bounds", "examples", "--width", "0.01", "--json").json["bounds"]
    assert [r["output"] for r in found["rows"]] == ["y", "d_w"]
    assert all(r["measured"] <= r["bound"] < 1e-12 for r in found["rows"])
    done = primsplit("audit", model(QUOTIENT, "quotient.py"), "--bounds", "examples", "--range", "x:0,1")
    assert done.status == 0, done.error
    assert "no bound" in done.out
    assert "share = x / total[:, None]" in done.out


@pytest.mark.parametrize("certainty", ["always", "possible"])
def test_a_certainty_is_shown_by_its_word(certainty: str) -> None:
    assert _certainty(certainty).plain == certainty

"""The fuzzer draws the same input for the same number, and tells right from wrong."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from primsplit.programs.runtime import Session
from tests.onnx.edits import linear, node
from tests.onnx.seeds import function
from tools.fuzzing import corpus, session
from tools.fuzzing.case import Case, kept
from tools.fuzzing.draw import SHARES, draw
from tools.fuzzing.trial import GRADIENT, MODEL_ALONE, outcome


@pytest.fixture(autouse=True)
def _few_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """A corpus that takes no time to make."""
    sources = ("seeds", "written", "nodes")
    monkeypatch.setattr(corpus, "models", lambda: {name: [linear().SerializeToString()] for name in sources})


@pytest.mark.parametrize("kind", SHARES)
def test_an_input_is_told_by_its_number(kind: str) -> None:
    first = [draw(3, n, kind) for n in range(20)]
    assert first == [draw(3, n, kind) for n in range(20)]
    assert len({str(case) for case in first}) > 5


def test_a_model_is_loaded_run_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert outcome(Case("bytes", {"model.onnx": linear().SerializeToString()}), tmp_path).said == "compared"


@pytest.mark.parametrize("part", ["value", "slope"])
def test_what_the_model_does_not_compute_is_wrong(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient file gives half of each value, or of each gradient."""
    monkeypatch.chdir(tmp_path)
    real = Session.run

    def half(session: Session, feeds: Any, outputs: Any = None) -> list[Any]:
        found = real(session, feeds, outputs)
        return [
            v * (0.5 if (name[:2] == "d_") == (part == "slope") else 1)
            for name, v in zip(session.outputs, found, strict=True)
        ]

    monkeypatch.setattr(Session, "run", half)
    found = outcome(Case("bytes", {"model.onnx": function().SerializeToString()}), tmp_path)
    assert (found.said, found.fault) == ("wrong", "differs")
    assert found.told.startswith(part)


def test_the_lowest_number_has_no_differences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """onnxruntime masks by it where the standard has -inf."""
    monkeypatch.chdir(tmp_path)
    model = linear()
    model.graph.node[1].CopyFrom(node("Add", "z lowest", "y"))
    model.graph.initializer.append(numpy_helper.from_array(np.float32([np.finfo(np.float32).min, 0]), "lowest"))
    assert outcome(Case("bytes", {"model.onnx": model.SerializeToString()}), tmp_path).said == "compared"


def test_the_model_runs_before_its_gradient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the model ends the process, so may its gradient: that is no fault of primsplit's."""
    monkeypatch.chdir(tmp_path)
    said: list[object] = []
    real = Session.run

    def run(session: Session, feeds: Any, outputs: Any = None) -> list[Any]:
        said.append("run")
        return real(session, feeds, outputs)

    monkeypatch.setattr(Session, "run", run)
    outcome(Case("bytes", {"model.onnx": linear().SerializeToString()}), tmp_path, said.append)
    assert said == [MODEL_ALONE, GRADIENT, "run"]


def test_the_gradient_of_a_long_loop_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tools.fuzzing.trial.SLOW", -1)
    monkeypatch.setattr(Session, "run", None)
    found = outcome(Case("bytes", {"model.onnx": linear().SerializeToString()}), tmp_path)
    assert found.said == "loaded, and the model is slow"


def test_functions_of_another_opset_are_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """onnxruntime reads them in the opset of the model: a Hardmax before opset 13 is another."""
    monkeypatch.chdir(tmp_path)
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 11, "own" : 1]>
        g (float[3,4,5] x) => (float[3,4,5] y) { y = own.f (x) }
        <domain: "own", opset_import: ["" : 13]> f (x) => (y) { y = Hardmax <axis = 0> (x) }""")
    found = outcome(Case("bytes", {"model.onnx": model.SerializeToString()}), tmp_path)
    assert found.said == "loaded and run"


def test_the_fuzzer_runs_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few inputs of each kind, in a process of their own, as `tools/fuzz.py` runs them."""
    monkeypatch.chdir(tmp_path)
    said = SimpleNamespace(
        inputs=12, start=0, seed=0, jobs=1, kind="", finds=tmp_path / "finds", again=None, shrink=None
    )
    monkeypatch.setattr("tools.fuzzing.session.models", lambda: None)
    assert session.main(said) == 0
    assert not said.finds.exists()


def test_a_file_that_is_no_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = outcome(Case("bytes", {"model.onnx": b"no model"}), tmp_path)
    assert (found.said, found.fault) == ("refused by load", "")


def test_a_foreign_error_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tools.fuzzing.trial.ps.load", lambda path: {}[path])
    found = outcome(Case("bytes", {"model.onnx": linear().SerializeToString()}), tmp_path)
    assert (found.said, found.fault) == ("wrong", "foreign")


def test_a_case_is_kept_and_read_again(tmp_path: Path) -> None:
    data = numpy_helper.from_array(np.ones(2)).SerializeToString()
    case = Case("commands", {"model.onnx": onnx.ModelProto().SerializeToString(), "x.npz": data}, ["run", "model.onnx"])
    case.keep(tmp_path / "find", "what it came to")
    assert kept(tmp_path / "find") == case

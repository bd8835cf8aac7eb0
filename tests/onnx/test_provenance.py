"""A file tells each line of the user's once, in the names of its nodes and in one table, or not at all."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir.errors import Line, SpecError
from primsplit.onnx.provenance import line_of, read_lines

FORMULA = """\
import numpy as np

def formula(x: "f64[8]"):
    proprietary = np.tanh(x * 0.12345) + np.log1p(np.exp(x))
    if proprietary[0] > 3:
        raise ValueError("the secret limit")
    return np.sum(proprietary**2)
"""
TEXT = b"proprietary = np.tanh(x * 0.12345)"
SECRETS = (TEXT, b"proprietary", b"formula", b"secret limit", b"limits_of_mine", b"limits", b".py")


def imported(path: Path, source: str) -> Any:
    """The module of a source, written to this path."""
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def formula(tmp_path: Path) -> Any:
    return imported(tmp_path / "limits_of_mine.py", FORMULA).formula


def _written(function: Any, path: Path, *specs: Any, **named: Any) -> onnx.ModelProto:
    ps.export(function, *specs, path=path, **named)
    return onnx.load(path)


def _run_error(path: Path, feeds: dict[str, Any]) -> str:
    """What stock onnxruntime says of a run that fails."""
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, quiet)
    with pytest.raises(Exception) as caught:  # noqa: PT011  # onnxruntime's classes share no ancestor of their own
        session.run(None, feeds)
    return str(caught.value)


@pytest.mark.parametrize("form", ["joint", "functions"])
def test_the_text_of_a_line_is_in_the_file_once(formula: Any, tmp_path: Path, form: Any) -> None:
    _written(formula, tmp_path / "f.onnx", form=form)
    assert (tmp_path / "f.onnx").read_bytes().count(TEXT) == 1


def test_lines_alone_have_places_and_names_without_text(formula: Any, tmp_path: Path) -> None:
    model = _written(formula, tmp_path / "f.onnx", provenance="lines")
    assert TEXT not in (tmp_path / "f.onnx").read_bytes()
    assert read_lines(model)["limits_of_mine.py:4"] == Line("limits_of_mine.py", 4, "formula", "")
    assert "limits_of_mine.py:4 proprietary/Add" in [node.name for node in model.graph.node]


@pytest.mark.parametrize("form", ["joint", "functions", "split"])
def test_without_provenance_nothing_of_the_source_is_in_the_bytes(formula: Any, tmp_path: Path, form: Any) -> None:
    paths = ps.export(formula, path=tmp_path / "f.onnx", form=form, provenance="none")
    for path in paths:
        onnx.checker.check_model(path, full_check=True)
        data = Path(path).read_bytes()
        assert [secret for secret in SECRETS if secret in data] == []


def test_provenance_changes_no_number_and_no_interface(formula: Any, tmp_path: Path) -> None:
    found = []
    for provenance in ("full", "lines", "none"):
        _written(formula, tmp_path / "f.onnx", provenance=provenance)
        session = onnxruntime.InferenceSession(tmp_path / "f.onnx")
        assert [o.name for o in session.get_outputs()] == ["y", "d_x"]
        found.append(session.run(None, {"x": np.linspace(-1, 1, 8)}))
    for other in found[1:]:
        np.testing.assert_array_equal(other[0], found[0][0])
        np.testing.assert_array_equal(other[1], found[0][1])


def test_another_provenance_is_refused(formula: Any, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="provenance='all' is none of full, lines, none"):
        _written(formula, tmp_path / "f.onnx", provenance="all")


def test_stock_onnxruntime_tells_what_the_user_raises(formula: Any, tmp_path: Path) -> None:
    _written(formula, tmp_path / "f.onnx")
    feeds = {"x": np.full(8, 5.0)}
    assert "ValueError: the secret limit (limits_of_mine.py:6)" in _run_error(tmp_path / "f.onnx", feeds)
    _written(formula, tmp_path / "f.onnx", provenance="none")
    assert "secret" not in _run_error(tmp_path / "f.onnx", feeds)


def test_a_session_of_ours_raises_the_users_error_with_the_line(formula: Any, tmp_path: Path) -> None:
    _written(formula, tmp_path / "f.onnx")
    for program in (ps.trace(formula), ps.load(tmp_path / "f.onnx")):
        with pytest.raises(ValueError, match="the secret limit") as caught:
            program(*[np.full(8, 5.0), 1.0][: len(program.inputs)])
        assert 'raise ValueError("the secret limit")' in str(caught.value)


def test_nodes_of_one_name_are_numbered_and_all_names_differ(formula: Any, tmp_path: Path) -> None:
    model = _written(formula, tmp_path / "f.onnx")
    names = [node.name for node in model.graph.node]
    assert len({*names}) == len(names)
    assert {"limits_of_mine.py:4 Exp", "limits_of_mine.py:4 pullback of Tanh/Mul"} <= {*names}


def test_a_profile_with_any_error_in_it_is_json(tmp_path: Path) -> None:
    source = 'def f(x):\n    if x < 0:\n        raise KeyError("a \\"quoted\\" \\\\ text\\n")\n    return x * x\n'
    _written(imported(tmp_path / "quoting.py", source).f, tmp_path / "f.onnx", 2.0)
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    session = onnxruntime.InferenceSession(tmp_path / "f.onnx", options)
    session.run(None, {"x": np.array(2.0)})
    rows = json.loads(Path(session.end_profiling()).read_text())
    assert any(row["name"].startswith("quoting.py:2 ") for row in rows)


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    made = []
    for folder, text in (("one", "np.sin(x)"), ("two", "np.cos(x)")):
        (tmp_path / folder).mkdir()
        source = f"import numpy as np\ndef f(x):\n    return {text}\n"
        made.append(imported(tmp_path / folder / "same.py", source))
    one, two = made
    model = _written(lambda x: one.f(x) + two.f(x), tmp_path / "f.onnx", np.ones(2))
    texts = {key: line.text for key, line in read_lines(model).items() if key.endswith("same.py:3")}
    assert texts == {"same.py:3": "return np.sin(x)", "two/same.py:3": "return np.cos(x)"}


def test_the_lines_of_a_file_are_those_of_the_gradient_that_is_made_of_it(formula: Any, tmp_path: Path) -> None:
    _written(formula, tmp_path / "f.onnx", mode="value")
    loaded = ps.load(tmp_path / "f.onnx")
    assert "limits_of_mine.py:4  proprietary = np.tanh(x * 0.12345)" in loaded.listing()
    again = _written(loaded, tmp_path / "again.onnx", provenance="full")
    told = [line_of(node.name, read_lines(again)) for node in again.graph.node]
    assert Line("limits_of_mine.py", 4, told[0].function, TEXT.decode() + " + np.log1p(np.exp(x))") in told


@pytest.mark.parametrize(
    "told", ["[", "[1]", '{"a": 1}', '{"a:1": 1}', '{"a:1": []}', '{"a:x": ["f"]}', '{"a:1": [2]}']
)
def test_other_metadata_are_no_lines(told: str) -> None:
    model = onnx.ModelProto()
    model.metadata_props.add(key="primsplit.lines", value=told)
    assert read_lines(model) == {}


def test_the_line_of_a_name_is_that_of_its_beginning_or_of_its_end() -> None:
    lines = {key: Line(key[:4], 1, "f", "") for key in ("a.py:1", "b c.py:1")}
    assert line_of("a.py:1 h/Tanh", lines) == lines["a.py:1"]
    assert line_of("b c.py:1 h/Tanh", lines) == lines["b c.py:1"]
    assert line_of("ValueError: no (or yes) (a.py:1) 2", lines) == lines["a.py:1"]
    assert line_of("a.py:1", lines) is None
    assert line_of("c.py:1 h/Tanh", lines) is None


def test_the_file_tells_who_wrote_it_and_which_outputs_are_derivatives(formula: Any, tmp_path: Path) -> None:
    model = _written(formula, tmp_path / "f.onnx")
    assert (model.producer_name, model.producer_version) == ("primsplit", ps.__version__)
    assert {o.name: o.doc_string for o in model.graph.output} == {"y": "", "d_x": "derivative"}


def test_nodes_of_linear_algebra_say_which_call_they_are_of(tmp_path: Path) -> None:
    for provenance, calls in (("lines", {"cholesky 1"}), ("none", set())):
        model = _written(np.linalg.cholesky, tmp_path / "f.onnx", np.eye(4), provenance=provenance, mode="value")
        nodes = model.graph.node
        assert {p.value for node in nodes for p in node.metadata_props if p.key == "call"} == calls

"""The comparison of what two commits write: it shows each file that differs, and none that does not."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import primsplit as ps
from tests.onnx.edits import linear
from tools.same import corpus, plugin, writing
from tools.same.comparing import compare, told
from tools.same.sessions import kept_in, renumbered


def _written(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / "models" / "entry" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    writing._digest(folder / "models" / "entry")
    return folder


def test_equal_files_are_counted(tmp_path: Path) -> None:
    files = {"a.txt": b"one\n", "b.onnx": linear().SerializeToString()}
    found = compare(_written(tmp_path / "before", files), _written(tmp_path / "now", files))
    assert not found.differs
    assert told(found) == "same files: 2 of models; 0 differ, 0 on one side"


def test_a_file_that_differs_is_shown_with_its_first_lines(tmp_path: Path) -> None:
    model = linear()
    model.graph.node[0].output[0] = model.graph.node[1].input[0] = "renamed"
    before = _written(tmp_path / "before", {"b.onnx": linear().SerializeToString(), "gone.txt": b""})
    found = compare(before, _written(tmp_path / "now", {"b.onnx": model.SerializeToString()}))
    assert found.differs
    text = told(found)
    assert "only before: models/entry/gone.txt" in text
    assert "differs: models/entry/b.onnx" in text
    assert "+   renamed = MatMul (x, W)" in text


def test_a_large_file_is_compared_by_its_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "LARGEST", 2)
    before, now = (_written(tmp_path / name, {"a.txt": name.encode()}) for name in ("before", "now"))
    assert not (now / "models" / "entry" / "a.txt").exists()
    assert "(too large to be kept)" in told(compare(before, now))


def test_the_models_of_sessions_are_kept_whatever_symbols_there_were_before(tmp_path: Path) -> None:
    def positive() -> Any:
        return ps.trace(lambda x: np.sum(x[x > 0]), ps.spec("float64", ["N"])).session()

    for name in ("one", "two"):
        with kept_in(tmp_path / name):
            positive()
    one, two = ((tmp_path / name / "session_000.onnx").read_bytes() for name in ("one", "two"))
    assert one == two
    assert b"nonzero_" in one
    assert renumbered(b"no model") == b"no model"
    load = onnxruntime.InferenceSession.__init__
    with kept_in(tmp_path / "three"):
        pass
    assert onnxruntime.InferenceSession.__init__ is load


def test_new_names_change_little_of_a_sample() -> None:
    names = [f"test_{i}" for i in range(1000)]
    some = corpus.sample(names, 100)
    assert some == sorted(some)
    assert len(some) == 100
    assert len(set(some) & set(corpus.sample([*names, *(f"new_{i}" for i in range(100))], 100))) > 75


def test_a_test_has_one_name_wherever_its_file_lies() -> None:
    assert plugin.name_of("tests/a/test_b.py::test_c[1]") == plugin.name_of("tests/test_b.py::test_c[1]")
    assert plugin.name_of("tests/test_b.py::test_c[1]") != plugin.name_of("tests/test_b.py::test_c[2]")


def test_an_entry_writes_listings_and_files(tmp_path: Path) -> None:
    corpus.models()["newton_logistic gradient joint"](tmp_path)
    assert (tmp_path / "out.onnx").exists()
    assert "SECONDS" in (tmp_path / "words.txt").read_text()
    writing._digest(tmp_path)
    assert set(json.loads((tmp_path / writing.INDEX).read_text())) == {"out.onnx", "words.txt"}

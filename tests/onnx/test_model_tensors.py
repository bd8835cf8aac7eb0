"""The tensors of a model: in its file, or in one beside it that is read when they are asked for."""

from pathlib import Path

import pytest

import primsplit as ps
from primsplit.ir.errors import FileError
from tests.onnx.checks import runs
from tests.onnx.edits import W, external, linear, weights, written


def test_external_data_in_the_folder_are_read_even_through_a_link_inside_it(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "data.bin").write_bytes(b"\0" * 8 + W.tobytes())
    (tmp_path / "link").symlink_to(tmp_path / "real" / "data.bin")
    model = linear()
    external(location="link", offset=8, length=24)(model)
    runs(written(tmp_path, model), tmp_path)


def test_a_model_in_a_cache_of_links_finds_its_data_beside_the_file_it_is(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    model = linear()
    external(location="data.bin")(model)
    (tmp_path / "blobs" / "1a").write_bytes(model.SerializeToString())
    (tmp_path / "blobs" / "2b").write_bytes(W.tobytes())
    (tmp_path / "snapshot" / "model.onnx").symlink_to(tmp_path / "blobs" / "1a")
    (tmp_path / "snapshot" / "data.bin").symlink_to(tmp_path / "blobs" / "2b")
    runs(str(tmp_path / "snapshot" / "model.onnx"), tmp_path)


def test_data_that_vanish_after_loading_are_named(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(W.tobytes())
    model = linear()
    weights(dims=[3, 200])(model)
    (tmp_path / "data.bin").write_bytes(bytes(2400))
    external(location="data.bin")(model)
    program = ps.load(written(tmp_path, model))
    (tmp_path / "data.bin").unlink()
    with pytest.raises(FileError, match="cannot read the data of W"):
        ps.split(program).save(str(tmp_path / "out.onnx"))
    assert not (tmp_path / "out.onnx").exists()

"""The file of a tensor's numbers: in the model's folder, plain, and long enough."""

from pathlib import Path

import onnx
import pytest

from primsplit.ir.errors import FileError, ParseError
from primsplit.onnx.external_data import check_external, entries_of, external_path


def tensor(**entries: object) -> onnx.TensorProto:
    """A tensor of four floats elsewhere."""
    made = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[4])
    for key, value in entries.items():
        made.external_data.add(key=key, value=str(value))
    return made


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A model beside its data of 32 bytes; another file outside of its folder."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "data").write_bytes(bytes(32))
    (tmp_path / "secret").write_bytes(bytes(32))
    return str(folder / "m.onnx")


def test_data_of_the_right_size_pass(path: str) -> None:
    check_external(tensor(location="data", offset=16, length=16), 16, path)
    check_external(tensor(location="data"), 16, path)
    assert external_path(tensor(location="data"), path) == str(Path(path).with_name("data"))


@pytest.mark.parametrize(
    ("entries", "error"),
    [
        ({"location": "data", "offset": 17}, FileError),
        ({"location": "missing"}, FileError),
        ({"location": "data", "length": 15}, ParseError),
        ({"location": "data", "offset": -1}, ParseError),
        ({"location": "data", "offset": "1e1"}, ParseError),
        ({"location": ""}, ParseError),
        ({}, ParseError),
        ({"location": "../secret"}, ParseError),
        ({"location": "/etc/hostname"}, ParseError),
    ],
)
def test_data_that_cannot_be_the_tensors_are_refused(
    path: str, entries: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        check_external(tensor(**entries), 16, path)


def test_a_link_out_of_the_folder_is_refused(path: str, tmp_path: Path) -> None:
    Path(path).with_name("link").symlink_to(tmp_path / "secret")
    with pytest.raises((ParseError, FileError)):
        check_external(tensor(location="link"), 16, path)


def test_a_key_that_occurs_twice_is_refused(path: str) -> None:
    twice = tensor(location="data")
    twice.external_data.add(key="location", value="other")
    with pytest.raises(ParseError, match="given twice"):
        entries_of(twice, path)

"""A tensor of a model that is not what it says is refused in a sentence."""

from pathlib import Path

import pytest

from primsplit.ir.errors import FileError, ParseError, PrimsplitError
from tests.onnx.checks import refused
from tests.onnx.edits import (
    Edit,
    W,
    external,
    linear,
    weights,
    written,
)

REFUSED: dict[str, tuple[Edit, type[PrimsplitError], str]] = {
    "too few bytes": (weights(raw_data=b"abc"), ParseError, "3 bytes, and its shape .* needs 24"),
    "too many bytes": (weights(raw_data=bytes(1000)), ParseError, "1000 bytes"),
    "too few numbers": (weights(raw_data=None, float_data=[1.0, 2.0]), ParseError, "2 numbers"),
    "too many numbers": (weights(raw_data=None, float_data=[1.0] * 7), ParseError, "7 numbers"),
    "no numbers": (weights(raw_data=None), ParseError, "0 numbers"),
    "numbers in two fields": (weights(float_data=[1.0] * 6), ParseError, "W"),
    "numbers of no known type": (weights(data_type=77), ParseError, "unknown data type 77"),
    "a negative size of a tensor": (weights(dims=[-3, 2]), ParseError, "negative size"),
    "a tensor beyond all memory": (weights(dims=[2**62, 2]), ParseError, "would take"),
    "data at an absolute path": (external(location="/etc/passwd"), ParseError, "outside"),
    "data in the folder above": (external(location="../data.bin"), ParseError, "outside"),
    "data behind a link": (external(location="link"), ParseError, "outside"),
    "data nowhere": (external(offset=0), ParseError, "not said in which"),
    "data of an empty name": (external(location=""), ParseError, "not said in which"),
    "data of a name that is none": (external(location="a\0b"), ParseError, "not said in which"),
    "data that are gone": (external(location="gone.bin"), FileError, "No such file"),
    "data that are a folder": (external(location="."), FileError, "no file"),
    "data after the end": (external(location="data.bin", offset=8), FileError, "ends at byte 24"),
    "data before the start": (external(location="data.bin", offset=-8), ParseError, "offset -8"),
    "data at no number": (external(location="data.bin", offset="here"), ParseError, "no number"),
    "data too short": (external(location="data.bin", length=4), ParseError, "length 4"),
    "data too long": (external(location="data.bin", length=2**63), ParseError, "length"),
    "strings in another file": (lambda m: (weights(data_type=8)(m), external(location="data.bin")(m)), ParseError, "W"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_tensor_that_is_not_what_it_says_is_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    edit, error, words = REFUSED[name]
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "data.bin").write_bytes(W.tobytes())
    (folder / "data.bin").write_bytes(W.tobytes())
    (folder / "link").symlink_to(tmp_path / "data.bin")
    model = linear()
    edit(model)
    refused(written(folder, model), error, words)

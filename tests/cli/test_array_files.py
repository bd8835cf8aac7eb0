"""Files of arrays are read where their bytes bear out what they say, and are else refused by one kind of error."""

import io
import os
import pickle
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import primsplit as ps
from primsplit.cli.array_files import read_array_file, write_npz
from primsplit.ir.errors import FileError

WHOLE = {"x": np.arange(6.0).reshape(2, 3), "file": np.array(True), "a/../b": np.zeros((0, 3), np.int8)}


def header(text: str, version: bytes = b"\x01\x00") -> bytes:
    """The beginning of an .npy file with this text in it."""
    size = 2 if version == b"\x01\x00" else 4
    return b"\x93NUMPY" + version + (len(text) + 1).to_bytes(size, "little") + text.encode("latin1") + b"\n"


def told(shape: object, descr: object = "<f4", more: str = "") -> bytes:
    """The beginning of an .npy file of such an array."""
    return header(f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}, {more}}}")


def npy(array: npt.ArrayLike) -> bytes:
    """An array as NumPy writes it."""
    file = io.BytesIO()
    np.save(file, np.asarray(array))
    return file.getvalue()


def archive(path: Path, *members: tuple[str, bytes], compression: int = zipfile.ZIP_STORED) -> str:
    """An archive with these files."""
    with zipfile.ZipFile(path, "w", compression) as made:
        for name, data in members:
            made.writestr(name, data)
    return str(path)


NO_ARRAY: dict[str, bytes] = {
    "nothing": b"",
    "a text": b"hello",
    "a magic alone": b"\x93NUMPY",
    "another version": b"\x93NUMPY\x09\x00" + bytes(20),
    "a header nested deep": header("(" * 5000),
    "a header nested deep in objects": header("{'descr':" * 900),
    "a long header": header(" " * 60_000),
    "a header that is no dict": header("[1, 2]"),
    "a header that is code": header("__import__('os').system('touch pwned')"),
    "a header cut off": told((3,))[:-20],
    "10 TB": told((10**12, 3)),
    "a size beyond all": told((10**30,)),
    "a negative size": told((-1, -3)) + bytes(12),
    "a size that is no number": told(("a",)),
    "too many axes": told((1,) * 100) + bytes(4),
    "an unknown dtype": told((1,), "<q9"),
    "a dtype of 2 GB": told((1,), "|S2147483647"),
    "objects": told((1,), "|O") + pickle.dumps([1]),
    "objects inside": told((1,), [("a", "|O")]) + pickle.dumps([1]),
    "too few bytes": npy(np.arange(3.0))[:-1],
    "too many bytes": npy(np.arange(3.0)) + b"\0",
    "a float8": told((1,), "<f1") + b"\0",
}


@pytest.mark.parametrize("case", NO_ARRAY)
@pytest.mark.parametrize("form", ["npy", "npz", "packed"])
def test_what_is_no_array_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, form: str) -> None:
    monkeypatch.chdir(tmp_path)
    path, data = tmp_path / f"in.{form}", NO_ARRAY[case]
    if form == "npy":
        path.write_bytes(data)
    else:
        archive(path, ("x.npy", data), compression=8 if form == "packed" else 0)
    with pytest.raises(FileError, match=rf"in\.{form}") as caught:
        read_array_file(str(path))
    assert len(str(caught.value)) < 600
    assert not Path("pwned").exists()


def test_archives_that_are_damaged_or_pack_otherwise_are_refused(tmp_path: Path) -> None:
    good = archive(tmp_path / "good.npz", ("x.npy", npy(np.arange(300.0))), compression=zipfile.ZIP_DEFLATED)
    data = Path(good).read_bytes()
    cases = {
        "no member's end": ("x", npy(1.0)),
        "a text": ("notes.txt", b"hello"),
        "a folder": ("x.npy/", b""),
    }
    for name, content in cases.values():
        with pytest.raises(FileError, match=r"does not end in \.npy"):
            read_array_file(archive(tmp_path / "in.npz", (name, content)))
    for length in (3, 30, len(data) // 2, len(data) - 1):
        (tmp_path / "in.npz").write_bytes(data[:length])
        with pytest.raises(FileError, match=r"in\.npz"):
            read_array_file(str(tmp_path / "in.npz"))
    (tmp_path / "in.npz").write_bytes(data[:80] + b"\xff\xff\xff" + data[83:])
    with pytest.raises(FileError, match="damaged"):
        read_array_file(str(tmp_path / "in.npz"))
    with pytest.raises(FileError, match="not packed as NumPy packs"):
        read_array_file(archive(tmp_path / "in.npz", ("x.npy", npy(1.0)), compression=zipfile.ZIP_LZMA))
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = archive(tmp_path / "in.npz", ("x.npy", npy(1.0)), ("x.npy", npy(2.0)))
    with pytest.raises(FileError, match="two arrays x"):
        read_array_file(twice)


def test_more_than_the_memory_is_not_unpacked(tmp_path: Path) -> None:
    """The directory of an archive may tell any size of a member of few bytes."""
    path = Path(archive(tmp_path / "in.npz", ("x.npy", npy(1.0))))
    data = path.read_bytes()
    at = data.index(b"PK\x01\x02")
    path.write_bytes(data[: at + 24] + b"\xfe\xff\xff\xff" + data[at + 28 :])
    started = time.perf_counter()
    with pytest.raises(FileError, match=r"packed|memory"):
        read_array_file(str(path))
    assert time.perf_counter() - started < 1


def test_what_is_no_plain_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npz")
    (tmp_path / "folder.npz").mkdir()
    for name, why in (("pipe.npz", "a device or pipe"), ("folder.npz", "a folder"), ("none.npz", "No such file")):
        with pytest.raises(FileError, match=f"cannot read .*{name}: .*{why}"):
            read_array_file(str(tmp_path / name))
    with pytest.raises(FileError, match="a device or pipe"):
        read_array_file("/dev/zero")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_writes_is_read(tmp_path: Path, save: Any) -> None:
    arrays = {
        "x": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "big": np.arange(3, dtype=">i4"),
        "z": np.array([1 + 2j]),
        "none": np.zeros((0, 5), bool),
        "text": np.array(["ab"]),
        "zeros": np.zeros(100_000),
        "half": np.float16(0.5),
    }
    save(tmp_path / "in.npz", **arrays)
    found = read_array_file(str(tmp_path / "in.npz"))
    assert isinstance(found, dict)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == np.asarray(array).dtype
    np.save(tmp_path / "in.npy", arrays["x"])
    np.testing.assert_array_equal(read_array_file(str(tmp_path / "in.npy")), arrays["x"])


def test_arrays_of_any_name_are_written_as_numpy_reads_them(tmp_path: Path) -> None:
    with open(tmp_path / "out.npz", "wb") as file:
        write_npz(file, WHOLE)
    with np.load(tmp_path / "out.npz") as found:
        assert list(found) == list(WHOLE)
        for name, array in WHOLE.items():
            np.testing.assert_array_equal(found[name], array)


def test_each_option_for_arrays_tells_what_is_wrong(
    primsplit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ps.export(lambda x: np.sum(x * 2.0), ps.spec("float32", ["N", 3]), path="m.onnx")
    archive(tmp_path / "in.npz", ("x\x1b.npy", told((10**12, 3))))
    for command in ("run", "check", "bench"):
        done = primsplit(command, "m.onnx", "--inputs", "in.npz")
        assert done.status == 1
        assert "inside primsplit" not in done.error
        assert "x\\x1b of in.npz" in done.error

"""Arrays for a program's inputs, read from the files that NumPy writes."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from primsplit.cli.arrays import as_declared, as_stored, read_arrays
from primsplit.ir.errors import SpecError

X = np.arange(3.0)


def test_arrays_of_an_archive_are_found_by_name_and_complex_ones_are_both_inputs(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=X, z=X + 1j)
    found = read_arrays(str(tmp_path / "in.npz"), ["x", "z.real", "z.imag"])
    assert [*found] == ["x", "z.real", "z.imag"]
    np.testing.assert_array_equal(found["z.imag"], np.ones(3))
    assert [*read_arrays(str(tmp_path / "in.npz"), ["x", "z"])] == ["x", "z"]


def test_an_array_alone_is_that_of_the_only_input_or_of_its_two_parts(tmp_path: Path) -> None:
    path = str(tmp_path / "in.npy")
    np.save(path, X.astype(">f8"))
    (found,) = read_arrays(path, ["x"]).values()
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, X)
    assert [*read_arrays(path, ["z.real", "z.imag"])] == ["z.real", "z.imag"]
    with pytest.raises(SpecError, match="holds one array, and there are 2 inputs"):
        read_arrays(path, ["x", "y"])


def test_a_part_that_is_given_twice_is_told(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", **{"z.real": X, "z": X + 1j})
    with pytest.raises(SpecError, match=r"z\.real is in in\.npz twice"):
        read_arrays(str(tmp_path / "in.npz"), ["z.real", "z.imag"])


@pytest.mark.parametrize("name", ["float8_e4m3fn", "bfloat16", "float32"])
def test_dtypes_that_numpy_cannot_read_are_stored_as_bytes_and_viewed_again(name: str, tmp_path: Path) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    x = np.array([0.5, -1.0, 2.0]).astype(dtype)
    np.save(tmp_path / "x.npy", as_stored(x))
    (found,) = read_arrays(str(tmp_path / "x.npy"), ["x"]).values()
    again = as_declared(found, dtype)
    assert again.dtype == dtype
    np.testing.assert_array_equal(again.astype(float), [0.5, -1.0, 2.0])

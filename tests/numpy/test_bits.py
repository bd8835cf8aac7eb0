"""Bytes of flags: np.packbits and np.unpackbits."""

from typing import Any, Literal

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError
from tests.numpy.agreement import check_agrees

FLAGS = np.random.default_rng(0).integers(0, 3, (3, 11))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_flags_are_packed_as_numpy_does(dtype: str, axis: Any) -> None:
    flags = FLAGS.astype(dtype)
    check_agrees(lambda x: (np.packbits(x, axis=axis), np.packbits(x, axis, bitorder="little")), flags)
    check_agrees(lambda x: np.packbits(x, axis=axis), flags[:, :8])


@pytest.mark.parametrize("count", [None, 0, 3, 90, -3])
@pytest.mark.parametrize("bitorder", ["big", "little"])
def test_bytes_are_unpacked_as_numpy_does(count: int | None, bitorder: Literal["big", "little"]) -> None:
    given = (FLAGS * 100).astype(np.uint8)
    check_agrees(lambda x: np.unpackbits(x, count=count, bitorder=bitorder), given)
    check_agrees(lambda x: np.unpackbits(x, axis=0, count=count, bitorder=bitorder), given)


def test_floats_are_no_flags() -> None:
    with pytest.raises(DtypeError, match="integer or boolean"):
        ps.trace(np.packbits, np.ones(3))
    with pytest.raises(DtypeError, match="unsigned byte"):
        ps.trace(np.unpackbits, np.ones(3, np.int8))

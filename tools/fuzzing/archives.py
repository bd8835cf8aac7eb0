"""Files of arrays, right and broken: .npz and .npy."""

import io
import zipfile
from random import Random
from typing import Any

import numpy as np

from tests.onnx.seeds import changed_bytes
from tools.fuzzing.structure import number
from tools.fuzzing.texts import TEXTS

NAMES = ("x", "w", "d_y", "W", "x.real", "x/y", "../x", "", "state.count.in")
DTYPES = ("f4", "f4", "f4", "f8", "f2", ">f4", "i8", "i4", "u1", "?", "c8", "U3", "S3", "M8[s]", "V4", "f4,i4")
HEADERS = (
    "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }",
    "{'descr': '<f4', 'fortran_order': True, 'shape': (2, %d), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (%d,), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': %d, }",
    "{'descr': '<f%d', 'fortran_order': False, 'shape': (1,), }",
    "{'descr': [('a', '<f4')] * %d, 'shape': ()}",
    "[%d]",
)


def array(random: Random) -> Any:
    """A small array of any dtype."""
    shape = tuple(random.choice((0, 1, 3, 4, 4, 3)) for _ in range(random.choice((0, 1, 1, 2, 2, 3))))
    return np.zeros(shape, np.dtype(random.choice(DTYPES)))


def member(random: Random) -> bytes:
    """The bytes of an .npy, some with a header that tells something else."""
    if random.random() < 0.6:
        out = io.BytesIO()
        np.save(out, array(random))
        return changed_bytes(out.getvalue(), random) if random.random() < 0.3 else out.getvalue()
    header = (random.choice(HEADERS) % number(random)).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(random.choice((0, 4, 48)))


def archive(random: Random) -> bytes:
    """An .npz with some members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as file:
        for name in {random.choice((*NAMES, "x", "x", random.choice(TEXTS))) for _ in range(random.choice((1, 2, 3)))}:
            entry = zipfile.ZipInfo(f"{name}{random.choice(('.npy', '.npy', '.npy', ''))}".replace("\0", "0") or "x")
            file.writestr(entry, member(random))
    found = out.getvalue()
    return changed_bytes(found, random) if random.random() < 0.5 else found

"""Write a folder of exported files with inputs and outputs, for other versions and builds of onnxruntime to run.

    python -m tools.portability.write FOLDER [--named Conv]     here, with primsplit, from the top of the checkout
    python tools/portability/run.py FOLDER                      wherever numpy and an onnxruntime are installed
    node tools/portability/run.mjs FOLDER                       where `npm install onnxruntime-web` was run

A file holds the value and the gradient of a row of `tests/rules/rows.py`, in float64 or in float32, or of a program in
`models/`. `N.json` beside `N.onnx` tells what it is, and its inputs and outputs by name: each the dtype, the shape, and
the bytes in base64. Outputs are those of the onnxruntime that is installed here, which the tests compare with
differences and with the standard.
"""

import argparse
import base64
import json
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from primsplit.cli.loaded import read_subject
from primsplit.cli.options import Told
from primsplit.export import SplitProgram
from primsplit.programs.plain import arrays_of
from primsplit.runtime import Session
from tests.rules.row import subject_of
from tests.rules.rows import ROWS
from tests.rules.test_dtypes import is_differentiated, rounded

ROOT = Path(__file__).resolve().parents[2]
Arrays = dict[str, np.ndarray[Any, Any]]
Exported = tuple[str, SplitProgram, list[Any]]
"""What a file is called, its program, and the arguments of the function."""


def main() -> None:
    """Write the folder, and tell how many files it has."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--named", default="", help="only what is called by this")
    asked = parser.parse_args()
    folder: Path = asked.folder
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    for name, made, arguments in chain(rows("float64"), rows("float32"), models()):
        if asked.named in name:
            written += 1
            write(folder / f"{written:04d}", name, made, arguments)
    print(f"{written} files in {folder}")


def rows(dtype: str) -> Iterator[Exported]:
    """Each row of the table of rules at a point of its domain; in float32 those that hold in every dtype."""
    for row in ROWS:
        subject = subject_of(row)
        if dtype == "float32":
            if not is_differentiated(row):
                continue
            subject = rounded(subject, dtype, wide=False)
        wrt = [i for i, p in enumerate(subject.point) if np.asarray(p).dtype.kind == "f"]
        yield f"{dtype} {row}", subject.split(wrt), list(subject.point)


def models() -> Iterator[Exported]:
    """Each program in `models/`, at its example inputs."""
    for path in sorted((ROOT / "models").glob("*.py")):
        subject = read_subject(str(path), None, None, None, quiet=True, told=Told())
        program = subject.split.program
        yield path.stem, subject.split, list(arrays_of(program, subject.arguments.values))


def write(stem: Path, name: str, made: SplitProgram, arguments: list[Any]) -> None:
    """One file, and what it gives for cotangents that are drawn."""
    random = np.random.default_rng(0)
    values = made.program.session()(*arguments)
    seeds = [] if made.seeded else [values[i] for i in made.split.of]
    cotangents = [np.asarray(random.standard_normal(v.shape)).astype(v.dtype) for v in seeds]
    model = made.joint().to_onnx()
    session = Session(model)
    inputs = dict(zip(session.inputs, map(np.asarray, (*arguments, *cotangents)), strict=True))
    outputs = dict(zip(session.outputs, session.run(inputs), strict=True))
    onnx.save(model, stem.with_suffix(".onnx"))
    told = {"name": name, "inputs": encoded(inputs), "outputs": encoded(outputs)}
    stem.with_suffix(".json").write_text(json.dumps(told))


def encoded(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays as JSON holds them."""
    return {
        name: {
            "dtype": array.dtype.name,
            "shape": array.shape,
            "bytes": base64.b64encode(np.ascontiguousarray(array).tobytes()).decode(),
        }
        for name, array in arrays.items()
    }


if __name__ == "__main__":
    main()

"""Write a folder of exported files with inputs and outputs, for other versions and builds of onnxruntime to run.

    python -m tools.portability.write FOLDER [--named Conv] [--provider cuda] [--dtype float16]   here, from the top
    python tools/portability/run.py FOLDER [--provider cuda]    wherever numpy and an onnxruntime are installed
    node tools/portability/run.mjs FOLDER                       where `npm install onnxruntime-web` was run

A file holds the value and the gradient of a row of `tests/rules/rows.py`, of a loop nest of
`tests/frontends/loops/corpus.py` or of a transform of a small function, in float64 or in float32; or of a program in
`models/`, once as it is, and once with nothing kept for its backward pass. With `--dtype` it is the first three, in
that dtype alone. `N.json` beside `N.onnx` tells what it is, and its inputs and outputs by name: each the dtype, the
shape, and the bytes in base64. Outputs are those of the files for the CPU in the onnxruntime that is installed here,
which the tests compare with differences and with the standard.
"""

import argparse
import base64
import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import numpy as np
import onnx

import primsplit as ps
from primsplit.cli.loaded import read_subject
from primsplit.cli.options import FunctionDerivation, ModelOptions, ModeName
from primsplit.ir.errors import DtypeError
from primsplit.ir.providers import Provider
from primsplit.programs.api import SplitProgram
from primsplit.programs.plain import arrays_of
from primsplit.programs.runtime import Session
from tests.frontends.loops.corpus import CORPUS
from tests.frontends.loops.corpus import Row as Nest
from tests.rules.row import Row, subject_of
from tests.rules.rows import ROWS
from tests.rules.test_dtypes import is_differentiated, rounded

ROOT = Path(__file__).resolve().parents[2]
Arrays = dict[str, np.ndarray[Any, Any]]
Exported = tuple[SplitProgram, list[Any]]
"""A program, and the arguments of the function."""
Entry = tuple[str, Callable[[], Exported | None]]
"""The name of a file, and a function that creates its program; None if the dtype has none."""


def main() -> None:
    """Write the folder, and tell how many files it has."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--named", default="", help="only what is called by this")
    parser.add_argument("--provider", choices=get_args(Provider), default="cpu")
    parser.add_argument("--dtype", choices=("float64", "float32", "float16"))
    asked = parser.parse_args()
    folder: Path = asked.folder
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    dtypes = (asked.dtype,) if asked.dtype else ("float64", "float32")
    policies = () if asked.dtype else (None, "nothing")
    tables = (table(dtype) for dtype in dtypes for table in (rows, nests, transforms))
    for name, make in chain(*tables, *(models(policy) for policy in policies)):
        if asked.named in name and (exported := make()) is not None:
            written += 1
            write(folder / f"{written:04d}", name, *exported, asked.provider)
    print(f"{written} files in {folder}")


def rows(dtype: str) -> Iterator[Entry]:
    """Each row of the table of rules at a point of its domain; in fewer bits those that hold, and compute, there."""
    for row in ROWS:
        yield f"{dtype} {row}", partial(exported_row, row, dtype)


def exported_row(row: Row, dtype: str) -> Exported | None:
    """The value and gradient of a rule."""
    subject = subject_of(row)
    if dtype != "float64":
        if not is_differentiated(row):
            return None
        subject = rounded(subject, dtype, wide=False)
    wrt = [i for i, p in enumerate(subject.point) if np.asarray(p).dtype.kind == "f"]
    try:
        made = subject.split(wrt)
        made.joint().to_onnx()
    except DtypeError:
        return None
    return made, list(subject.point)


def nests(dtype: str) -> Iterator[Entry]:
    """Each nest of the corpus."""
    for row in CORPUS:
        yield f"{dtype} nest {row.text}", partial(exported_nest, row, dtype)


def exported_nest(row: Nest, dtype: str) -> Exported:
    """A nest with respect to all its floats; sizes are symbols where they may be."""
    nest = ps.loops(row.text)
    axes = dict(zip(row.arrays, row.axes.split(";"), strict=False))
    given = {name: rounded_to(dtype, row.arrays[name]) for name in nest.names}
    arrays = {name: a for name, a in given.items() if isinstance(a, np.ndarray)}
    specs = {name: ps.spec(a.dtype, axes.get(name, "").split() or a.shape) for name, a in arrays.items()}
    wrt = [i for i, a in enumerate(given.values()) if getattr(a, "dtype", np.dtype(int)).kind == "f"]
    made = ps.split(nest, *({**given, **specs}[name] for name in nest.names), wrt=wrt)
    return made, list(arrays.values())


def rounded_to(dtype: str, value: Any) -> Any:
    """An array whose floats are of this dtype; a number as it is."""
    return value.astype(dtype) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value


@ps.checkpoint
def layer(x: Any, w: Any) -> Any:
    """Return a layer that is computed again for its derivative."""
    return np.tanh(np.exp(x @ w) * x)


def energy(x: Any, w: Any) -> Any:
    """Two layers, a loop over the rows, and a branch."""
    deep = layer(layer(x, w), w)
    last, _ = ps.scan(lambda held, row: (np.sin(held) * row, held), deep[0], deep)
    return ps.cond(np.sum(last) > 0, lambda: np.sum(last**2), lambda: np.sum(np.cos(last)))


TRANSFORMS: dict[str, Any] = {
    "value": energy,
    "gradient": ps.grad(energy),
    "jvp": lambda x, w: ps.jvp(lambda x: energy(x, w), (x,), (np.cos(x),)),
    "hvp": lambda x, w: ps.hvp(energy)(x, w, np.cos(x)),
    "vmap": lambda x, w: ps.vmap(lambda x: energy(x, w))(np.stack([x, 0.5 * x])),
    "gradient of each": lambda x, w: ps.vmap(ps.grad(energy), in_axes=(0, None))(np.stack([x, 0.5 * x]), w),
}


def transforms(dtype: str) -> Iterator[Entry]:
    """Transforms of a function with a checkpoint, a loop and a branch."""
    for name, function in TRANSFORMS.items():
        yield f"{dtype} {name} of energy", partial(exported_transform, function, dtype)


def exported_transform(function: Any, dtype: str) -> Exported:
    """The value and gradient of a transform, of any number of rows."""
    random = np.random.default_rng(6)
    x, w = (rounded_to(dtype, 0.5 * random.standard_normal(shape)) for shape in ((5, 3), (3, 3)))
    return ps.split(function, ps.spec(dtype, ["N", 3]), w), [x, w]


def models(policy: str | None) -> Iterator[Entry]:
    """Each program in `models/`."""
    for path in sorted((ROOT / "models").glob("*.py")):
        yield path.stem if policy is None else f"{path.stem} by {policy}", partial(exported_model, path, policy)


def exported_model(path: Path, policy: str | None) -> Exported:
    """A program at its example inputs; one with states gives the states that come next."""
    policies = None if policy is None else [policy]
    asked = FunctionDerivation(policy=policies, mode=ModeName.GRADIENT)
    subject = read_subject(str(path), asked, ModelOptions(), quiet=True)
    return subject.split, list(arrays_of(subject.split.program, subject.arguments.values))


def write(stem: Path, name: str, made: SplitProgram, arguments: list[Any], provider: Provider) -> None:
    """One file, and what it gives for cotangents that are drawn."""
    random = np.random.default_rng(0)
    values = made.program.session()(*arguments)
    seeds = [] if made.seeded else [values[i] for i in made.split.of]
    cotangents = [np.asarray(random.standard_normal(v.shape)).astype(v.dtype) for v in seeds]
    joint = made.joint()
    session = Session(joint.to_onnx())
    inputs = dict(zip(session.inputs, map(np.asarray, (*arguments, *cotangents)), strict=True))
    outputs = dict(zip(session.outputs, session.run(inputs), strict=True))
    onnx.save(joint.to_onnx(provider), stem.with_suffix(".onnx"))
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

"""The corpus of `tools/same_files.py`: entries by part and name, each a function that writes files into a folder."""

import functools
import hashlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import primsplit as ps
from primsplit.ir.errors import PrimsplitError
from tools.same.plugin import name_of
from tools.same.sessions import kept_in

Entry = Callable[[Path], object]
ROOT = Path(__file__).parents[2]
MODES = ("gradient", "jvp", "linearize", "hvp", "jacobian", "hessian", "value")
FORMS = ("joint", "split", "functions")
SAMPLED = 200
"""The number of node cases, and of tests, that are taken."""


def sample(names: Iterable[str], count: int = SAMPLED) -> list[str]:
    """Some of the names, chosen by their digests: new names change little of the choice."""
    return sorted(sorted(names, key=lambda name: hashlib.sha256(name.encode()).hexdigest())[:count])


def models() -> dict[str, Entry]:
    """Each model in each mode, its gradient in each form, and its audit, by the command line."""
    found: dict[str, Entry] = {}
    for path in sorted((ROOT / "models").glob("*.py")):
        name = f"models/{path.name}"
        for mode in MODES:
            for form in FORMS if mode in {"gradient", "linearize"} else FORMS[:1]:
                line = ["export", name, "--mode", mode, "--form", form, "--onnx"]
                found[f"{path.stem} {mode} {form}"] = partial(_command, line)
        found[f"{path.stem} audit"] = partial(_command, ["audit", name])
    return found


def _command(line: Sequence[str], folder: Path) -> None:
    """Run a command of the command line in the checkout; its words and its files are kept."""
    import typer.main

    from primsplit.cli.app import app

    given = [*line, str(folder / "out.onnx")] if line[-1] == "--onnx" else list(line)
    out = io.StringIO()
    os.chdir(ROOT)
    with redirect_stdout(out), redirect_stderr(out):
        try:
            typer.main.get_command(app)(given, prog_name="primsplit")
        except SystemExit as end:
            print("status", end.code)
    words = out.getvalue().replace(str(folder), "FOLDER").replace(str(ROOT), "ROOT")
    (folder / "words.txt").write_text(re.sub(r"\d+\.\d+ s\b", "SECONDS", words))


def networks() -> dict[str, Entry]:
    """The light networks, by their image alone and by image and weights."""
    from tests.networks import NAMES

    return {f"{name} by {by}": partial(_network, name, by) for name in NAMES for by in ("image", "all")}


def _network(name: str, by: str, folder: Path) -> None:
    from tests.networks import learned, light_network

    model = light_network(name)
    onnx.save(model, folder / "network.onnx")
    image = model.graph.input[0].name
    program = ps.load(str(folder / "network.onnx"))
    _write_split(ps.split(program, wrt=[image] if by == "image" else [image, *learned(model)]), folder)


def nodes() -> dict[str, Entry]:
    """Node cases of onnx's backend tests."""
    cases = _node_cases()
    return {name: partial(_node, name) for name in sample(cases)}


@functools.cache
def _node_cases() -> Mapping[str, Any]:
    from tools.node_cases import node_cases

    return {case.name: case for case in node_cases(None, "")}


def _node(name: str, folder: Path) -> None:
    case = _node_cases()[name]
    try:
        program = case.load(folder / "model.onnx", case.model)
        (folder / "program.txt").write_text(program.listing())
        _write_split(ps.split(program), folder)
    except PrimsplitError as error:
        (folder / "refused.txt").write_text(str(error).replace(str(folder), "FOLDER"))


def _write_split(made: Any, folder: Path) -> None:
    """A split as listings, as Python, and as its files."""
    (folder / "split.txt").write_text(made.listing())
    (folder / "split.py.txt").write_text(made.listing("python"))
    for form in FORMS:
        made.save(str(folder / f"{form}.onnx"), form)


def benches() -> dict[str, Entry]:
    """Return the benches' entries: the models that onnxruntime runs."""
    from tools.bench import densities, fixed, loops, nests, per_example

    random = np.random.default_rng(0)
    found: dict[str, Callable[[], object]] = {}
    for name, bench in fixed.BENCHES.items():
        found[f"fixed {name}"] = partial(fixed.ours, bench, 1)
    for dtype in ("float64", "float32"):
        for name, (density, count, arrays) in densities.cases(dtype).items():
            found[f"density {name} {dtype}"] = partial(_density, density, count, arrays)
    for name, nest in nests.BENCHES.items():
        arrays = [random.standard_normal(shape) for shape in nest.shapes]
        found[f"nest {name}"] = partial(_nest, nest.text, arrays)
    for name, sizes in per_example.SIZES.items():
        found[f"per example {name}"] = partial(per_example.ours, *per_example.data(sizes, 16), 1, only_norms=False)
    found["lstm"] = lambda: loops.lstm_ours(loops.lstm_data(), 1)
    return {name: partial(_sessions_of, call) for name, call in found.items()}


def _density(density: Any, count: int, arrays: Sequence[Any]) -> None:
    ps.split(lambda *a: density(np, *a), *arrays, wrt=range(count)).joint().session()


def _nest(text: str, arrays: Sequence[Any]) -> None:
    ps.split(ps.loops(text), *arrays).joint().session()


def _sessions_of(call: Callable[[], object], folder: Path) -> None:
    with kept_in(folder):
        call()


def tests() -> dict[str, Entry]:
    """Programs of the tests, through the doors that the tests use. An entry is a part of the tests: one process."""
    parts: dict[str, list[str]] = {}
    for place in _collected():
        parts.setdefault(name_of(place)[-1], []).append(place)
    return {part: partial(_tests, places) for part, places in parts.items()}


def _collected() -> list[str]:
    line = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-o", "addopts=", "-m", "not slow"]
    found = subprocess.run(
        [*line, "--import-mode=importlib", "-p", "no:cacheprovider"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    places = {name_of(line): line for line in found.splitlines() if "::" in line}
    return [places[name] for name in sample(places)]


def _tests(names: Sequence[str], folder: Path) -> None:
    line = [sys.executable, "-m", "pytest", "-q", "-p", "tools.same.plugin", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(
        [*line, *names],
        cwd=ROOT, env={**os.environ, "SAME_FILES": str(folder)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode > 1:  # 1 is for tests that fail, which wrote files all the same
        raise RuntimeError(f"pytest ends with {done.returncode}: {done.stdout[-2000:]}")


PARTS: Mapping[str, Callable[[], dict[str, Entry]]] = {
    "models": models, "networks": networks, "nodes": nodes, "benches": benches, "tests": tests,
}  # fmt: skip

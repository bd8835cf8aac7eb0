"""Run the smallest model of each fault in several versions of onnxruntime, and tell in which it shows.

    python -m tools.runtime_faults 1.20.1 1.31.1      install these versions apart, and run every model in them
    python -m tools.runtime_faults --installed        in the installed version
    python -m tools.runtime_faults 1.20.1 --only NAME one fault; --only may be repeated
    python -m tools.runtime_faults 1.20.1 --write     add what was found to tools/runtime_faults.json

A model is "right", "wrong", "refuses" (it is not loaded, or its run fails), "aborts" (the process ends) or "hangs". The
models are in `tools/fault_models/`, the records of faults beside the code that works around them.

Memory is filled with a pattern when it is taken, so that a result that nobody writes to shows.
"""

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

RESULTS = Path(__file__).with_suffix(".json")
ROOT = Path(__file__).parent.parent
LONGEST = 60.0
"""Seconds after which a model hangs."""
MEMORY = {"MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
"""Settings by which the C library fills memory when it is taken and when it is freed, also memory that it keeps."""


def main(arguments: Sequence[str]) -> int:
    """Run the models; 0 where all went well."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("versions", nargs="*", help="versions of onnxruntime, such as 1.20.1")
    parser.add_argument("--installed", action="store_true", help="run them in the installed version too")
    parser.add_argument("--only", action="append", metavar="NAME", help="the fault of this name alone; repeat")
    parser.add_argument("--folder", default=os.path.join(tempfile.gettempdir(), "onnxruntimes"), help="installed to")
    parser.add_argument("--write", action="store_true", help=f"add the results to {RESULTS.name}")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.child:
        run_here(asked.only)
        return 0
    names = asked.only or _names()
    found: dict[str, dict[str, str]] = {}
    for version in ([installed()] if asked.installed else []) + asked.versions:
        folder = None if version == installed() else install(version, Path(asked.folder))
        found[version] = run_apart(names, folder)
        for name, what in found[version].items():
            print(f"{version:8} {what:8} {name}", flush=True)
    if asked.write:
        write(found)
    return 0


def _names() -> list[str]:
    from tools.fault_models import MODELS

    return sorted(MODELS)


def installed() -> str:
    """The version of the installed onnxruntime."""
    import importlib.metadata

    return importlib.metadata.version("onnxruntime")


def install(version: str, folder: Path) -> Path:
    """Install a version of onnxruntime alone into a folder of its own; the folder."""
    place = folder / version
    if not (place / "onnxruntime").exists():
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(place)]
        subprocess.run([*command, f"onnxruntime=={version}"], check=True)
    return place


def run_apart(names: Iterable[str], folder: Path | None = None) -> dict[str, str]:
    """Return what each model does in a folder's onnxruntime, or the installed one, by the name of its fault.

    They run in a process of their own; where a model ends it, or hangs, another goes on with the next.
    """
    rest, found = list(names), dict[str, str]()
    while rest:
        done = _run_until_it_ends(rest, folder)
        found.update(done)
        rest = [name for name in rest if name not in found]
    return found


def _run_until_it_ends(names: Sequence[str], folder: Path | None) -> dict[str, str]:
    paths = [str(folder)] if folder else []
    changed = {"PYTHONPATH": os.pathsep.join([*paths, str(ROOT)]), **MEMORY}
    only = [word for name in names for word in ("--only", name)]
    command = [sys.executable, "-m", "tools.runtime_faults", "--child", *only]
    errors = None if os.environ.get("SHOW") else subprocess.DEVNULL
    environment = {**os.environ, **changed}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=errors
    ) as child:
        found: dict[str, str] = {}
        assert child.stdout is not None
        child.stdout.readline()
        for name in names:
            if not select.select([child.stdout], [], [], LONGEST)[0]:
                child.kill()
                return {**found, name: "hangs"}
            line = child.stdout.readline().split()
            if not line:
                return {**found, name: "aborts"}
            found[line[0]] = line[1]
        return found


def run_here(names: Iterable[str]) -> None:
    """Run models in this process, and print what each does on a line of its own."""
    import numpy as np
    import onnxruntime

    from tools.fault_models import MODELS

    onnxruntime.set_default_logger_severity(4)
    print("ready", flush=True)
    for name in names:
        model = MODELS[name]
        options = onnxruntime.SessionOptions()
        options.enable_cpu_mem_arena = False
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        for key, value in model.options.items():
            setattr(options, key, value)
        try:
            proto = model.proto().SerializeToString()
            session = onnxruntime.InferenceSession(proto, options, providers=["CPUExecutionProvider"])
            given = {key: np.asarray(value) for key, value in model.given.items()}
            runs = [session.run(None, given) for _ in range(model.runs)]
        except Exception as error:  # noqa: BLE001  # onnxruntime raises classes that share no ancestor of its own
            print(name, "refuses", flush=True)
            print(name, str(error)[:300], file=sys.stderr, flush=True)
            continue
        is_right = all(map(model.is_right, runs))
        print(name, "right" if is_right else "wrong", flush=True)
        if not is_right:
            print(name, runs[0], file=sys.stderr, flush=True)


def write(found: Mapping[str, Mapping[str, str]]) -> None:
    """Add results to the table of them, by fault, then version."""
    held = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for version, results in found.items():
        for name, what in results.items():
            held.setdefault(name, {})[version] = what
    ordered = {name: dict(sorted(held[name].items(), key=lambda row: _numbers(row[0]))) for name in sorted(held)}
    RESULTS.write_text(json.dumps(ordered, indent=1) + "\n")


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

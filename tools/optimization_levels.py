"""Run a script or module, and compare each file that it loads into onnxruntime with itself unoptimized.

    python -m tools.optimization_levels [--save FOLDER] -m tools.node_sweep --mode jvp
    python -m tools.optimization_levels -m primsplit check models/predator_prey.py --mode hvp
    python -m tools.optimization_levels tools/portability/run.py FOLDER

Every session's first `run` is repeated where nothing is optimized. A line for each that gives other numbers, or that
loads or runs in one of the two only, with the first level that does so and what was running; then the counts. It exits
with 1 where there is such a line, else as the script does. With `--save` the files are kept, with their inputs. NumPy
and onnxruntime are all that is needed.
"""

import argparse
import collections
import os
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnxruntime import InferenceSession as Session

Level = onnxruntime.GraphOptimizationLevel
LEVELS = {"basic": Level.ORT_ENABLE_BASIC, "extended": Level.ORT_ENABLE_EXTENDED, "all": Level.ORT_ENABLE_ALL}
TOLERANCES = {"float64": 1e-12, "float32": 2e-5, "float16": 2e-2}
"""The largest difference of an output, in parts of its largest element: a fusion may round otherwise."""
ULPS = 16
"""The largest difference in units in the last place of the largest element of any output: terms may cancel."""


class Report:
    """The results: `counts` by word. Files that differ are saved to the folder, if there is one."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.counts = collections.Counter({"compared": 0, "different": 0})

    def tell(self, source: str | bytes, feeds: Mapping[str, Any], text: str) -> None:
        """Print a line, and keep the file and its inputs."""
        self.counts["different"] += 1
        where = os.environ.get("PYTEST_CURRENT_TEST", " ".join(sys.argv))
        kept = ""
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / f"{self.counts['different']:04d}.onnx"
            path.write_bytes(Path(source).read_bytes() if isinstance(source, str) else source)
            arrays: dict[str, Any] = {name: np.asarray(value) for name, value in feeds.items()}
            np.savez(path.with_suffix(".npz"), **arrays)
            kept = f"{path.name} "
        print(f"different: {kept}{text}\n  in {where}", flush=True)


@contextmanager
def watched(report: Report) -> Iterator[None]:
    """Inside, a session that is made compares its first run with that of one at ORT_DISABLE_ALL."""

    class Watched(Session):  # type: ignore[misc]  # onnxruntime has no types
        """A session and what it was made of, until its first run."""

        def __init__(self, source: Any, sess_options: Any = None, *more: Any, **keywords: Any) -> None:
            self.first: Comparison | None = None
            options = sess_options or onnxruntime.SessionOptions()
            made = Comparison(report, source, options, keywords.get("providers"))
            try:
                super().__init__(source, options, *more, **keywords)
            except Exception as error:
                made.not_loaded(error)
                raise
            if options.graph_optimization_level != Level.ORT_DISABLE_ALL:
                self.first = made

        def run(self, names: Any, feeds: Any, *more: Any) -> Any:
            made, self.first = self.first, None
            if made is None:
                return super().run(names, feeds, *more)
            return made.run(lambda: super(Watched, self).run(names, feeds, *more), names, feeds)

    onnxruntime.InferenceSession = Watched
    try:
        yield
    finally:
        onnxruntime.InferenceSession = Session


class Comparison:
    """One file, as it was to be loaded."""

    def __init__(self, report: Report, source: str | bytes, options: Any, providers: Any) -> None:
        self.report, self.source, self.options, self.providers = report, source, options, providers

    def loaded(self, level: Any) -> Any:
        """A session at this level, which no one watches."""
        asked = self.options.graph_optimization_level
        self.options.graph_optimization_level = level
        try:
            return Session(self.source, self.options, providers=self.providers)
        finally:
            self.options.graph_optimization_level = asked

    def at(self, level: Any, names: Any, feeds: Any) -> Any:
        """The outputs at this level, or the error of loading or running."""
        return caught(lambda: self.loaded(level).run(names, feeds))

    def not_loaded(self, error: Exception) -> None:
        """Tell of a file that loads where nothing is optimized, and only there."""
        if not isinstance(caught(lambda: self.loaded(Level.ORT_DISABLE_ALL)), Exception):
            self.report.tell(self.source, {}, f"loads only unoptimized: {brief(error)}")

    def run(self, run: Any, names: Any, feeds: Any) -> Any:
        """The run's outputs or error, compared."""
        self.report.counts["compared"] += 1
        found = caught(run)
        plain = self.at(Level.ORT_DISABLE_ALL, names, feeds)
        told = difference(plain, found)
        if told:
            differing = (name for name, level in LEVELS.items() if difference(plain, self.at(level, names, feeds)))
            self.report.tell(self.source, feeds, f"from level {next(differing, 'all')} on {told}")
        if isinstance(found, Exception):
            raise found
        return found


def caught(made: Callable[[], Any]) -> Any:
    """Return the result of a call, or its error."""
    try:
        return made()
    except Exception as error:  # noqa: BLE001  # onnxruntime's errors share no ancestor of their own
        return error


def difference(plain: Any, found: Any) -> str:
    """Return the difference of outputs, or of an error, from those of the unoptimized file; an empty text for none."""
    if isinstance(plain, Exception) or isinstance(found, Exception):
        if isinstance(plain, Exception) and isinstance(found, Exception):
            return ""
        return f"runs: {brief(plain)}" if isinstance(plain, Exception) else f"fails: {brief(found)}"
    arrays = [(i, a, b) for i, (a, b) in enumerate(zip(plain, found, strict=True)) if isinstance(a, np.ndarray)]
    largest = max((_largest(a) for _, a, _ in arrays), default=0)
    told = ((i, _of_arrays(a, b, largest)) for i, a, b in arrays)
    return next((f"output {i} {words}" for i, words in told if words), "")


def _of_arrays(plain: np.ndarray[Any, Any], found: np.ndarray[Any, Any], largest: float) -> str:
    """Return the difference of an output in words, where `largest` is the largest element of any."""
    if plain.shape != found.shape or plain.dtype != found.dtype:
        return f"is {found.dtype}{list(found.shape)}, not {plain.dtype}{list(plain.shape)}"
    if plain.dtype.name not in TOLERANCES:
        return "" if np.array_equal(plain, found) else f"has other elements of {plain.dtype}"
    finite = np.isfinite(plain)
    if not np.array_equal(plain[~finite], found[~finite], equal_nan=True):
        return f"has other NaN or infinite elements among {plain.size}"
    own = _largest(plain)
    far = np.max(np.abs(plain[finite].astype(np.float64) - found[finite]), initial=0)
    within = far <= max(TOLERANCES[plain.dtype.name] * own, ULPS * np.finfo(plain.dtype).eps * largest)
    return "" if within else f"({plain.dtype}) is off by {far:.2g}, its largest element {own:.2g}"


def _largest(array: np.ndarray[Any, Any]) -> float:
    """The largest magnitude of a finite element of floats; 0 where there is none."""
    if array.dtype.name not in TOLERANCES:
        return 0
    return float(np.max(np.abs(array[np.isfinite(array)].astype(np.float64)), initial=0))


def brief(error: Exception) -> str:
    """The last words of an error."""
    return " ".join(str(error).split())[-200:]


def run(command: Sequence[str], *, is_module: bool) -> int:
    """Run a script, or a module, as Python would; its exit code."""
    sys.argv[:] = command
    sys.path.insert(0, os.getcwd() if is_module else str(Path(command[0]).resolve().parent))
    try:
        if is_module:
            runpy.run_module(command[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(command[0], run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def main() -> int:
    """Run what the command line says; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="where files that differ are kept")
    parser.add_argument("-m", dest="is_module", action="store_true", help="the command is a module's name")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="a script, or a module's name, and its arguments")
    asked = parser.parse_args()
    report = Report(asked.save)
    with watched(report):
        code = run(asked.command, is_module=asked.is_module)
    print(f"onnxruntime {onnxruntime.__version__}, against no optimization: {dict(report.counts)}")
    return code or int(report.counts["different"] > 0)


if __name__ == "__main__":
    sys.exit(main())

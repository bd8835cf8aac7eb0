"""Run the tests nearest to a changed module in a copy of the tree."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tools.mutating.changes import Change
from tools.mutating.nearest import nearest_tests

Outcome = Literal["killed", "survived", "timed out", "untested"]
NO_TESTS = 5
"""The status of pytest where it has run none."""
SLACK = 20.0
"""So many seconds more than three times as long as in the run before, a file of tests may take."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a mutant: at most `files` of tests, no further one after `seconds`, none longer than `seconds`."""

    files: int = 8
    seconds: float = 60.0


@dataclass(slots=True)
class Copy:
    """A copy of a tree, in which one module at a time is changed."""

    root: Path
    limits: Limits
    took: dict[Path, float] = field(default_factory=dict)
    """The seconds that a file of tests took when it passed."""
    written: int = 0

    @classmethod
    def of(cls, tree: Path, root: Path, limits: Limits) -> "Copy":
        """Copy a tree, but for hidden folders and caches."""
        shutil.copytree(tree, root, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        return cls(root, limits)

    def outcome(self, module: Path, change: Change) -> Outcome:
        """Run the tests nearest to a module with a change of it, file by file, until one fails.

        What failed is run again without the change: a file that fails then too, or takes too long, says nothing.
        """
        source = (self.root / module).read_text()
        found: Outcome = "untested"
        begin = time.monotonic()
        for path in nearest_tests(self.root, module, self.limits.files):
            self._write(module, change.of(source))
            try:
                status = self._tested(path, "--cache-clear")
            finally:
                self._write(module, source)
            if status == 0:
                found = "survived"
            elif status != NO_TESTS and self._tested(path, "--last-failed") == 0:
                return "timed out" if status is None else "killed"
            if time.monotonic() - begin > self.limits.seconds:
                break
        return found

    def _tested(self, path: Path, option: str) -> int | None:
        """Return the status of a file of tests, None where it takes too long."""
        limit = SLACK + 3 * self.took[path] if path in self.took else max(SLACK, self.limits.seconds)
        begin = time.monotonic()
        status = self._run(path, option, limit)
        if status == 0 and option != "--last-failed":
            self.took[path] = time.monotonic() - begin
        return status

    def _write(self, module: Path, text: str) -> None:
        """Write a module, with a time that no version of it had before: bytecode is kept by size and second."""
        self.written += 1
        (self.root / module).write_text(text)
        os.utime(self.root / module, (self.written, self.written))

    def _run(self, path: Path, option: str, limit: float) -> int | None:
        """Return the status of pytest, None where it takes longer."""
        line = [sys.executable, "-m", "pytest", "-x", "-q", option, str(path)]
        environment = {**os.environ, "PYTHONPATH": str(self.root), "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        process = subprocess.Popen(
            line,
            cwd=self.root,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None

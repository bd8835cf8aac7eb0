"""Run the tests of changed modules in a copy of the tree."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tools.mutating.changes import Change
from tools.mutating.nearest import nearest_tests

Outcome = Literal["killed", "survived", "timed out", "untested"]
NO_TESTS = 5
"""The status of pytest where it has run none."""
SLACK = 20.0
"""So many seconds more than three times as long as without the change, tests may take."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a mutant: at most `files` of tests, as long as they take `seconds` without the change."""

    files: int = 8
    seconds: float = 60.0


@dataclass(slots=True)
class Copy:
    """A copy of a tree, in which one module at a time is changed."""

    root: Path
    limits: Limits
    took: dict[Path, float | None] = field(default_factory=dict)
    """The seconds that a file of tests takes without a change; None where it fails or has no tests."""
    written: int = 0

    @classmethod
    def of(cls, tree: Path, root: Path, limits: Limits) -> "Copy":
        """Copy a tree, but for hidden folders and caches."""
        shutil.copytree(tree, root, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        return cls(root, limits)

    def outcome(self, module: Path, change: Change) -> Outcome:
        """Run the tests nearest to a module with a change of it."""
        tests = self.tests_of(module)
        if not tests:
            return "untested"
        source = (self.root / module).read_text()
        self._write(module, change.of(source))
        try:
            status = self._run(tests, SLACK + 3 * sum(self.took[t] or 0.0 for t in tests))
        finally:
            self._write(module, source)
        if status is None:
            return "timed out"
        return "survived" if status in {0, NO_TESTS} else "killed"

    def tests_of(self, module: Path) -> list[Path]:
        """Return the nearest tests that pass without a change, as many as the limits allow, but at least one."""
        found: list[Path] = []
        left = self.limits.seconds
        for path in nearest_tests(self.root, module, self.limits.files):
            took = self._took(path)
            if took is not None and (not found or took <= left):
                found.append(path)
                left -= took
        return found

    def _took(self, path: Path) -> float | None:
        if path not in self.took:
            begin = time.monotonic()
            status = self._run([path], 4 * self.limits.seconds)
            self.took[path] = time.monotonic() - begin if status == 0 else None
        return self.took[path]

    def _write(self, module: Path, text: str) -> None:
        """Write a module, with a time that no version of it had before: bytecode is kept by size and second."""
        self.written += 1
        (self.root / module).write_text(text)
        os.utime(self.root / module, (self.written, self.written))

    def _run(self, tests: Sequence[Path], limit: float) -> int | None:
        """Return the status of pytest, None where it takes longer."""
        line = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *map(str, tests)]
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

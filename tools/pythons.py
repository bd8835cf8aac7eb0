"""Run the tests that depend on the version of Python with other versions.

    python -m tools.pythons                        with every Python from 3.11 on that is found, each in a folder apart
    python -m tools.pythons /opt/python3.13        with this one
    python -m tools.pythons --tests tests/docs     these tests

For each Python a virtual environment with the newest libraries is made, and kept for the next time. The exit code is 1
where a test fails, or where no Python is found.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTS = ("tests/frontends/python", "tests/tracing", "tests/programs", "tests/docs/test_conversion.py")
"""The tests of converted functions, of recording, of programs and of the page of what converts."""
OLDEST, NEWEST = 11, 15


def main(arguments: Sequence[str]) -> int:
    """Run the tests; 0 where all pass."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pythons", nargs="*", help="paths of interpreters")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="what pytest is given")
    parser.add_argument("--folder", default=os.path.join(tempfile.gettempdir(), "pythons"), help="of the environments")
    asked = parser.parse_args(arguments)
    tried = {version_of(path): path for path in asked.pythons or found()}
    failed = not tried
    for version, path in tried.items():
        done = tested(environment(path, Path(asked.folder) / version), asked.tests)
        failed = failed or done.returncode != 0
        print(f"{version:8} {told(done.stdout)}", flush=True)
    return int(failed)


def found() -> list[str]:
    """The interpreters on the path and those of pyenv, one of each version from 3.11 on."""
    names = [f"python3.{minor}" for minor in range(OLDEST, NEWEST + 1)]
    on_path = [path for name in names if (path := shutil.which(name)) is not None and runs(path)]
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    of_pyenv = [str(path) for name in names for path in sorted(root.glob(f"*/bin/{name}"))]
    by_minor = {version_of(path).rpartition(".")[0]: path for path in [*of_pyenv, *on_path]}
    return [by_minor[minor] for minor in sorted(by_minor)]


def runs(python: str) -> bool:
    """Whether an interpreter can be started."""
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def version_of(python: str) -> str:
    """The version of an interpreter: "3.13.0"."""
    asked = "import platform; print(platform.python_version())"
    return subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()


def environment(python: str, folder: Path) -> str:
    """The interpreter of a virtual environment with the package's libraries; it is made where there is none."""
    made = folder / "bin" / "python"
    if not (folder / "is_complete").exists():
        subprocess.run([python, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(made), "-m", "pip", "install", "-q", "-e", f"{ROOT}[test]"], check=True)
        (folder / "is_complete").touch()
    return str(made)


def tested(python: str, tests: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Run the tests."""
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", *tests]
    names = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=names, capture_output=True, text=True, check=False)


def told(output: str) -> str:
    """The tests that fail, or how many pass."""
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", output, flags=re.MULTILINE)
    return f"{len(failed)} fail: {' '.join(failed)}" if failed else output.strip().rpartition("\n")[2]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""tools/pythons.py runs the tests with other Pythons; here these are scripts that answer as Python does."""

from pathlib import Path

import pytest

from tools import pythons

SCRIPT = """#!/bin/sh
case "$2" in
  "") ;;
  *version*) echo {version} ;;
  pytest) echo "{told}"; exit {status} ;;
esac
"""


def python(path: Path, version: str, told: str = "", status: int = 0) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SCRIPT.format(version=version, told=told, status=status))
    path.chmod(0o755)
    return str(path)


def test_each_python_is_told_with_what_passes_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = {"3.12.1": ("7 passed in 1.00s", 0), "3.13.0": ("FAILED tests/a.py::b - error", 1)}
    given = [python(tmp_path / f"python-{version}", version) for version in runs]
    for version, (told, status) in runs.items():
        python(tmp_path / version / "bin" / "python", version, told, status)
        (tmp_path / version / "is_complete").touch()
    assert pythons.main([*given, "--folder", str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["3.12.1   7 passed in 1.00s", "3.13.0   1 fail: tests/a.py::b"]
    assert pythons.main([given[0], "--folder", str(tmp_path)]) == 0


def test_pythons_of_the_path_go_before_those_of_pyenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path = python(tmp_path / "bin" / "python3.12", "3.12.9")
    python(tmp_path / "versions" / "3.12.1" / "bin" / "python3.12", "3.12.1")
    of_pyenv = python(tmp_path / "versions" / "3.13.0" / "bin" / "python3.13", "3.13.0")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin")
    monkeypatch.setattr(pythons, "OLDEST", 12)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert pythons.found() == [on_path, of_pyenv]


def test_where_there_is_no_python_the_command_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert pythons.main(["--folder", str(tmp_path)]) == 1

"""The command line called in this process, and model files to call it on."""

import json
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from primsplit.cli import app


@dataclass(frozen=True)
class Answer:
    """The status, output and errors of a command."""

    status: int
    out: str
    error: str

    @property
    def json(self) -> Any:
        """Its standard output, read."""
        return json.loads(self.out)


@pytest.fixture
def primsplit(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """A function that runs the command line on its arguments."""
    monkeypatch.delenv("PRIMSPLIT_TRACEBACK", raising=False)

    def run(*arguments: Any) -> Answer:
        found = CliRunner().invoke(app, [str(a) for a in arguments])
        return Answer(found.exit_code, found.stdout, found.stderr)

    return run


@pytest.fixture
def model(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes a model file."""

    def write(text: str, name: str = "model.py") -> Path:
        path = tmp_path / name
        path.write_text(textwrap.dedent(text).lstrip("\n"))
        return path

    return write

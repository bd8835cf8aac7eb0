"""The examples of the page about audits: its commands, run on its files, print what it shows."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from primsplit.cli import app
from tests.registered import only_here

PAGE = Path(__file__).parents[2] / "docs" / "audit.md"
FILE = re.compile(r"^```python\n# (\w+\.py)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
STEPS = re.compile("--output|--check")
COMMAND = re.compile(r"^```console\n\$ primsplit (.*?)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
MODULE = re.compile(r"^```python\nimport numpy as np\n\n\n(@np.errstate.*?)^```$", flags=re.DOTALL | re.MULTILINE)
CHANGED = re.compile(r"`([^`]*)`\s+became\s+`([^`]*)`\s+in\s+`(\w+\.py)`")
SECOND = re.compile(r"^After `(.*?)` became `(.*?)` in a second file", flags=re.MULTILINE)
DIGEST = re.compile(r"\b[0-9a-f]{16}\b")
NUMBER = re.compile(r"-?\d+(\.\d+)?e?[-+]?\d*|nan|inf")


def commands() -> list[tuple[str, str]]:
    """The commands of the page with what they print, but those that need what another one has written."""
    return [(command, shown) for command, shown in COMMAND.findall(PAGE.read_text()) if not STEPS.search(command)]


def write_files(folder: Path) -> None:
    """Write the Python files of the page, and those that are one of them with a change that the page tells of."""
    page = PAGE.read_text()
    files = dict(FILE.findall(page))
    changes = [*((*change, "new.py") for change in SECOND.findall(page)), *CHANGED.findall(page)]
    for before, after, name in changes:
        text = next(text for text in files.values() if before in text)
        files[name] = text.replace(before, after)
    for name, text in files.items():
        (folder / name).write_text(f"# {name}\n{text}")


def plain(text: str) -> list[list[str]]:
    """The words of each line; numbers and digests are left out, and what draws lines in tables."""
    return [
        words
        for line in text.splitlines()
        if (words := NUMBER.sub("#", DIGEST.sub("#", line.replace("─", ""))).split())
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("command", "shown"), commands(), ids=[command for command, _ in commands()])
def test_a_command_of_the_page_prints_what_the_page_shows(
    command: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    with only_here():
        found = CliRunner().invoke(app, command.split())
    assert found.stdout, found.stderr
    assert plain(found.stdout) == plain(shown)


def test_the_module_of_the_page_is_the_one_that_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    (shown,) = MODULE.findall(PAGE.read_text())
    with only_here():
        found = CliRunner().invoke(app, ["audit", "new.py", "--style", "numpy", "--output", "new_numpy.py"])
    assert found.exit_code == 0, found.stderr
    assert shown in (tmp_path / "new_numpy.py").read_text()

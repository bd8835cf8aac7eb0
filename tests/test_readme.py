"""The pages are true: their Python runs from top to bottom and prints what they show, and the files they name exist."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.registered import only_here

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", flags=re.DOTALL | re.MULTILINE)
ENDING_IN_ERRORS = ROOT / "docs" / "errors.md"
"""Its programs raise: tests/docs/test_errors.py runs them."""
FOLDERS = ("docs", "models", "primsplit", "tests", "tools")
ROOMS = tuple(path.name for path in (ROOT / "primsplit").iterdir() if path.is_dir())


def _id(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """The Python blocks of a page, each with the text that stands right below it."""
    return BLOCK.findall(page.read_text())


def run(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the blocks of a page, one after the other in one namespace, in the current folder."""
    names: dict[str, Any] = {"__name__": page.stem}
    for number, (block, shown) in enumerate(blocks_of(page)):
        source = Path.cwd() / f"block_{number}.py"
        source.write_text(block)
        exec(compile(block, str(source), "exec"), names)
        printed = capsys.readouterr().out
        if shown:
            assert _without_places(printed) == _without_places(shown)


def _without_places(listing: str) -> list[str]:
    """The lines of a listing, without the lines of the program that they come from."""
    return [re.split(" # (?:model|block_)", line)[0].rstrip() for line in listing.strip().splitlines()]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page) and page != ENDING_IN_ERRORS], ids=_id)
def test_the_python_of_a_page_runs_and_prints_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with only_here():
        run(page, capsys)


def test_a_page_that_shows_something_else_than_it_prints_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n")
    with pytest.raises(AssertionError):
        run(page, capsys)


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    """A path in backticks starts at the root, or at the package (`rules/forward.py`)."""
    for name in re.findall(r"`([\w./-]+/[\w./-]*)`", page.read_text()):
        first = name.split("/")[0]
        if first in FOLDERS:
            assert (ROOT / name).exists(), name
        elif first in ROOMS:
            assert (ROOT / "primsplit" / name).exists(), name


def test_the_pages_link_to_pages_that_are_there() -> None:
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (page.parent / target).exists(), (page.name, target)

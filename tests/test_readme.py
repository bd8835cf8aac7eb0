"""The README and the pages of docs/ are true: their Python runs from top to bottom, and their commands exist."""

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()


def test_the_tour_runs_block_after_block_and_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", TEXT, flags=re.DOTALL)
    assert len(blocks) >= 7
    names: dict[str, Any] = {"__name__": "tour"}
    for number, (block, shown) in enumerate(blocks):
        source = tmp_path / f"block_{number}.py"
        source.write_text(block)
        exec(compile(block, str(source), "exec"), names)
        printed = capsys.readouterr().out
        if shown:
            assert _without_places(printed) == _without_places(shown)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": page.stem}
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)):
        source = tmp_path / f"block_{number}.py"
        source.write_text(block)
        exec(compile(block, str(source), "exec"), names)


def _without_places(listing: str) -> list[str]:
    """The lines of a listing, without the lines of the program that they come from."""
    return [re.split(" # (?:model|block_)", line)[0].rstrip() for line in listing.strip().splitlines()]


def test_every_file_that_the_readme_names_is_there() -> None:
    for name in re.findall(r"models/\w+\.py", TEXT):
        assert (ROOT / name).exists()

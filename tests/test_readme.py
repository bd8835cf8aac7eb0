"""The README is true: its Python runs from top to bottom, and its commands exist."""

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()


def test_the_tour_runs_block_after_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    assert len(blocks) >= 7
    names: dict[str, Any] = {"__name__": "tour"}
    for number, block in enumerate(blocks):
        source = tmp_path / f"block_{number}.py"
        source.write_text(block)
        exec(compile(block, str(source), "exec"), names)


def test_every_file_that_the_readme_names_is_there() -> None:
    for name in re.findall(r"models/\w+\.py", TEXT):
        assert (ROOT / name).exists()

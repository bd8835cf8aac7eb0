"""The site: each page can be reached from the first one, and no warning is given where Sphinx is installed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def listed(page: Path) -> set[Path]:
    """The pages that a page's tables of contents name."""
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    names = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    return {found for name in names for found in page.parent.glob(f"{name}.md")}


def test_each_page_is_in_a_table_of_contents() -> None:
    first, decisions = DOCS / "index.md", DOCS / "decisions" / "index.md"
    assert listed(first) | listed(decisions) | {first} == set(DOCS.rglob("*.md"))


def test_it_is_built_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("furo", reason="the extra `docs` is not installed")
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-b", "html", str(DOCS), str(tmp_path)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "architecture.html" in (tmp_path / "index.html").read_text()

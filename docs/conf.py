"""The site of these pages: `sphinx-build -W -b html docs build/site`, with the extra `docs`."""

import tomllib
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PAGES = {"ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md", "models/README.md": "examples.md"}
"""Files beside this folder, and the pages that include them."""

project = PROJECT["name"]
version = release = PROJECT["version"]
extensions = ["myst_parser"]
exclude_patterns = ["conf.py", "from_scratch.py"]
html_theme = "furo"
html_title = f"{project} {version}"


def link_to_pages(_: Sphinx, __: Path, ___: str, content: list[str]) -> None:
    """Let links of an included file to files beside it lead to their pages."""
    for name, page in PAGES.items():
        content[0] = content[0].replace(f"]({name})", f"](docs/{page})")


def setup(app: Sphinx) -> None:
    """Connect what the site does beyond Sphinx."""
    app.connect("include-read", link_to_pages)

"""Tools that no test runs, such as the benches, read names that are still there."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = sorted((ROOT / "tools").rglob("*.py"))


def imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Modules and the names that are imported from them, wherever in a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.module, alias.name) for alias in node.names)


def given(module: str) -> set[str] | None:
    """The names that a module of this project gives, and the modules of a folder of it; None for another's."""
    place = ROOT.joinpath(*module.split("."))
    names = {p.stem for p in place.iterdir()} if place.is_dir() else set()
    path = next((p for p in (place.with_suffix(".py"), place / "__init__.py") if p.exists()), None)
    if path is None:
        return names or None
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names.update((alias.asname or alias.name).split(".")[0] for alias in aliases)
    return names


@pytest.mark.parametrize("tool", TOOLS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_name_that_a_tool_imports_from_this_project_is_there(tool: Path) -> None:
    found = [(m, n, given(m)) for m, n in imported(ast.parse(tool.read_text()))]
    missing = [f"{m}.{n}" for m, n, names in found if names is not None and n not in names]
    assert not missing

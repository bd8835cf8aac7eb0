"""The tests nearest to a module: at the mirrored path, those that import it, those of its room, the journeys."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path


def nearest_tests(root: Path, module: Path, most: int) -> list[Path]:
    """Return at most so many files of tests for a module, nearest first; both relative to `root`."""
    found: dict[Path, None] = {}
    for path in _ordered(root, module):
        found[path] = None
        if len(found) == most:
            break
    return list(found)


def _ordered(root: Path, module: Path) -> Iterator[Path]:
    inside = Path(*module.parts[1:])
    name = f"{inside.parent.name}.py" if inside.name == "__init__.py" else inside.name
    mirrored = Path("tests") / inside.parent / f"test_{name}"
    if (root / mirrored).exists():
        yield mirrored
    tests = [path.relative_to(root) for path in sorted((root / "tests").rglob("test_*.py"))]
    near = sorted(tests, key=lambda path: -_shared(path.parent, mirrored.parent))
    yield from (path for path in near if _name(module) in _imported(root / path))
    words = set(inside.stem.split("_"))
    room = [path for path in near if _shared(path.parent, mirrored.parent) > 1 or path.parent == mirrored.parent]
    journeys = [path for path in tests if "journeys" in path.parts]
    yield from (path for path in room if words & {*path.stem.split("_")})
    yield from (path for path in room if path.parent == mirrored.parent)
    yield from (path for path in journeys if words & {*path.stem.split("_")})
    yield from room
    yield from journeys


def _shared(left: Path, right: Path) -> int:
    """Return how many leading parts two paths share."""
    both = list(zip(left.parts, right.parts, strict=False))
    return next((i for i, (a, b) in enumerate(both) if a != b), len(both))


def _name(module: Path) -> str:
    return ".".join(module.with_suffix("").parts).removesuffix(".__init__")


@functools.cache
def _imported(path: Path) -> set[str]:
    """Return the dotted names that a file imports: modules, and what may be a module of a package."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found

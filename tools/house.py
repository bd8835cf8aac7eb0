"""Measure the structure of the package: imports between rooms, tables of operators, tests at mirrored paths, lines.

    python -m tools.house [--tables] [--untested]

`--tables` lists the tables of operator names outside of `primsplit/ops`, `--untested` the modules without a test of
their own. `tests/tools/test_house.py` holds the numbers that must not grow.
"""

import argparse
import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx.defs

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "primsplit"
ROOMS = (
    "ir", "ops", "tracing", "numpy", "special", "rewrites", "rules", "transforms", "targets", "onnx", "programs",
    "frontends", "audit", "testing", "cli",
)  # fmt: skip
"""The folders of the package, in the order of their imports."""
FEWEST = 3
"""A collection of so many names of operators is a table of them."""


@dataclass(frozen=True)
class Module:
    """A file of the package."""

    path: Path

    @property
    def name(self) -> str:
        """Its dotted name, `primsplit.ir.blocks`."""
        return ".".join(self.path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")

    @property
    def room(self) -> str:
        """The folder at the package's root that it is in; "" for the root itself."""
        return room_of(self.name)

    def tree(self) -> ast.Module:
        """Its code."""
        return ast.parse(self.path.read_text())


def room_of(name: str) -> str:
    """The room of a dotted name; "" for the root."""
    return next((part for part in name.split(".")[1:2] if part in ROOMS), "")


def modules() -> list[Module]:
    """Every module of the package, also those of its root."""
    return [Module(path) for path in sorted(PACKAGE.rglob("*.py"))]


NAMES = frozenset(module.name for module in modules())


def imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The modules of primsplit that these nodes import."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "primsplit":
            named = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in NAMES else node.module for name in named)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in NAMES)


def upward_imports(module: Module) -> set[str]:
    """The modules of later rooms that a module imports, also inside of its functions, and the root."""
    if not module.room:
        return set()
    own = ROOMS.index(module.room)
    reached = set(imports(ast.walk(module.tree())))
    return {name for name in reached if not room_of(name) or ROOMS.index(room_of(name)) > own}


def _kinds() -> frozenset[str]:
    return frozenset(schema.name for schema in onnx.defs.get_all_schemas())


def tables(module: Module, kinds: frozenset[str]) -> Iterator[str]:
    """The names that a module gives to collections of names of operators, at its top level."""
    for node in module.tree().body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            target, value = node.target, node.value
        else:
            continue
        if _is_table(value, kinds):
            yield ast.unparse(target)


def _is_table(value: ast.expr, kinds: frozenset[str]) -> bool:
    found: list[str] = []
    for node in ast.walk(value):
        if isinstance(node, ast.Set | ast.List | ast.Tuple):
            found += [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
        elif isinstance(node, ast.Dict):
            found += [k.value for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "split":
            text = node.func.value
            found += text.value.split() if isinstance(text, ast.Constant) and isinstance(text.value, str) else []
    return len(kinds.intersection(found)) >= FEWEST


def has_mirrored_test(module: Module) -> bool:
    """True where `tests` holds a test of this module at the same path."""
    inside = module.path.relative_to(PACKAGE)
    return (ROOT / "tests" / inside.parent / f"test_{inside.name}").exists()


def code(module: Module) -> bool:
    """True for a module that defines something; a package's docstring and a list of imports need no test."""
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in module.tree().body)


def main() -> None:
    """Print the measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--untested", action="store_true")
    asked = parser.parse_args()
    every, kinds = modules(), _kinds()
    upward = {m.name: found for m in every if (found := upward_imports(m))}
    told = [f"{m.name}.{table}" for m in every if m.room not in ("", "ops") for table in tables(m, kinds)]
    defining = [m for m in every if code(m)]
    untested = [m.name for m in defining if not has_mirrored_test(m)]
    print(f"upward imports                        {sum(map(len, upward.values()))}")
    for name, reached in upward.items():
        print(f"  {name} -> {', '.join(sorted(reached))}")
    print(f"tables of operator names outside ops  {len(told)} in {len({t.rpartition('.')[0] for t in told})} modules")
    if asked.tables:
        print(*(f"  {name}" for name in told), sep="\n")
    print(f"entries at the root of the package    {len([p for p in PACKAGE.iterdir() if p.name != '__pycache__'])}")
    share = 1 - len(untested) / len(defining)
    print(f"modules with a test at the same path  {share:.0%} of {len(defining)}")
    if asked.untested:
        print(*(f"  {name}" for name in untested), sep="\n")
    print(f"bytes of ARCHITECTURE.md              {(ROOT / 'ARCHITECTURE.md').stat().st_size}")
    lines = {room: sum(len(m.path.read_text().splitlines()) for m in every if m.room == room) for room in ("", *ROOMS)}
    print(f"lines of the package                  {sum(lines.values())}")
    for room, count in lines.items():
        print(f"  {room or '(root)':<12} {count:>6}  {len([m for m in every if m.room == room])} modules")


if __name__ == "__main__":
    main()

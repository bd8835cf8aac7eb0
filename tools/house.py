"""Measure the structure of the package: imports between rooms, tables of operators, tests at mirrored paths, lines.

    python -m tools.house [--tables] [--untested] [--beyond] [--python]

`--tables` lists the tables of operator names outside of `primsplit/ops`, `--untested` the modules without a test of
their own, `--beyond` what folders import that should need the public names and `primsplit.extend` alone,
`--python` the modules that read how CPython runs a function.
`tests/tools/test_house.py` holds the numbers that must not grow.
"""

import argparse
import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx.defs

import primsplit
from primsplit import extend

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "primsplit"
ROOMS = (
    "ir", "ops", "tracing", "numpy", "special", "rewrites", "rules", "transforms", "targets", "onnx", "programs",
    "frontends", "audit", "testing", "cli",
)  # fmt: skip
"""The folders of the package, in the order of their imports."""
FEWEST = 3
"""A collection of so many names of operators is a table of them."""
NO_TRAIT = "No trait:"
"""Behind this, the docstring of a table says why it is not a column of `primsplit/ops/traits.py`."""


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

    def words(self) -> set[str]:
        """The words of its text: a module without a name does not have to be parsed for it, which takes long."""
        return set(re.findall(r"\w+", self.path.read_text()))


def at_the_root() -> set[str]:
    """The modules and folders at the root of the package; py.typed, which holds nothing, is neither."""
    return {path.stem for path in PACKAGE.iterdir() if path.name not in {"__pycache__", "py.typed"}}


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


GUESTS = ("frontends/loops", "frontends/scipy", "onnx/sequences")
"""Folders that should need nothing but the public names and `primsplit.extend`, as a package of a user's would."""


def beyond_the_door(folder: str) -> set[str]:
    """The names of the package that a folder imports from elsewhere, and that users are not given."""
    own = f"primsplit.{folder.replace('/', '.')}"
    public = {*primsplit.__all__, *extend.__all__}
    found = set()
    for module in modules():
        if module.name.startswith(own):
            for node in ast.walk(module.tree()):
                if isinstance(node, ast.ImportFrom) and _is_elsewhere(node.module or "", own):
                    found |= {f"{node.module}.{a.name}" for a in node.names if a.name not in public}
    return found


def _is_elsewhere(module: str, own: str) -> bool:
    """Whether it is a module of the package outside of this folder; the errors are public under another name."""
    return module.startswith("primsplit") and not module.startswith((own, "primsplit.ir.errors"))


READS_OF_PYTHON = {
    "dis": "opcodes", "opcode": "opcodes", "opname": "opcodes", "co_code": "opcodes", "gc": "collector",
    "getrefcount": "reference counts", "_getframe": "frames", "currentframe": "frames", "f_locals": "local variables",
}  # fmt: skip
"""The modules and attributes that show how CPython runs a function, which other versions of Python do differently."""

ALLOWED = {
    "primsplit.frontends.python.conversion.journal reference counts": "What only a side holds was created by it",
    "primsplit.frontends.python.conversion.lazily local variables": "The iterator of a generator is its variable .0",
    "primsplit.frontends.python.conversion.lazily reference counts": "Who else holds an iterator sees how far it is",
    "primsplit.frontends.python.conversion.one_if local variables": "The values of names before a joined statement",
    "primsplit.frontends.python.conversion.running local variables": "The values of names before a joined statement",
    "primsplit.frontends.python.conversion.stepping local variables": "The values of names before a part of a loop",
    "primsplit.frontends.python.conversion.stepping reference counts": "Who else holds an iterator sees how far it is",
    "primsplit.frontends.python.conversion.telling opcodes": "Is asked of functions without source, too",
    "primsplit.frontends.python.converter.without_source opcodes": "Is asked of functions without source alone",
    "primsplit.frontends.python.overrides.builtin reference counts": "Who else holds an iterator sees how far it is",
    "primsplit.ir.recompiled opcodes": "Compares code with code that is compiled again, whatever the opcodes mean",
    "primsplit.programs.calls_by_name opcodes": "Is asked of functions without source, too",
    "primsplit.programs.single_use reference counts": "Results that another thread holds are not overwritten",
    "primsplit.tracing.branching.users_errors local variables": "Finds the traced value that a library refused",
    "primsplit.tracing.call_stack frames": "The one module that asks for frames",
    "primsplit.tracing.calls.portable opcodes": "A rule's code is a part of its key, whatever the opcodes mean",
    "primsplit.tracing.handles.concretization local variables": "The class that abc or typing asks for",
    "primsplit.tracing.own_errors local variables": "Finds the operator at which a rewrite failed",
    "primsplit.tracing.paths local variables": "An error names the variable that holds an array",
    "primsplit.tracing.rewritten_loops local variables": "An error writes the loop with the names that have values",
    "primsplit.tracing.use_sites local variables": "A handler's class is what its name means there",
}
"""The modules that do, and what they read, with the reason."""


def reads_of_python(module: Module) -> set[str]:
    """Return what a module reads of how CPython runs a function."""
    found: set[str] = set()
    for node in ast.walk(module.tree()) if module.words() & {*READS_OF_PYTHON} else ():
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(alias.name for alias in node.names)}
    return {READS_OF_PYTHON[name] for name in found & {*READS_OF_PYTHON}}


def _kinds() -> frozenset[str]:
    return frozenset(schema.name for schema in onnx.defs.get_all_schemas())


def tables(module: Module, kinds: frozenset[str]) -> Iterator[str]:
    """The names that a module gives, at its top level, to collections of names of operators.

    A dictionary of functions is none: it says what a pass does with an operator, not what is true of it. Nor is a
    collection whose docstring gives the reason why it is no trait, behind `NO_TRAIT`.
    """
    if len(module.words() & kinds) < FEWEST:
        return
    body = module.tree().body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            target, value = node.target, node.value
        else:
            continue
        if len(kinds.intersection(_texts(value))) >= FEWEST and NO_TRAIT not in _docstring(after):
            yield ast.unparse(target)


def _docstring(node: ast.stmt | None) -> str:
    """The text of a statement that is nothing else."""
    value = node.value if isinstance(node, ast.Expr) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _texts(value: ast.AST) -> Iterator[str]:
    """The texts in an expression, but for the keys of functions."""
    if _is_of_functions(value):
        return
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.Dict):
        for key, held in zip(value.keys, value.values, strict=True):
            if key is None or not _is_function(held):
                yield from _texts(held if key is None else key)
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "split":
        text = value.func.value
        yield from text.value.split() if isinstance(text, ast.Constant) and isinstance(text.value, str) else []
    else:
        for part in ast.iter_child_nodes(value):
            yield from _texts(part)


def _is_of_functions(value: ast.AST) -> bool:
    """Whether a value is a dictionary by a rule, with functions as all values."""
    if isinstance(value, ast.DictComp):
        return _is_function(value.value)
    is_made = isinstance(value, ast.Call) and ast.unparse(value.func) == "dict.fromkeys"
    return isinstance(value, ast.Call) and is_made and _is_function(value.args[-1])


def _is_function(value: ast.expr) -> bool:
    """Whether a value is a function, a call that makes one, or a tuple of them.

    Data have names in capitals, classes begin with one.
    """
    if isinstance(value, ast.Tuple):
        return bool(value.elts) and all(map(_is_function, value.elts))
    if isinstance(value, ast.Call):
        name = ast.unparse(value.func)
        return name not in {"frozenset", "set", "tuple", "dict", "range"} and _is_function(value.func)
    if isinstance(value, ast.Name | ast.Attribute):
        name = value.id if isinstance(value, ast.Name) else value.attr
        return name.lstrip("_")[:1].islower()
    return isinstance(value, ast.Lambda)


def has_mirrored_test(module: Module) -> bool:
    """Whether `tests` has a test of this module at the same path; that of a package is named as the package is."""
    inside = module.path.relative_to(PACKAGE)
    name = f"{inside.parent.name}.py" if inside.name == "__init__.py" else inside.name
    return (ROOT / "tests" / inside.parent / f"test_{name}").exists()


def code(module: Module) -> bool:
    """Whether a module defines something; a package's docstring and a list of imports need no test."""
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in module.tree().body)


def main() -> None:
    """Print the measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", action="store_true")
    parser.add_argument("--untested", action="store_true")
    parser.add_argument("--beyond", action="store_true")
    parser.add_argument("--python", action="store_true")
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
    print(f"modules and rooms at the root         {len(at_the_root())}")
    share = 1 - len(untested) / len(defining)
    print(f"modules with a test at the same path  {share:.0%} of {len(defining)}")
    if asked.untested:
        print(*(f"  {name}" for name in untested), sep="\n")
    for folder in GUESTS:
        beyond = beyond_the_door(folder)
        print(f"{'beyond extend in ' + folder:<38}{len(beyond)}")
        if asked.beyond:
            print(*(f"  {name}" for name in sorted(beyond)), sep="\n")
    reads = sorted(f"{m.name} {read}" for m in every for read in reads_of_python(m))
    print(f"reads of how CPython runs functions   {len(reads)}")
    if asked.python:
        print(*(f"  {read}: {ALLOWED.get(read, 'no reason')}" for read in reads), sep="\n")
    print(f"bytes of ARCHITECTURE.md              {(ROOT / 'ARCHITECTURE.md').stat().st_size}")
    lines = {room: sum(len(m.path.read_text().splitlines()) for m in every if m.room == room) for room in ("", *ROOMS)}
    print(f"lines of the package                  {sum(lines.values())}")
    for room, count in lines.items():
        print(f"  {room or '(root)':<12} {count:>6}  {len([m for m in every if m.room == room])} modules")


if __name__ == "__main__":
    main()

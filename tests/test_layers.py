"""The house: a room imports itself and the rooms before it, and `import primsplit` stays light."""

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import primsplit

PACKAGE = Path(primsplit.__file__).parent

ROOMS = (
    "ir", "ops", "tracing", "numpy", "special", "rewrites", "rules", "transforms", "targets", "onnx", "programs",
    "frontends", "audit", "testing", "cli",
)  # fmt: skip
"""The folders of the package, in the order of their imports. `ARCHITECTURE.md` tells what is in each."""
FILES = sorted(PACKAGE.rglob("*.py"))
ROOT = {"__init__.py", "__main__.py", "py.typed", *ROOMS}


def _module(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {_module(path) for path in FILES}


def _imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The modules of primsplit that these nodes import."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "primsplit":
            named = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in MODULES else node.module for name in named)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)


def _room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_at_the_root_stand_the_rooms_and_nothing_else() -> None:
    assert {path.name for path in PACKAGE.iterdir()} - {"__pycache__"} == ROOT


@pytest.mark.parametrize("path", [p for p in FILES if p.parent != PACKAGE], ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_its_own_room_and_rooms_before_it(path: Path) -> None:
    """Also inside of its functions."""
    own = ROOMS.index(_room(_module(path)))
    reached = set(_imports(ast.walk(ast.parse(path.read_text()))))
    assert "primsplit" not in reached, "the root imports every room"
    assert {name for name in reached if ROOMS.index(_room(name)) > own} == set()


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {_module(path): set(_imports(ast.parse(path.read_text()).body)) - {_module(path)} for path in FILES}
    list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError


def loaded(statement: str, modules: str) -> list[str]:
    """Which of the modules a fresh Python has loaded after the statement."""
    code = f"import sys; {statement}; print(*[m for m in {modules.split()} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_primsplit_loads_neither_onnx_ir_nor_onnxruntime_nor_scipy_nor_torch() -> None:
    assert loaded("import primsplit", "onnx_ir onnxruntime scipy torch typer jinja2 numpy.random") == []


def test_importing_primsplit_reads_no_schema_and_loads_nothing_that_only_writes_files() -> None:
    """onnx makes its table of a thousand schemas when the first is asked for."""
    read = "import primsplit; from primsplit.ops.schema import schema; assert schema.cache_info().misses == 0"
    late = "targets.finish targets.legalize onnx.save programs.runtime testing cli"
    assert loaded(read, " ".join(f"primsplit.{m}" for m in late.split())) == []


def test_the_first_gradient_does_without_onnx_ir_which_only_reading_a_model_needs() -> None:
    """It brings sympy, which takes longer to import than all else together."""
    gradient = "import primsplit; primsplit.grad(lambda x: x * x)(2.0)"
    assert loaded(gradient, "onnx_ir sympy onnxruntime") == ["onnxruntime"]

"""The house: a room imports itself and the rooms before it, and `import primsplit` stays light."""

import graphlib
import subprocess
import sys

import pytest

from tools.house import PACKAGE, ROOMS, imports, modules, upward_imports

ROOT = {"__init__.py", "__main__.py", "extend.py", "py.typed", *ROOMS}


def test_at_the_root_of_the_package_stand_the_rooms_and_nothing_else() -> None:
    assert {path.name for path in PACKAGE.iterdir()} - {"__pycache__"} == ROOT


@pytest.mark.parametrize("room", sorted({m.room for m in modules() if m.room}))
def test_a_module_imports_its_own_room_and_rooms_before_it(room: str) -> None:
    """Also inside of its functions."""
    found = {m.name: upward for m in modules() if m.room == room and (upward := upward_imports(m))}
    assert found == {}


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {m.name: set(imports(m.tree().body)) - {m.name} for m in modules()}
    list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError


def loaded(statement: str, modules: str) -> list[str]:
    """Which of the modules a fresh Python has loaded after the statement."""
    code = f"import sys; {statement}; print(*[m for m in {modules.split()} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_primsplit_loads_little_beside_numpy() -> None:
    """The public functions are imported when the first of them is asked for."""
    light = "import primsplit; assert len(sys.modules) <= 250"
    assert loaded(light, "onnx optree primsplit.tracing primsplit.numpy primsplit.programs") == []


def test_importing_the_public_functions_reads_no_schema_and_loads_nothing_that_only_runs_or_writes_files() -> None:
    """onnx makes its table of a thousand schemas when the first is asked for."""
    public = "from primsplit.programs.public import grad"
    others = "onnx_ir onnxruntime scipy torch typer jinja2 numpy.random"
    read = f"{public}; from primsplit.ops.schema import schema; assert schema.cache_info().misses == 0"
    late = "extend targets.finish targets.legalize onnx.save programs.runtime testing cli"
    assert loaded(read, " ".join([others, *(f"primsplit.{m}" for m in late.split())])) == []


def test_the_first_gradient_does_without_onnx_ir_which_only_reading_a_model_needs() -> None:
    """It brings sympy, which takes longer to import than all else together."""
    gradient = "import primsplit; primsplit.grad(lambda x: x * x)(2.0)"
    assert loaded(gradient, "onnx_ir sympy onnxruntime") == ["onnxruntime"]


def test_only_the_functions_of_scipy_import_scipy() -> None:
    """It is no dependency: every command works without it."""
    names = [
        m.name for m in modules() if not m.name.startswith("primsplit.frontends.scipy") and "__main__" not in m.name
    ]
    code = (
        "import importlib; import sys; sys.modules['scipy'] = None; [importlib.import_module(m) for m in sys.argv[1:]]"
    )
    subprocess.run([sys.executable, "-c", code, *names], check=True)

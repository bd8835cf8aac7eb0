"""The house: a layer imports lower layers only, and `import primsplit` stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import primsplit

PACKAGE = Path(primsplit.__file__).parent

LAYERS: list[list[str]] = [
    ["plain_text", "machine"],
    ["atomic_files", "carriers", "errors", "collector", "caching.counters", "dispatching"],
    [
        "families",
        "caching.fingerprint",
        "caching.held",
        "caching.limited",
        "caching.noting",
        "caching.once",
        "caching.unchanged",
    ],
    ["providers", "reasons", "frozen_branches"],
    [
        "analysis",
        "branching",
        "caching",
        "calls",
        "handles",
        "programs",
        "tangents",
    ],  # their modules follow one by one
    ["dims"],
    ["ir"],
    ["analysis.carries"],
    [
        "names",
        "analysis.orders",
        "schema",
        "surgery",
        "parts",
        "analysis.dependence",
        "analysis.unrolled",
        "analysis.promotions",
        "analysis.restarts",
        "analysis.costs",
        "analysis.signs",
    ],
    ["notation"],
    ["infer"],
    ["verify"],
    ["tracing"],
    ["functionlike", "handles.methods", "own_errors"],
    ["handles.operators", "handles.concretization", "handles.described"],
    ["handles.traced_text", "handles.views"],
    ["array"],
    ["lifting"],
    ["ops", "trees"],
    ["calls.portable", "calls.contracts", "calls.vanishing"],
    ["nested"],
    [
        "branching.raising",
        "branching.joining",
        "branching.users_errors",
        "branching.conditions",
        "branching.asked_classes",
    ],
    ["branching.paths"],
    ["branching.complex_results"],
    ["branching.tree", "branching.whole_numbers"],
    ["branching.exploring"],
    ["calls.recorded"],
    ["frames"],
    ["states"],
    ["calls.staging"],
    ["broadcasting", "calls.flat_rules", "calls.primitive", "calls.projection"],
    ["calls.slots"],
    ["passes.compositions"],
    ["numpy", "scipy"],
    ["random"],
    ["rules.table"],
    ["analysis.activity", "analysis.smoothness", "passes", "rules", "definitions", "control"],
    ["nests", "numpy.slices", "numpy.folding", "numpy.ufunc_methods"],
    ["copies"],
    ["substitutes"],
    ["joins"],
    ["rule_run"],
    ["primal_list", "policies", "even_slopes", "zero_slopes", "cancelling_sums"],
    ["split"],
    ["calls.boundaries"],
    ["batching"],
    [
        "passes.loops.fission",
        "passes.loops.given_terms",
        "passes.loops.taken_along",
        "passes.pipeline",
        "passes.finish",
        "passes.repeats",
    ],
    ["tangents.choices", "tangents.even_tangents"],
    ["tangents.transposition", "calls.checkpoint"],
    ["tangents.pushforward"],
    ["tangents.frules", "tangents.rrules"],
    ["zeros", "transforms", "specs"],
    ["scipy.optimize"],
    ["scipy.adaptive"],
    ["doors"],
    ["audit.page", "audit.python", "audit.styles", "audit.__init__"],
    [
        "programs.labels",
        "programs.sharing",
        "programs.carried",
        "programs.single_use",
        "programs.weights",
        "programs.out",
        "programs.wholes",
    ],
    ["programs.prepared", "programs.nothing", "programs.called", "programs.binding"],
    ["programs.program"],
    ["programs.flat", "programs.forms", "programs.asked"],
    ["programs.plain"],
    ["programs.examples", "programs.looks", "programs.calls_by_name"],
    ["programs.frozen_numbers"],
    ["programs.trace_program"],
    ["programs.loading"],
    ["programs.storing"],
    ["programs.compiled"],
    ["export", "programs.caching", "programs.guarding", "programs.pulled", "programs.pushed"],
    ["programs.derivatives", "programs.modes", "programs.elementwise_forward", "nests.nest"],
    ["onnxio", "runtime", "audit"],
    ["userfile", "programs.arguments", "coverage", "analysis.domains", "testing"],
    ["cli", "__init__", "__main__"],
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def _layer(module: str) -> int:
    """The rank of a module, by its longest prefix that is listed."""
    parts = module.removeprefix("primsplit").lstrip(".").split(".")
    for end in range(len(parts), 0, -1):
        if ".".join(parts[:end]) in RANK:
            return RANK[".".join(parts[:end])]
    raise AssertionError(f"{module} has no layer: add it to LAYERS")


def _imports(path: Path) -> list[str]:
    """The modules of primsplit that a file imports when it is loaded."""
    tree = ast.parse(path.read_text())
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("primsplit"):
            for alias in node.names:
                inner = PACKAGE.parent / (f"{node.module}.{alias.name}".replace(".", "/"))
                is_module = inner.with_suffix(".py").exists() or inner.is_dir()
                found.append(f"{node.module}.{alias.name}" if is_module else str(node.module))
        elif isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.startswith("primsplit")]
    return found


FILES = sorted(p for p in PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_its_own_layer_and_those_below(path: Path) -> None:
    module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    own = _layer("__init__" if path == PACKAGE / "__init__.py" else module.removesuffix(".__init__"))
    for imported in _imports(path):
        if imported == "primsplit":
            continue
        assert _layer(imported) <= own, f"{module} imports {imported}, which is above it"


def loaded(statement: str, modules: str) -> list[str]:
    """Which of the modules a fresh Python has loaded after the statement."""
    code = f"import sys; {statement}; print(*[m for m in {modules.split()} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_primsplit_loads_neither_onnx_ir_nor_onnxruntime_nor_scipy_nor_torch() -> None:
    assert loaded("import primsplit", "onnx_ir onnxruntime scipy torch typer jinja2 numpy.random") == []


def test_importing_primsplit_reads_no_schema_and_loads_nothing_that_only_writes_files() -> None:
    """onnx makes its table of a thousand schemas when the first is asked for."""
    read = "import primsplit; from primsplit.schema import schema; assert schema.cache_info().misses == 0"
    late = "passes.finish passes.legalize onnxio.save runtime testing cli"
    assert loaded(read, " ".join(f"primsplit.{m}" for m in late.split())) == []


def test_the_first_gradient_does_without_onnx_ir_which_only_reading_a_model_needs() -> None:
    """It brings sympy, which takes longer to import than all else together."""
    gradient = "import primsplit; primsplit.grad(lambda x: x * x)(2.0)"
    assert loaded(gradient, "onnx_ir sympy onnxruntime") == ["onnxruntime"]

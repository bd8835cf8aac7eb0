"""Lists what is covered: how each ONNX operator is differentiated, and each function of NumPy and SciPy.

    Tanh  partials  tests/rules/test_elementwise.py::test_a_rule_gives_the_derivative_in_its_promised_form

`tested.json` beside the rules names a test for each of them. `tools/coverage_table.py` writes it in a run of the tests,
and watches what was differentiated and compared with central differences.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import resources
from types import ModuleType
from typing import Any, Literal

import numpy as np

from primsplit.frontends.python.overrides.refused import STEPS
from primsplit.frontends.python.overrides.served import refused_names, served_names
from primsplit.numpy.complex.arithmetic import ALWAYS_COMPLEX
from primsplit.numpy.refusals import BECAUSE
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.onnx.definitions.families import DEFINITIONS
from primsplit.onnx.definitions.jumps import JUMPS
from primsplit.ops.schema import kinds
from primsplit.programs.doors import kinds_in_file
from primsplit.rules import table
from primsplit.rules.table import UNSUPPORTED
from primsplit.tracing.array import FUNCTIONS

Status = Literal[
    "rule", "partials", "no_gradient", "through_body", "definition", "loaded", "missing", "traced", "refused"
]


@dataclass(frozen=True, slots=True)
class Row:
    """One operator or function; `tested` is the name of a test that it passed, or ""."""

    name: str
    status: Status
    tested: str
    note: str = ""

    def as_dict(self) -> dict[str, str]:
        """The row as a dict for JSON."""
        return asdict(self)


def status(kind: str) -> tuple[Status, str]:
    """Return how an operator is differentiated, or why it is not.

    One of a newer opset or another domain is differentiated through its definition. Operators of sequences and optional
    values are removed when a model is loaded.
    """
    known = table.status(kind)
    if known == "unsupported":
        return "loaded", UNSUPPORTED[kind]
    found: Status | None = known
    if found is None and kind in JUMPS:
        return "refused", JUMPS[kind]
    if found is None and kind in DEFINITIONS:
        found = "refused" if DEFINITIONS[kind].function.__name__ == "refuse" else "definition"
    return found or "missing", ""


def operator_rows() -> list[Row]:
    """Every operator of the standard at the opset that is written, and those that have a definition in it."""
    tests = tested()["operators"]
    defined = sorted(k for k, d in DEFINITIONS.items() if not d.since and not k.startswith("primsplit::"))
    names = (*kinds(), *defined)
    return [Row(kind, found, tests.get(kind, ""), note) for kind in names for found, note in (status(kind),)]


def name_rows() -> list[Row]:
    """Every function of NumPy that may be given arrays, the methods and forms of indexing, and SciPy's functions."""
    tests = tested()["functions"]
    implemented = traced_names()
    because = {**BECAUSE, **dict.fromkeys(refused_names(), STEPS)}
    rows = [
        Row(name, "refused" if refused else "traced", tests.get(name, ""), because.get(name, ""))
        for name, refused in implemented.items()
    ]
    rows += [Row(name, "refused", "") for name in sorted(set(_public_names()) - set(implemented))]
    return sorted(rows, key=lambda row: row.name)


def traced_names() -> dict[str, bool]:
    """The names of functions that accept traced arrays; True for one that is only registered as refused.

    Such a function of NumPy has the name `refused`.
    """
    found = {name_of(key): function for key, function in FUNCTIONS.items()}
    found.update((ufunc_name(key), function) for key, function in (*ELEMENTWISE.items(), *ALWAYS_COMPLEX.items()))
    return {
        **{name: function.__name__ == "refused" for name, function in found.items()},
        **dict.fromkeys(served_names(), False),
        **dict.fromkeys(refused_names(), True),
    }


def name_of(key: Any) -> str:
    """The name that users write for a key of FUNCTIONS."""
    if isinstance(key, str):
        return {"getitem": "x[i]", "setitem": "x[i] = y"}.get(key, f"x.{key}")
    module = getattr(key, "__module__", "numpy") or "numpy"
    written = module.replace("numpy", "np", 1).replace("lib.scimath", "emath")
    return f"{written}.{getattr(key, '__name__', key)}"


INSIDE = {"_lgamma": "gammaln", "_zeta": "zeta", "_riemann_zeta": "zeta"}
"""SciPy's private ufuncs, by the public functions that call them."""


def ufunc_name(name: str) -> str:
    """The name that users write for a ufunc: NumPy's, else SciPy's."""
    return f"np.{name}" if hasattr(np, name) else f"scipy.special.{INSIDE.get(name, name)}"


def _public_names() -> Iterator[str]:
    """NumPy's public functions that dispatch on their arguments: the ones a tracer can see."""
    modules: tuple[ModuleType, ...] = (np, np.linalg, np.fft)
    for module in modules:
        for name in dir(module):
            value = getattr(module, name)
            if isinstance(value, np.ufunc):
                yield f"np.{value.__name__}"
            elif not name.startswith("_") and hasattr(value, "_implementation"):
                yield name_of(value)


def tested() -> dict[str, dict[str, str]]:
    """The test of each operator and function, by their names."""
    file = resources.files("primsplit.rules") / "tested.json"
    if not file.is_file():
        return {"operators": {}, "functions": {}}
    found: dict[str, dict[str, str]] = json.loads(file.read_text(encoding="utf-8"))
    return found


def missing_in_file(path: str) -> list[dict[str, Any]]:
    """The operators of an ONNX file that cannot be differentiated, and how many nodes each has. Raises FileError.

    Operators of sequences and optional values are not among them: the loader removes them, or refuses the file.
    """
    rows = []
    for kind, count in sorted(Counter(kinds_in_file(path)).items()):
        found, note = status(kind)
        if found in {"missing", "refused"}:
            rows.append({"name": kind, "count": count, "status": found, "note": note})
    return rows

"""Measure which functions of SciPy could be traced by SciPy's own code, in place of the package's formulas.

    python -m tools.scipy_own [--only NAME] [--missing] [pytest's arguments, such as tests/frontends/scipy]

The samples are the functions and arguments that the tests check. Each is traced with the formula of a function of
SciPy's, and with a converted copy of SciPy's own code in its place: with sizes and with symbols, as a value and as a
gradient. Values are compared with SciPy's, a slope with a central difference, and the nodes of the gradients' files
with each other. The verdicts go into tools/scipy_own.json, from which `tools.scipy_own_page` writes a page.
"""

import argparse
import importlib
import json
import signal
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit import testing
from primsplit.frontends.python.converter.own_code import OWN, own_code
from primsplit.frontends.python.overrides.libraries import register_scipys
from primsplit.frontends.python.overrides.table import Substitute, register, substitute_of
from primsplit.frontends.scipy.overrides.science import MODULES, functions_of
from primsplit.ir import walk
from primsplit.tracing import trees
from primsplit.tracing.asarray import holds_traced
from tests.numpy import agreement

RESULTS = Path(__file__).with_suffix(".json")
Function = Callable[..., Any]
LARGER = 1.1
"""The most nodes that SciPy's own code may have for one of the formula's."""
SAMPLES = 3
"""The most samples of a function."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A function and its arguments, as a test checks them."""

    test: str
    function: Function
    args: tuple[Any, ...]

    def names(self) -> set[str]:
        """Return the names that the code of the function reads, and those of the functions that it holds."""
        found: set[str] = set()
        pending: list[Any] = [self.function]
        met: set[int] = set()
        while pending:
            asked = pending.pop()
            if id(asked) in met:
                continue
            met.add(id(asked))
            if isinstance(asked, types.FunctionType):
                found.add(asked.__name__)
                pending.append(asked.__code__)
                held = [c.cell_contents for c in asked.__closure__ or () if _is_filled(c)]
                pending += [*held, *(asked.__defaults__ or ())]
                pending += [v for n, v in asked.__globals__.items() if n in asked.__code__.co_names and _is_test(v)]
            elif isinstance(asked, types.CodeType):
                found |= {*asked.co_names}
                pending += [c for c in asked.co_consts if isinstance(c, types.CodeType)]
                found |= {c for c in asked.co_consts if isinstance(c, str)}
            elif isinstance(asked, str):
                found.add(asked)
        return found


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _is_test(value: Any) -> bool:
    return isinstance(value, types.FunctionType) and value.__module__.startswith("tests.")


@dataclass(slots=True)
class Row:
    """The verdict on a function: why SciPy's own code does not serve, by which test, and the nodes of both files."""

    why: str = ""
    test: str = ""
    nodes: list[list[int]] = field(default_factory=list)


class Routes:
    """Sends traced values to SciPy's own code of one function, and to the formulas of all others."""

    def __init__(self) -> None:
        self.own: Function | None = None
        self.is_reached = False
        self.originals: dict[str, Function] = {}
        for module in MODULES:
            importlib.import_module(module)
        register_scipys()
        for module in MODULES:
            for name in functions_of(module):
                original = getattr(sys.modules[module], name, None)
                if original is not None and isinstance(substitute_of(original), Substitute):
                    self.originals[f"{module}.{name}"] = original
                    register(original, self._routed(original, substitute_of(original)))

    def _routed(self, original: Function, ours: Substitute) -> Substitute:
        own = own_code(original)

        def call(*args: Any, **options: Any) -> Any:
            is_own = self.own is original and any(map(holds_traced, (*args, *options.values())))
            self.is_reached |= is_own
            return (own if is_own else ours.traced)(*args, **options)

        return Substitute(original, call)


def measured(routes: Routes, original: Function, sample: Sample) -> tuple[str, list[int]] | None:
    """Return why SciPy's own code does not serve, "" if it does, and the nodes; None if it is not called."""
    case = Case(sample)
    routes.own, routes.is_reached, of_sizes = original, False, ""
    try:
        why = case.fault()
        own = case.nodes() if not why else 0
        of_sizes = case.fault_by_symbols() if not why else ""
    except Exception as error:  # noqa: BLE001  # this is sought
        why, own = _text(error), 0
    finally:
        routes.own = None
    if not routes.is_reached:
        return None
    if of_sizes and not case.fault_by_symbols():
        why = of_sizes
    try:
        return why, [case.nodes(), own] if own else []
    except Exception as error:  # noqa: BLE001  # the formula fails: another argument is meant
        return why or f"not compared: {_text(error)}", []


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:240]}"


class Case:
    """A sample as a function of its floating-point arrays alone, with a number to differentiate."""

    def __init__(self, sample: Sample) -> None:
        self.leaves, self.structure = trees.flatten(sample.args)
        self.moved = [i for i, x in enumerate(self.leaves) if getattr(x, "dtype", None) in (np.float64, np.float32)]
        self.given = [np.asarray(self.leaves[i]) for i in self.moved]
        self.function = sample.function

    def values(self, *arrays: Any) -> list[Any]:
        """The results."""
        placed = dict(zip(self.moved, arrays, strict=True))
        nested = trees.unflatten(self.structure, [placed.get(i, x) for i, x in enumerate(self.leaves)])
        return [y for y in trees.flatten(self.function(*nested))[0] if hasattr(y, "dtype") or isinstance(y, float)]

    def loss(self, *arrays: Any) -> Any:
        """A sum of the results."""
        found = [y for y in self.values(*arrays) if isinstance(y, float) or y.dtype.kind in "fc"]
        return sum(np.sum(np.cos(np.arange(np.size(y)) + 0.3).reshape(np.shape(y)) * np.real(y)) for y in found)

    def fault(self) -> str:
        """Return what is wrong with values, a slope, or symbols; "" if nothing is."""
        with np.errstate(all="ignore"):
            wanted = self.values(*self.given)
        program = ps.trace(self.values, *self.given)
        if far := _far(wanted, program(*self.given)):
            return far
        return self._slope() if self.moved else ""

    def fault_by_symbols(self) -> str:
        """Return why the function cannot be traced with symbolic sizes; "" if it can."""
        if not any(x.ndim for x in self.given):
            return ""
        specs = [ps.spec(x.dtype, [f"N{k}_{i}" for i in range(x.ndim)]) for k, x in enumerate(self.given)]
        try:
            ps.trace(self.values, *specs)
        except Exception as error:  # noqa: BLE001
            return f"symbolic sizes: {_text(error)}"
        return ""

    def _slope(self) -> str:
        if any(x.dtype == np.float32 for x in self.given):
            return ""
        random = np.random.default_rng(0)
        along = [random.uniform(-1, 1, x.shape) for x in self.given]
        slopes = ps.grad(self.loss, wrt=tuple(range(len(self.given))))(*self.given)
        found = sum(float(np.sum(a * d)) for a, d in zip(slopes, along, strict=True))
        h = 1e-5
        with np.errstate(all="ignore"):
            up, down = (self.loss(*(x + s * h * d for x, d in zip(self.given, along, strict=True))) for s in (1, -1))
        expected = float(up - down) / (2 * h)
        if abs(found - expected) > 1e-5 * (1 + abs(expected)):
            return f"a slope is {found:.8g}, and {expected:.8g} by a central difference"
        return ""

    def nodes(self) -> int:
        """Return the nodes of the gradient's file, or of the value's if there is none."""
        if not self.moved:
            return sum(1 for _ in walk(ps.trace(self.values, *self.given).block))
        made = ps.split(self.loss, *self.given, wrt=tuple(range(len(self.given)))).joint()
        return sum(1 for _ in walk(made.block))


def _far(wanted: Sequence[Any], found: Sequence[Any]) -> str:
    """Return the difference of results from SciPy's; "" if there is none."""
    if len(wanted) != len(found):
        return f"{len(found)} results, and {len(wanted)} by SciPy"
    for k, (expected, value) in enumerate(zip(map(np.asarray, wanted), map(np.asarray, found), strict=True)):
        if expected.shape != value.shape or expected.dtype != value.dtype:
            return f"result {k} is {value.dtype}{value.shape}, and {expected.dtype}{expected.shape} by SciPy"
        tolerance = 1e-5 if expected.dtype in (np.float32, np.complex64) else 1e-11
        largest = float(np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected)))
        if not np.allclose(value, expected, tolerance, tolerance * max(1.0, largest), equal_nan=True):
            return f"result {k} differs from SciPy's by {float(np.max(np.abs(expected - value))):.2g}"
    return ""


class Sweep:
    """Measures each function and its arguments where a test would check them."""

    def __init__(self, only: str, results: Path) -> None:
        self.routes = Routes()
        self.only, self.results = only, results
        self.rows: dict[str, Row] = {}
        self.test = ""

    def check(self, function: Function, *args: Any, **options: Any) -> None:
        """Measure the functions of SciPy that a sample may call."""
        sample = Sample(self.test, function, args)
        names = sample.names()
        for name, original in self.routes.originals.items():
            row = self.rows.get(name)
            is_done = row is not None and (bool(row.why) or len(row.nodes) >= SAMPLES)
            if name.rpartition(".")[2] in names and self.only in name and not is_done:
                self._note(name, measured(self.routes, original, sample))

    def _note(self, name: str, verdict: tuple[str, list[int]] | None) -> None:
        if verdict is None:
            return
        why, nodes = verdict
        if not why and nodes and nodes[1] > LARGER * nodes[0]:
            why = f"larger: {nodes[1]} nodes for {nodes[0]}"
        row = self.rows.setdefault(name, Row())
        row.why, row.test = why, self.test
        row.nodes.append(nodes)
        print(name, why or "serves", nodes, self.test.rpartition("::")[2], flush=True)

    def save(self) -> None:
        """Write the verdicts; keep those of other functions, and those measured while there was a formula."""
        known = json.loads(self.results.read_text()) if self.results.exists() else {}
        traced = {f"{module}.{function}" for module in OWN for function in OWN[module]}
        known |= {name: asdict(row) for name, row in self.rows.items() if name not in traced or name not in known}
        self.results.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave the tests that have a check."""
        items[:] = [i for i in items if any(name.startswith("check") for name in i.function.__code__.co_names)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Know which test it is."""
        self.test = item.nodeid
        signal.alarm(90)
        try:
            return (yield)
        finally:
            signal.alarm(0)
            self.save()


def main(arguments: list[str]) -> int:
    """Measure; write the verdicts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="measure only functions with this in their name")
    parser.add_argument("--missing", action="store_true", help="measure only functions that have no verdict")
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked, given = parser.parse_known_args(arguments)
    sweep = Sweep(asked.only, asked.results)
    if asked.missing:
        known = json.loads(RESULTS.read_text())
        sweep.routes.originals = {n: f for n, f in sweep.routes.originals.items() if n not in known}
    signal.signal(signal.SIGALRM, _late)
    testing.check_grads = agreement.check_grads = sweep.check
    agreement.check_agrees = sweep.check
    pytest.main(["-q", "-s", "-W", "ignore", "-p", "no:cacheprovider", *given], plugins=[sweep])
    return 0


def _late(*_: object) -> None:
    raise TimeoutError("it takes more than 90 s")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

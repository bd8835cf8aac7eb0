"""Make `primsplit/rules/tested.json`: a test for each operator's rule and each NumPy or SciPy function.

Runs the tests and watches them. An operator is covered by a test that passed and in which a check against central
differences (`check_grads`, `check_rrule`) differentiated it, or for an operator without a gradient, found it on the way
to the result. A function is covered by a test that passed and in which such a check traced a call of it; one that
never gives floating-point numbers, by a test that traced a call of it. Of several tests the one that covers the fewest
things is named.

    python tools/coverage_table.py [--check] [pytest's arguments]

With `--check` nothing is written, and the exit status is 1 where the table would change.
"""

import functools
import importlib
import json
import sys
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import primsplit
import primsplit.testing
from primsplit import tracing, trees
from primsplit.array import FUNCTIONS, Array
from primsplit.coverage import name_of, ufunc_name
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.rules.table import RULES

TABLE = Path(primsplit.__file__).parent / "rules" / "tested.json"
CHECKS = ("check_grads", "check_rrule")


class Watcher:
    """A pytest plugin that notes what each passing test covers."""

    def __init__(self) -> None:
        self.operators: dict[str, list[tuple[int, str]]] = {}
        self.functions: dict[str, list[tuple[int, str]]] = {}
        self.traced: dict[str, list[tuple[int, str]]] = {}
        self.gives_float: set[str] = set()
        self.seen_operators: set[str] = set()
        self.seen_functions: set[str] = set()
        self.seen_traced: set[str] = set()
        self.checking = 0
        self.depth = 0
        self.failed: set[str] = set()

    # What is watched.

    def install(self) -> None:
        """Wrap the checks, the composition of splits, and the tables of NumPy's functions."""
        for name in CHECKS:
            check = getattr(primsplit.testing, name, None)
            if check is not None:
                setattr(primsplit.testing, name, self.watched_check(check))
        composition = importlib.import_module("primsplit.split")._Composition
        composition.run_forward = self.watched_composition(composition.run_forward)
        self.wrap_table(FUNCTIONS, name_of)
        self.wrap_table(ELEMENTWISE, ufunc_name)

    def watched_check(self, check: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(check)
        def watched(*args: Any, **named: Any) -> Any:
            self.checking += 1
            operators, functions = set(self.seen_operators), set(self.seen_functions)
            try:
                return check(*args, **named)
            except BaseException:
                self.seen_operators, self.seen_functions = operators, functions
                raise
            finally:
                self.checking -= 1

        return watched

    def watched_composition(self, run: Callable[[Any], None]) -> Callable[[Any], None]:
        def watched(composition: Any) -> None:
            if self.checking:
                self.note_operators(composition)
            run(composition)

        return watched

    def note_operators(self, composition: Any) -> None:
        for op in composition.block.ops:
            entry = RULES.get(op.kind)
            smooth = entry is not None and entry.form != "no_gradient"
            if any(v in composition.needed for v in op.outputs) if smooth else entry is not None:
                self.seen_operators.add(op.kind)

    def wrap_table(self, table: MutableMapping[Any, Callable[..., Any]], name: Callable[[Any], str]) -> None:
        for key, function in list(table.items()):
            table[key] = self.watched_function(function, name(key))

    def watched_function(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def watched(*args: Any, **named: Any) -> Any:
            direct = name == "np.ufunc" or self.depth == 0
            if not (direct and tracing.is_recording() and tracing.current().place is None):
                return function(*args, **named)
            if name == "np.ufunc":
                return function(*args, **named)
            with self.inside():
                result = function(*args, **named)
            self.seen_traced.add(name)
            if self.checking:
                self.seen_functions.add(name)
            if any(isinstance(x, Array) and x.type.is_float for x in trees.flatten(result)[0]):
                self.gives_float.add(name)
            return result

        return watched

    @contextmanager
    def inside(self) -> Iterator[None]:
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    # pytest's hooks.

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Note what the test covers, if it passes."""
        self.seen_operators, self.seen_functions, self.seen_traced = set(), set(), set()
        yield
        where = item.nodeid.split("[")[0]
        for found, seen in (
            (self.operators, self.seen_operators),
            (self.functions, self.seen_functions),
            (self.traced, self.seen_traced),
        ):
            for name in seen:
                found.setdefault(name, []).append((len(seen), where))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that has failed in any of its cases covers nothing."""
        if report.failed:
            self.failed.add(report.nodeid.split("[")[0])

    def table(self) -> dict[str, dict[str, str]]:
        """The test of each operator and function."""
        functions = {**{n: t for n, t in self.traced.items() if n not in self.gives_float}, **self.functions}
        return {"operators": self.chosen(self.operators), "functions": self.chosen(functions)}

    def chosen(self, found: dict[str, list[tuple[int, str]]]) -> dict[str, str]:
        passed = {name: sorted(t for t in tests if t[1] not in self.failed) for name, tests in sorted(found.items())}
        return {name: tests[0][1] for name, tests in passed.items() if tests}


def main(arguments: list[str]) -> int:
    """Run the tests; write the table, or with `--check` compare it."""
    watcher = Watcher()
    watcher.install()
    only_check = "--check" in arguments
    given = [a for a in arguments if a != "--check"]
    outcome = pytest.main(["-q", "-p", "no:cacheprovider", *given], plugins=[watcher])
    made = watcher.table()
    if only_check:
        known = json.loads(TABLE.read_text())
        changed = [n for part in made for n in {*made[part], *known[part]} if (n in made[part]) != (n in known[part])]
        print("up to date" if not changed else f"{TABLE} is not up to date: {', '.join(sorted(changed))}")
        return int(bool(changed)) or int(outcome)
    TABLE.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(made['operators'])} operators and {len(made['functions'])} functions tested")
    return int(outcome)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

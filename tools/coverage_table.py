"""Make `primsplit/rules/tested.json`: a test for each operator's rule and each NumPy or SciPy function.

Runs the tests and watches them. An operator is covered by a test that passed and in which a check against central
differences (`check_grads`, `check_rrule`) differentiated it; an operator without a gradient, by a test that passed and
made a program with it. One with a definition is covered by a check, too, else by a test that passed and recorded it: it
is made of operators that are covered. One of sequences or optional values is covered by a test that passed and made a
gradient of a model that holds it. A function is covered by a test that passed and in which `check_grads` compared
second derivatives that went through a call of it; one that no gradient ever goes through, by a test that traced a call
of it. Of several tests one with symbolic sizes is named, and of those the one that covers the fewest things.

    python -m tools.coverage_table [--check] [pytest's arguments]

With `--check` nothing is written, and the exit status is 1 where the table would have other rows.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import primsplit
from primsplit.onnx.definitions.families import DEFINITIONS
from primsplit.rules.table import RULES
from tools.watching import Watcher

TABLE = Path(primsplit.__file__).parent / "rules" / "tested.json"
Tests = dict[str, list[tuple[int, str]]]


class Plugin:
    """Notes what each passing test covers."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self.tests: dict[str, Tests] = {key: {} for key in watcher.seen}
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Note what the test covers, if it passes."""
        self.watcher.clear()
        yield
        where = item.nodeid.split("[")[0]
        for key, names in self.watcher.seen.items():
            for name in names:
                self.tests[key].setdefault(name, []).append((len(names), where))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what failed: a test that fails in one of its cases covers nothing."""
        if report.failed:
            self.failed.add(report.nodeid.split("[")[0])

    def table(self) -> dict[str, dict[str, str]]:
        """The test of each operator and function."""
        without = {k for k, entry in RULES.items() if entry.form == "no_gradient"}
        written = {k: t for k, t in self.tests["written"].items() if k in without}
        recorded = {k: t for k, t in self.tests["recorded"].items() if k in DEFINITIONS}
        discrete = {n: t for n, t in self.tests["traced"].items() if n not in self.watcher.smooth}
        return {
            "operators": self.chosen({**written, **recorded, **self.tests["loaded"], **self.tests["differentiated"]}),
            "functions": self.chosen({**discrete, **self.tests["checked"], **self.tests["sized"]}),
        }

    def chosen(self, found: Tests) -> dict[str, str]:
        """One test for each name."""
        passed = {name: sorted(t for t in tests if t[1] not in self.failed) for name, tests in sorted(found.items())}
        return {name: tests[0][1] for name, tests in passed.items() if tests}


def main(arguments: list[str]) -> int:
    """Run the tests; write the table, or with `--check` compare it."""
    watcher = Watcher()
    watcher.install()
    plugin = Plugin(watcher)
    given = [a for a in arguments if a != "--check"]
    outcome = int(pytest.main(["-q", "-p", "no:cacheprovider", *given], plugins=[plugin]))
    made = plugin.table()
    if "--check" in arguments:
        known = json.loads(TABLE.read_text())
        changed = sorted({name for part in made for name in set(made[part]) ^ set(known[part])})
        print(f"{TABLE.name} would change: {', '.join(changed)}" if changed else f"{TABLE.name} is up to date")
        return int(bool(changed)) or outcome
    TABLE.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(made['operators'])} operators and {len(made['functions'])} functions tested")
    return outcome


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Which rules made the nodes of a file, and which rules of the user's made none."""

from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.audit.rules_used import rules_used, unused_rules
from primsplit.audit.written import read_written


@ps.primitive
def gently(x: Any) -> Any:
    return np.tanh(x)


@ps.rrule(gently)
def rule_of_gently(x: Any) -> Any:
    y = np.tanh(x)
    return y, lambda d: (d * (1.0 - y * y),)


@ps.primitive
def never(x: Any) -> Any:
    return x * 2.0


@ps.rrule(never)
def rule_of_never(x: Any) -> Any:
    return x * 2.0, lambda d: (d * 2.0,)


def f(x: Any) -> Any:
    y = gently(x) * np.sin(x)
    return np.sum(y)


LINE = f.__code__.co_firstlineno + 1


def rows(tmp_path: Path, function: Any = f, **named: Any) -> list[dict[str, Any]]:
    (path,) = ps.export(function, np.ones(3), path=tmp_path / "f.onnx", **named)
    return rules_used([read_written(path)], ps.trace(function, np.ones(3)).block)


def test_each_rule_has_its_nodes_its_lines_and_the_line_that_defines_it(tmp_path: Path) -> None:
    found = {row["rule"]: row for row in rows(tmp_path)}
    own = found["gently"]
    assert own["where"] == f"test_rules_used.py:{rule_of_gently.__code__.co_firstlineno}"
    assert (own["part"], own["form"], own["lines"]) == ("pullback", "call", [f"test_rules_used.py:{LINE}"])
    assert own["nodes"] >= 2
    assert found["Sin"]["where"].startswith("primsplit/rules/")
    written = read_written(str(tmp_path / "f.onnx"))
    assert sum(row["nodes"] for row in found.values()) == sum("of" in op.remark.split() for op in written.ops())


def test_a_tangent_is_a_part_of_its_own(tmp_path: Path) -> None:
    assert {row["part"] for row in rows(tmp_path, mode="jvp")} == {"tangent"}


def test_rules_of_the_users_that_made_no_node_are_listed(tmp_path: Path) -> None:
    found = unused_rules(rows(tmp_path), {"gently": gently, "never": never, "other": 3})
    told = f"test_rules_used.py:{rule_of_never.__code__.co_firstlineno}"
    assert {"rule": "never", "of": "primitive", "where": told} in found
    assert "gently" not in [row["rule"] for row in found]
    without = unused_rules(rows(tmp_path, lambda x: np.sum(x * x)), {"gently": gently})
    assert "gently" in [row["rule"] for row in without]

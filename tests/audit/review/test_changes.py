"""Which statements two files do not share, in which order and under which names."""

from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.audit.review.difference import Difference, difference
from primsplit.audit.written import read_written

X = np.linspace(0.5, 1.5, 6, dtype=np.float32)


def compared(old: Any, new: Any, folder: Path, **options: Any) -> Difference:
    paths = [ps.export(f, X, path=folder / f"{n}.onnx", **options)[0] for n, f in (("old", old), ("new", new))]
    return difference(*map(read_written, paths))


def old(x: Any) -> Any:
    a = np.exp(x) * x
    b = np.tanh(a)
    return np.sum(b * b)


def new(x: Any) -> Any:
    a = np.exp(x) * x + 1.0
    b = np.sin(a)
    return np.sum(b * b)


def test_changes_are_in_the_order_of_the_new_file(tmp_path: Path) -> None:
    found = compared(old, new, tmp_path, mode="value")
    assert [c.after.lines[0] for c in found.changes if c.after] == [
        "mul_x = Mul(exp_x, x)",
        "a = Add(mul_x, 1.0)",
        "b = Sin(a)",
    ]


def test_old_statements_have_the_new_names_of_what_is_in_both(tmp_path: Path) -> None:
    def first(x: Any) -> Any:
        return np.exp(np.tanh(x) * 2.0)

    def second(x: Any) -> Any:
        return np.sin(np.tanh(x) * 2.0 * np.tanh(x * 3.0))

    found = compared(first, second, tmp_path, mode="value")
    names = {*found.after.names.values()}
    read = {line.split("(")[1].split(",")[0].rstrip(")") for c in found.changes if c.before for line in c.before.lines}
    assert read <= names | {f"{name}_before" for name in names}


def test_every_node_is_counted_once_on_each_side(tmp_path: Path) -> None:
    found = compared(old, new, tmp_path)
    total = {s: sum(counts[s] for counts in found.counts.values()) for s in ("same", "changed", "added", "removed")}
    assert total["same"] + total["changed"] + total["added"] == len([*found.after.ops()])
    assert total["same"] + total["changed"] + total["removed"] == len([*found.before.ops()])


def test_a_change_is_a_row_of_json_with_both_sides(tmp_path: Path) -> None:
    found = compared(lambda x: np.tanh(x), lambda x: np.sin(x), tmp_path, mode="value")
    (row,) = (change.as_dict() for change in found.changes)
    assert (row["status"], row["section"], row["inside"], row["nodes"]) == ("changed", "forward", [], 1)
    assert (row["before"]["statement"], row["after"]["statement"]) == ("y = Tanh(x)", "y = Sin(x)")
    assert row["after"]["place"].startswith("test_changes.py:")
    assert "np.sin(x)" in row["after"]["source"]


def test_a_loop_that_is_in_one_file_alone_is_one_change_of_all_its_nodes(tmp_path: Path) -> None:
    def looped(x: Any) -> Any:
        return ps.fori_loop(0, 50, lambda i, c: np.sin(c) + 1.0, x)

    found = compared(lambda x: x * 2.0, looped, tmp_path, mode="value")
    (change,) = found.changes
    assert change.nodes == len([*found.after.ops()])
    assert sum(counts["added"] + counts["changed"] for counts in found.counts.values()) == change.nodes

"""Changes in unified form, under the user's lines."""

from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.audit.review.difference import difference
from primsplit.audit.review.listing import unified
from primsplit.audit.written import read_written

X = np.linspace(-1.0, 1.0, 6, dtype=np.float32)


def listing(old: Any, new: Any, folder: Path, *arrays: Any, whole: bool = False, mode: Any = "value") -> list[str]:
    paths = [
        ps.export(f, *(arrays or (X,)), path=folder / f"{n}.onnx", mode=mode)[0]
        for n, f in (("old", old), ("new", new))
    ]
    return unified(difference(*map(read_written, paths)).changes, whole=whole)


def test_a_changed_line_stands_above_its_statements(tmp_path: Path) -> None:
    def old(x: Any) -> Any:
        h = np.tanh(x)
        return h * 2.0

    def new(x: Any) -> Any:
        h = np.sin(x)
        return h * 2.0

    at = [f.__code__.co_firstlineno + 1 for f in (old, new)]
    assert listing(old, new, tmp_path) == [
        "  forward",
        f"- # h = np.tanh(x)  test_listing.py:{at[0]}",
        f"+ # h = np.sin(x)  test_listing.py:{at[1]}",
        "- h = Tanh(x)",
        "+ h = Sin(x)",
    ]


def test_a_line_that_is_the_same_is_told_once_and_as_grad_of_it_in_the_backward_pass(tmp_path: Path) -> None:
    def by(factor: float) -> Any:
        return lambda x: factor * np.sum(np.tanh(x))

    lines = listing(by(2.0), by(3.0), tmp_path, mode="gradient")
    assert sum("return lambda x: factor" in line for line in lines) == 2
    assert sum("# Grad of: return lambda x: factor" in line for line in lines) == 1
    assert all(line[:2] in {"  ", "- ", "+ "} for line in lines)


def test_statements_in_a_body_stand_under_its_head(tmp_path: Path) -> None:
    def looped(step: Any) -> Any:
        return lambda x: ps.fori_loop(0, 50, lambda i, c: step(c), x)

    lines = listing(looped(np.tanh), looped(np.sin), tmp_path)
    (old,) = (i for i, line in enumerate(lines) if "Tanh" in line)
    assert lines[old - 1] == "    body"
    assert "Loop(" in lines[old - 2]
    assert lines[old].startswith("-     ")


def test_a_long_body_in_one_file_alone_is_counted_unless_it_is_asked_for_whole(tmp_path: Path) -> None:
    def long(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            for _ in range(12):
                c = np.sin(c) + 1.0
            return c

        return ps.fori_loop(0, 50, step, x)

    def short(x: Any) -> Any:
        return x * 2.0

    lines, whole = listing(short, long, tmp_path), listing(short, long, tmp_path, whole=True)
    inside = sum(" = " in line for line in whole if line.startswith("+   "))
    assert lines[-1] == f"+   ... {inside} statements inside (--all)"
    assert sum("Sin(" in line for line in lines) == 0
    assert sum("Sin(" in line for line in whole) == 12


def test_text_of_a_file_breaks_no_line() -> None:
    from primsplit.audit.review.changes import Change, Listed

    change = Change("added", "forward", (), None, Listed(("y = A(x)\n+ z = B(x)",), None, ""), 1, None)
    assert len(unified([change])) == 2

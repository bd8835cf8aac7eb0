"""Rows in panes, under the heads that fold them."""

from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from primsplit.audit.page.every_node import every_node
from primsplit.audit.page.outline import Linked, Named, Outline, named_constant
from primsplit.audit.page.places import Lines
from primsplit.audit.written import Written
from primsplit.ir import Const
from tests.audit.page.pages import SPECS, STEPS, loss, total, written


def outlined(files: list[Written]) -> Outline:
    return Outline([*map(every_node, files)], Lines(files), frozenset({"d_y"}))


def test_the_pullback_stands_in_the_second_pane_under_remarks(tmp_path: Path) -> None:
    forward, backward = outlined(written(tmp_path, loss, *SPECS, wrt="w")).panes
    assert [row.text for row in forward if row.kind == "part"] == ["Inputs", "Forward"]
    assert [row.text for row in backward if row.kind == "part"] == ["Inputs", "Backward"]
    assert next(row.text for row in backward if row.kind == "ends") == "d_y"
    grads = [row.text for row in backward if row.kind == "grad"]
    assert grads[0] == "# Grad of: return np.sum(h * h, axis=1)"
    assert grads[-1] == "# Grad of: hidden = np.tanh(x @ w)"
    assert [row.text for row in forward if row.kind == "line"] == [
        "# hidden = np.tanh(x @ w)",
        "# return np.sum(h * h, axis=1)",
    ]
    assert [row.text for row in forward if row.kind == "function"] == ["loss", "squares"]


def test_the_nodes_of_heads_are_those_of_their_rows(tmp_path: Path) -> None:
    (file,) = written(tmp_path, total, *STEPS)
    for pane in outlined([file]).panes:
        told = sum(row.nodes for row in pane if row.kind == "part")
        assert told == sum(row.nodes for row in pane if row.kind == "statement") > 0


def test_the_files_of_a_pair_have_a_pane_each(tmp_path: Path) -> None:
    files = written(tmp_path, loss, *SPECS, wrt="w", form="split")
    forward, backward = outlined(files).panes
    assert [row.text for row in forward if row.assigned == ("hidden",)] == ["hidden = np.tanh(matmul_x)"]
    assert {"hidden", "d_y"} <= {row.text for row in backward if row.kind == "ends"}
    assert [pane[-1].text for pane in (forward, backward)] == ["return y, hidden", "return d_w"]


@pytest.mark.parametrize("form", ["joint", "split", "functions"])
@pytest.mark.parametrize(("function", "specs"), [(loss, SPECS), (total, STEPS)])
def test_links_lead_to_rows_that_define_the_name(tmp_path: Path, function: Any, specs: Any, form: Any) -> None:
    linked = Linked(outlined(written(tmp_path, function, *specs, form=form)).panes)
    count = 0
    for i, row in enumerate(linked.for_json()):
        links = row.get("a", [])
        for start, length, target in zip(links[::3], links[1::3], links[2::3], strict=True):
            name = row["t"][start : start + length]
            assert name in linked.rows[target].assigned
            assert linked.rows[target].scope == linked.rows[i].scope
            count += 1
    assert count > len(linked.rows) / 2


def test_bodies_are_folded_with_the_heads_of_loops(tmp_path: Path) -> None:
    (file,) = written(tmp_path, total, *STEPS)
    forward = outlined([file]).panes[0]
    head = next(i for i, row in enumerate(forward) if row.text.startswith("for "))
    body = [row for row in forward[head + 1 :] if row.row is not None]
    assert body[0].level > forward[head].level


def test_a_head_folds_its_own_group_alone(tmp_path: Path) -> None:
    for pane in outlined(written(tmp_path, loss, *SPECS, wrt="w")).panes:
        for i, head in enumerate(pane):
            if head.kind in {"line", "grad"}:
                below = list(takewhile(lambda row: row.level > head.level, pane[i + 1 :]))  # noqa: B023
                assert below
                assert {row.line for row in below} == {head.line}


def test_heads_inside_of_bodies_are_indented_like_their_rows(tmp_path: Path) -> None:
    (file,) = written(tmp_path, total, *STEPS)
    heads = 0
    for pane in outlined([file]).panes:
        for head, row in pairwise(pane):
            if head.kind in {"line", "grad"}:
                assert head.depth == row.depth
                heads += row.depth > 0
    assert heads


def test_a_constant_shows_its_numbers_where_they_are_few() -> None:
    small, long = Const(np.array([1.0, 0.5])), Const(np.linspace(0.0, 1.0, 100) / 3.0 - 1.0)
    assert named_constant("c", small) == Named("c", "[1.0, 0.5]  float64[2]")
    assert named_constant("c", long) == Named("c", "-1 to -0.6667  float64[100]")
    assert named_constant("c", Const(np.array([1 / 3, 2 / 3]))) == Named("c", "float64[2]")

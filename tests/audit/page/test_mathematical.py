"""The view as mathematics."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from primsplit.audit.math_style import list_as_mathematics
from primsplit.audit.page.mathematical import mathematical
from tests.audit.page.pages import SPECS, STEPS, loss, total, written


def test_rows_are_the_statements_of_the_listing(tmp_path: Path) -> None:
    (file,) = written(tmp_path, loss, *SPECS, wrt="w")
    (graph,) = mathematical(file).functions
    listed = list_as_mathematics(file)
    for row in graph.rows:
        assert row.text in listed
    hidden = graph.rows[0]
    assert (hidden.text, hidden.shape, hidden.assigned) == ("hidden = tanh(x @ w)", "[N, 4]", ("hidden",))
    assert [row.of for row in graph.rows if row.section == "backward"][-1] == hidden.text


@pytest.mark.parametrize(("function", "specs"), [(loss, SPECS), (total, STEPS)])
@pytest.mark.parametrize("form", ["joint", "split"])
def test_every_node_is_in_a_row_or_counted_as_hidden(tmp_path: Path, function: Any, specs: Any, form: Any) -> None:
    for file in written(tmp_path, function, *specs, form=form):
        (graph,) = mathematical(file).functions
        shown = {op for row in graph.rows for op in row.ops}
        assert len(shown) + sum(graph.hidden.values()) == len([*file.ops()])


def test_steps_are_below_the_head_of_their_loop(tmp_path: Path) -> None:
    (file,) = written(tmp_path, total, *STEPS)
    rows = mathematical(file).functions[0].rows
    head = next(i for i, row in enumerate(rows) if row.text.startswith("for t in"))
    assert rows[head].assigned == ("t",)
    assert rows[head + 1].depth == rows[head].depth + 1
    assert "[t" in rows[head + 1].text


def test_the_constants_are_those_that_a_row_reads(tmp_path: Path) -> None:
    """A matrix has a name and is read; the numbers of a shape stand in no row."""
    weights = np.linspace(0.0, 1.0, 12, dtype=np.float32).reshape(3, 4)
    (file,) = written(tmp_path, lambda x: np.sum(np.tanh(x @ weights).reshape(-1, 2), axis=1), SPECS[1], mode="value")
    (graph,) = mathematical(file).functions
    (constant,) = graph.constants
    assert f"@ {constant.name}" in graph.rows[0].text
    assert "float32[3,4]" in constant.type

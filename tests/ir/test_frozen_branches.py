"""The warning of branches that a file's constants decide."""

import json
import warnings

import pytest

from primsplit.ir.errors import FrozenBranchWarning, Place
from primsplit.ir.frozen_branches import FrozenBranch, report_frozen

PLACE = Place("user_of_frozen_branches.py", 7, "f")


def branch(node: str) -> FrozenBranch:
    """A frozen If."""
    return FrozenBranch("If", node, "cond", True, "then_branch always runs", Place("m.onnx", 3, "main"))


def test_a_branch_is_told_in_one_line_and_as_json_values() -> None:
    assert str(branch("if\n1")) == r"the condition cond of the If if\n1 is always True: then_branch always runs"
    assert json.loads(json.dumps(branch("a").as_dict())) == {
        "kind": "If", "node": "a", "condition": "cond", "value": True, "runs": "then_branch always runs",
        "place": "m.onnx:3 in main",
    }  # fmt: skip


@pytest.mark.parametrize(("count", "more"), [(1, None), (3, None), (4, "; and 1 more,"), (9, "; and 6 more,")])
def test_one_warning_at_the_users_line_names_the_first_three(count: int, more: str | None) -> None:
    with pytest.warns(FrozenBranchWarning) as caught:
        report_frozen(f"{count}.onnx", [branch(f"node{i}") for i in range(count)], PLACE)
    (warning,) = caught
    assert (warning.filename, warning.lineno) == (PLACE.filename, PLACE.line)
    text = str(warning.message)
    assert text.startswith(f"{count}.onnx: the condition cond of the If node0 is always True")
    assert [f"node{i} " in text for i in range(count)] == [i < 3 for i in range(count)]
    assert more in text if more else "more," not in text


def test_no_branch_or_no_line_gives_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report_frozen("m.onnx", [], PLACE)
        report_frozen("m.onnx", [branch("a")], None)

"""Decision trees: the leaves that rows of features lead to, by comparisons of NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ParseError
from primsplit.onnx.definitions.forests import Branch, Forest

MODES: dict[str, Callable[[Any, Any], Any]] = {
    "BRANCH_LEQ": np.less_equal, "BRANCH_LT": np.less, "BRANCH_GTE": np.greater_equal, "BRANCH_GT": np.greater,
    "BRANCH_EQ": np.equal, "BRANCH_NEQ": np.not_equal,
}  # fmt: skip
X = np.array([[-1.0], [0.5], [2.0], [np.nan]])


def leaves(forest: Forest, x: Any) -> Any:
    return ps.trace(lambda x: forest.leaves(x, np.float32), ps.spec("float64", ["N", x.shape[1]]))(x)


@pytest.mark.parametrize("tracks", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_a_branch_leads_where_its_comparison_says_and_nan_where_it_is_told(mode: str, tracks: bool) -> None:
    """NaN is unlike every number; `tracks` sends it to the true side whatever the comparison says."""
    is_true = MODES[mode](X[:, 0], 0.5)
    is_true[3] |= tracks
    found = leaves(Forest([Branch(0, 0.5, mode, 1, 2, tracks), None, None], [0]), X)
    np.testing.assert_array_equal(found[:, 0], np.where(is_true, 1, 2))


def test_trees_of_several_depths_are_walked_at_once() -> None:
    """The first tree asks twice, the second is a leaf."""
    nodes = [Branch(1, 0.0, "BRANCH_LT", 1, 2), Branch(0, 1.0, "BRANCH_GT", 3, 4), None, None, None, None]
    forest = Forest(nodes, [0, 5])
    assert forest.steps() == 2
    rows = np.array([[2.0, -1.0], [0.0, -1.0], [0.0, 1.0]])
    np.testing.assert_array_equal(leaves(forest, rows), [[3, 5], [4, 5], [2, 5]])
    assert leaves(forest, rows[:0]).shape == (0, 2)


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        ([Branch(0, 0.0, "BRANCH_LT", 0, 1), None], "lead back to one another"),
        ([Branch(0, 0.0, "BRANCH_LT", 1, 7), None], "no node 7"),
        ([Branch(0, 0.0, "BRANCH_NEAR", 1, 1), None], "BRANCH_NEAR is no comparison"),
    ],
)
def test_what_is_no_tree_is_refused(nodes: list[Branch | None], told: str) -> None:
    with pytest.raises(ParseError, match=told):
        leaves(Forest(nodes, [0]), X)

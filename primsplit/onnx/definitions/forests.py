"""Evaluate decision trees: tables of their nodes, and the leaves that rows of features lead to.

A step looks up the feature and the threshold of the node at which a row stands, and the node that the comparison leads
to; a leaf leads to itself. So all rows walk all trees at once, in elementwise operators.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.ir.errors import ParseError
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.broadcasting import expand_to
from primsplit.tracing.control import fori_loop
from primsplit.tracing.operators import cast_to

Table = npt.NDArray[Any]
UNORDERED = 3
ANSWERS: Mapping[str, tuple[int, int, int, int]] = {
    "BRANCH_LEQ": (1, 1, 0, 0),
    "BRANCH_LT": (1, 0, 0, 0),
    "BRANCH_GTE": (0, 1, 1, 0),
    "BRANCH_GT": (0, 0, 1, 0),
    "BRANCH_EQ": (0, 1, 0, 0),
    "BRANCH_NEQ": (1, 0, 1, 1),
}
"""Whether the true branch is taken if a feature is less than the threshold, equal, greater, or NaN."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A node that compares a feature with a threshold; `tracks` is whether NaN takes the true branch too."""

    feature: int
    threshold: float
    mode: str
    if_true: int
    if_false: int
    tracks: bool = False

    def children(self) -> list[int]:
        """Return the nodes that the four outcomes lead to. Raises ParseError for an unknown comparison."""
        if self.mode not in ANSWERS:
            raise ParseError(f"{self.mode} is no comparison of a tree")
        answers = list(ANSWERS[self.mode])
        answers[UNORDERED] |= self.tracks
        return [self.if_true if answer else self.if_false for answer in answers]


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees by their roots. `nodes` holds None for a leaf."""

    nodes: Sequence[Branch | None]
    roots: Sequence[int]

    def steps(self) -> int:
        """Return the number of comparisons of the longest path. Raises ParseError for a path without an end."""
        count, level = 0, set(self.roots)
        while True:
            branches = [self.node(i) for i in level]
            level = {i for b in branches if b is not None for i in (b.if_true, b.if_false)}
            if not level:
                return count
            count += 1
            if count > len(self.nodes):
                raise ParseError("the nodes of a tree lead back to one another")

    def node(self, place: int) -> Branch | None:
        """Return the node at a position. Raises ParseError if there is none."""
        if not 0 <= place < len(self.nodes):
            raise ParseError(f"a tree has no node {place}")
        return self.nodes[place]

    def leaves(self, x: Array, dtype: Any) -> Array:
        """Return the leaf, [rows, trees], that each row of `x` [rows, features] leads to.

        Thresholds are of this dtype.
        """
        steps, told = self.steps(), np.result_type(x.dtype, dtype)
        rows = cast_to(x, told)
        features = np.array([0 if b is None else b.feature for b in self.nodes], np.int64)
        thresholds = np.array([0 if b is None else b.threshold for b in self.nodes], dtype).astype(told)
        lead = [[i] * 4 if b is None else b.children() for i, b in enumerate(self.nodes)]
        children = np.array(lead, np.int64).reshape(-1)

        def step(_: Any, at: Array) -> Any:
            value = op.GatherElements(rows, op.Gather(features, at), axis=1)
            threshold = op.Gather(thresholds, at)
            outcomes = (op.Less(value, threshold), op.Equal(value, threshold), op.Greater(value, threshold))
            below, equal, above = (op.Cast(o, to=np.int64) for o in outcomes)
            outcome = UNORDERED - 3 * below - 2 * equal - above
            return op.Gather(children, 4 * at + outcome)

        start = expand_to(as_array(np.array([self.roots], np.int64)), (x.shape[0], len(self.roots)))
        return fori_loop(0, steps, step, start) if steps else start

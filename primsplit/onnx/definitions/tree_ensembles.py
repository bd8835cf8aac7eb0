"""Define ensembles of decision trees, of `ai.onnx.ml`. Between thresholds their values are constant: see `jumps`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primsplit.ir.errors import ParseError, UnsupportedFunction
from primsplit.onnx.definitions.forests import Branch, Forest, Table
from primsplit.onnx.definitions.jumps import jumping
from primsplit.onnx.definitions.scores import labelled, numbers, rounded, transformed
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.broadcasting import expand_to, reshape_to
from primsplit.tracing.operators import cast_to

Votes = Sequence[tuple[int, int, float]]
"""A leaf, a target, and the leaf's weight for it."""
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
NEUTRAL = {"add": 0.0, "min": np.inf, "max": -np.inf}


def _told(attributes: Mapping[str, Any], name: str) -> Table:
    """Return numbers given as a tensor or as a list, which is float32; none if they are not given."""
    tensor = attributes.get(f"{name}_as_tensor")
    return np.array(attributes.get(name, ()), np.float32) if tensor is None else np.asarray(tensor)


def _forest(attributes: Mapping[str, Any]) -> tuple[Forest, dict[tuple[int, int], int]]:
    """Return the trees given by ids, and the position of each node by its tree and id."""
    keys = list(zip(attributes["nodes_treeids"], attributes["nodes_nodeids"], strict=True))
    places = {key: i for i, key in enumerate(keys)}
    values = _told(attributes, "nodes_values")
    tracks = attributes.get("nodes_missing_value_tracks_true") or [0] * len(keys)
    modes, features = attributes["nodes_modes"], attributes["nodes_featureids"]
    ends = zip(attributes["nodes_truenodeids"], attributes["nodes_falsenodeids"], strict=True)
    nodes: list[Branch | None] = []
    for (tree, _), mode, feature, value, sides, tracked in zip(
        keys, modes, features, values, ends, tracks, strict=True
    ):
        if_true, if_false = (-1 if mode == "LEAF" else places.get((tree, side), -1) for side in sides)
        branch = Branch(feature, float(value), mode, if_true, if_false, bool(tracked))
        nodes.append(None if mode == "LEAF" else branch)
    led_to = {i for b in nodes if b is not None for i in (b.if_true, b.if_false)}
    return Forest(nodes, [i for i in range(len(nodes)) if i not in led_to]), places


def _votes(attributes: Mapping[str, Any], what: str, places: Mapping[tuple[int, int], int]) -> Votes:
    """Return the leaves' weights for the targets or classes."""
    keys = zip(attributes[f"{what}_treeids"], attributes[f"{what}_nodeids"], strict=True)
    weights = _told(attributes, f"{what}_weights")
    found = zip(keys, attributes[f"{what}_ids"], weights, strict=True)
    return [(places[key], int(target), float(weight)) for key, target, weight in found]


def _scores(
    x: Array, forest: Forest, votes: Votes, targets: int, dtypes: tuple[Any, Any], aggregate: str = "SUM"
) -> Array:
    """Return the sum of the weights of each row's leaves for each target, [rows, targets].

    `dtypes` are those of thresholds and of votes.
    """
    if aggregate not in AGGREGATES:
        raise ParseError(f"{aggregate} is no way to join what the trees give")
    wide = numbers(x) if len(x.shape) > 1 else op.Unsqueeze(numbers(x), [0])
    if wide.dtype == np.float16:
        wide = op.Cast(wide, to=np.float32)
    dtype = np.result_type(wide.dtype, dtypes[1])
    reduction = {"MIN": "min", "MAX": "max"}.get(aggregate, "add")
    slots = max(Counter(leaf for leaf, _, _ in votes).values(), default=1)
    places = np.zeros((len(forest.nodes), slots), np.int64)
    given = np.full(places.shape, NEUTRAL[reduction], dtype)
    taken: Counter[int] = Counter()
    for leaf, target, weight in votes:
        if not 0 <= target < targets:
            raise ParseError(f"a leaf gives something to target {target} of {targets}")
        places[leaf, taken[leaf]], given[leaf, taken[leaf]] = target, weight
        taken[leaf] += 1
    leaves, rows = forest.leaves(wide, dtypes[0]), wide.shape[0]
    at, what = (reshape_to(op.Gather(t, leaves), (rows, len(forest.roots) * slots)) for t in (places, given))
    start = expand_to(as_array(np.full((1, 1), NEUTRAL[reduction], dtype)), (rows, targets))
    found = op.ScatterElements(start, at, what, axis=1, reduction=reduction)
    if reduction != "add":
        return op.Where(op.IsInf(found), np.zeros((), dtype), found)
    return found / float(len(forest.roots)) if aggregate == "AVERAGE" else found


@defines("ai.onnx.ml::TreeEnsembleRegressor")
def regressor(
    x: Array,
    *,
    outputs: int = 1,
    n_targets: int = 1,
    aggregate_function: str = "SUM",
    post_transform: str = "NONE",
    **attributes: Any,
) -> Any:
    """The sums (or means, least or greatest) over the trees and the base values, transformed: [rows, targets]."""
    forest, places = _forest(attributes)
    dtypes = _told(attributes, "nodes_values").dtype, _told(attributes, "target_weights").dtype
    scores = _scores(x, forest, _votes(attributes, "target", places), n_targets, dtypes, aggregate_function)
    base = _told(attributes, "base_values").astype(scores.dtype)
    made = rounded(transformed(op.Add(scores, base) if base.size else scores, post_transform))
    return jumping(made, x, "TreeEnsembleRegressor")


@defines("ai.onnx.ml::TreeEnsembleClassifier")
def classifier(
    x: Array,
    *,
    outputs: int = 1,
    classlabels_int64s: Sequence[int] = (),
    classlabels_strings: Sequence[str] = (),
    post_transform: str = "NONE",
    **attributes: Any,
) -> tuple[Any, Any]:
    """Return the label of the greatest score, and the scores, transformed: [rows, classes].

    For two classes, the leaves give only a score of the second one, under the number 0, as exporters write it.
    """
    labels = classlabels_strings or classlabels_int64s
    forest, places = _forest(attributes)
    votes, base = _votes(attributes, "class", places), _told(attributes, "base_values")
    is_one = len(labels) == 2 and not any(target for _, target, _ in votes) and base.size <= 1
    if len(labels) < 3 and not is_one:
        raise UnsupportedFunction(
            "TreeEnsembleClassifier of one class, or of two with scores each, means another thing in each runtime",
            cure="Export the scores of the two classes as those of one, the second (class_ids of 0).",
        )
    dtypes = _told(attributes, "nodes_values").dtype, _told(attributes, "class_weights").dtype
    scores = _scores(x, forest, votes, 1 if is_one else len(labels), dtypes)
    scores = op.Add(scores, base.astype(scores.dtype)) if base.size else scores
    if not is_one:
        likely = rounded(transformed(scores, post_transform))
        return labelled(op.ArgMax(scores, axis=1, keepdims=0), labels), jumping(likely, x, "TreeEnsembleClassifier")
    # Weights of which none is negative are taken for probabilities.
    is_likely = all(weight >= 0 for _, _, weight in votes)
    second = op.Greater(op.Squeeze(scores, [1]), np.asarray(0.5 if is_likely else 0.0, scores.dtype))
    is_logistic = post_transform == "LOGISTIC"
    first = op.Sub(np.ones((), scores.dtype), scores) if is_likely and not is_logistic else op.Neg(scores)
    both = op.Concat(first, scores, axis=1)
    likely = rounded(op.Sigmoid(both) if is_logistic else both)
    return labelled(op.Cast(second, to=np.int64), labels), jumping(likely, x, "TreeEnsembleClassifier")


@defines("ai.onnx.ml::TreeEnsemble")
def ensemble(
    x: Array,
    *,
    outputs: int = 1,
    n_targets: int = 1,
    aggregate_function: int = 1,
    post_transform: int = 0,
    **attributes: Any,
) -> Any:
    """Leaves are separate from the branches, which may test whether a feature is a member of a set."""
    branches, count = _branches(attributes), len(attributes["nodes_modes"])
    leaves = len(attributes["leaf_targetids"])
    nodes: list[Branch | None] = [*branches[:count], *[None] * leaves, *branches[count:]]
    weights, splits = np.asarray(attributes["leaf_weights"]), np.asarray(attributes["nodes_splits"])
    given = zip(attributes["leaf_targetids"], weights, strict=True)
    votes = [(count + i, int(target), float(weight)) for i, (target, weight) in enumerate(given)]
    forest = Forest(nodes, [int(i) for i in attributes["tree_roots"]])
    scores = _scores(x, forest, votes, n_targets, (splits.dtype, weights.dtype), AGGREGATES[aggregate_function])
    made = transformed(scores, TRANSFORMS[post_transform])
    return jumping(cast_to(made, x.dtype), x, "TreeEnsemble")


def _branches(attributes: Mapping[str, Any]) -> list[Branch]:
    """Return the branches, whose leaves are counted behind them; behind those, further nodes of sets.

    A set is a chain of comparisons with its members.
    """
    count, leaves = len(attributes["nodes_modes"]), len(attributes["leaf_targetids"])
    sets = iter(_sets(np.asarray(attributes.get("membership_values", ()), np.float64)))
    tracks = attributes.get("nodes_missing_value_tracks_true") or [0] * count
    sides = [
        [end + count if is_leaf else end for end, is_leaf in zip(ends, are_leaves, strict=True)]
        for ends, are_leaves in (
            (attributes["nodes_truenodeids"], attributes["nodes_trueleafs"]),
            (attributes["nodes_falsenodeids"], attributes["nodes_falseleafs"]),
        )
    ]
    found: list[Branch] = []
    more: list[Branch] = []
    rows = zip(attributes["nodes_featureids"], attributes["nodes_splits"], attributes["nodes_modes"], *sides, tracks,
               strict=True)  # fmt: skip
    for feature, split, number, if_true, if_false, tracked in rows:
        mode = MODES[int(number)]
        members = [float(split)] if mode != "BRANCH_MEMBER" else next(sets, []) or [np.nan]
        mode = "BRANCH_EQ" if mode == "BRANCH_MEMBER" else mode
        chain = [count + leaves + len(more) + i for i in range(len(members) - 1)]
        links = [
            Branch(int(feature), member, mode, if_true, after, bool(tracked))
            for member, after in zip(members, [*chain, if_false], strict=True)
        ]
        found.append(links[0])
        more += links[1:]
    return found + more


def _sets(values: Table) -> list[list[float]]:
    """Return the sets of members, each ended by NaN."""
    ends = np.flatnonzero(np.isnan(values))
    return [[float(v) for v in part if not np.isnan(v)] for part in np.split(values, ends)]

"""Define support vector machines of `ai.onnx.ml`: sums of kernels between a row of features and the support vectors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit.ir.errors import UnsupportedFunction
from primsplit.numpy.linear.solving import solve
from primsplit.onnx.definitions.jumps import jumping
from primsplit.onnx.definitions.scores import labelled, numbers, rounded, transformed
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array


def kernel_values(x: Array, vectors: np.ndarray[Any, Any], kind: str, parameters: Sequence[float]) -> Any:
    """Return the kernel [rows, vectors] of each row with each vector.

    `parameters` are gamma, the constant, the degree.
    """
    gamma, constant, degree = parameters or (0.0, 0.0, 0.0)
    product = op.MatMul(x, np.ascontiguousarray(vectors.T.astype(x.dtype)))
    if kind == "LINEAR":
        return product
    if kind == "RBF":
        # The squares are summed of differences, as the kernel of onnxruntime has it: |x|^2 - 2 x v + |v|^2 cancels.
        difference = op.Sub(op.Unsqueeze(x, [1]), vectors.astype(x.dtype))
        square = op.ReduceSum(op.Mul(difference, difference), [-1], keepdims=0)
        return op.Exp(op.Mul(square, -gamma))
    if kind == "POLY":
        return op.Pow(op.Add(op.Mul(product, gamma), constant), np.asarray(degree, x.dtype))
    if kind == "SIGMOID":
        return op.Tanh(op.Add(op.Mul(product, gamma), constant))
    raise UnsupportedFunction(f"{kind} is no kernel of a support vector machine")


@defines("ai.onnx.ml::SVMRegressor")
def regressor(
    x: Array,
    *,
    outputs: int = 1,
    coefficients: Sequence[float],
    kernel_params: Sequence[float] = (),
    kernel_type: str = "LINEAR",
    n_supports: int = 0,
    one_class: int = 0,
    post_transform: str = "NONE",
    rho: Sequence[float],
    support_vectors: Sequence[float] = (),
) -> Any:
    """Return `kernels @ coefficients + rho`, one score per row.

    For a `one_class` machine its sign, without a derivative.

    Without support vectors the coefficients are those of the features.
    """
    wide = numbers(x)
    weights = np.array(coefficients, wide.dtype).reshape(-1, 1)
    if n_supports > 0:
        vectors = np.array(support_vectors).reshape(n_supports, -1)
        scores = op.MatMul(kernel_values(wide, vectors, kernel_type, kernel_params), weights)
    else:
        scores = op.MatMul(wide, weights)
    scores = op.Add(scores, np.asarray(rho[0], wide.dtype))
    if one_class:
        one = np.ones((), wide.dtype)
        sign = op.Where(op.Greater(scores, np.zeros((), wide.dtype)), one, -one)
        scores = jumping(sign, scores, "SVMRegressor", "of one class, its value is a sign")
    return rounded(scores)


@defines("ai.onnx.ml::SVMClassifier")
def classifier(
    x: Array,
    *,
    outputs: int = 1,
    classlabels_ints: Sequence[int] = (),
    classlabels_strings: Sequence[str] = (),
    coefficients: Sequence[float],
    kernel_params: Sequence[float] = (),
    kernel_type: str = "LINEAR",
    post_transform: str = "NONE",
    prob_a: Sequence[float] = (),
    prob_b: Sequence[float] = (),
    rho: Sequence[float],
    support_vectors: Sequence[float] = (),
    vectors_per_class: Sequence[int] = (),
) -> tuple[Any, Any]:
    """Return the label with most votes of the pairwise classifiers, and their scores, transformed.

    Without support vectors there is one linear score per class. For two classes there are two scores; with `prob_a`
    they are the probabilities of all classes. onnxruntime computes these by an iteration that stops early: it is off by
    up to 0.002 from the results here.
    """
    wide = numbers(x)
    labels = classlabels_strings or classlabels_ints
    count = len(labels)
    if not sum(vectors_per_class):
        scores = _linear_scores(wide, coefficients, count, rho[0])
        return labelled(op.ArgMax(scores, axis=1, keepdims=0), labels), rounded(transformed(scores, post_transform))
    vectors = np.array(support_vectors).reshape(sum(vectors_per_class), -1)
    kernels = kernel_values(wide, vectors, kernel_type, kernel_params)
    mixing, votes = _pairs(np.array(coefficients), list(vectors_per_class))
    scores = op.Add(op.MatMul(kernels, mixing.astype(wide.dtype)), np.array(rho[: mixing.shape[1]], wide.dtype))
    wins = op.Cast(op.Greater(scores, np.zeros((), wide.dtype)), to="float32")
    tally = op.Add(op.MatMul(wins, votes[0] - votes[1]), votes[1].sum(0))
    label = labelled(op.ArgMax(tally, axis=1, keepdims=0), labels)
    if len(prob_a):
        likely = _likely(scores, prob_a, prob_b)
        shares = _probabilities(likely) if count == 2 else _coupled(likely, votes)
        return label, rounded(transformed(shares, post_transform))
    return label, rounded(_shown(scores, count, post_transform))


def _linear_scores(x: Array, coefficients: Sequence[float], classes: int, offset: float) -> Any:
    """Return one score per class, of the features themselves."""
    weights = np.array(coefficients, x.dtype).reshape(classes, -1).T
    return op.Add(op.MatMul(x, np.ascontiguousarray(weights)), np.asarray(offset, x.dtype))


def _likely(scores: Array, slopes: Sequence[float], offsets: Sequence[float]) -> Any:
    """The probability of the first class of each pair against the second: a logistic function of the pair's score."""
    dtype = scores.dtype
    turned = op.Add(op.Mul(scores, np.array(slopes, dtype)), np.array(offsets, dtype))
    return op.Clip(op.Sigmoid(op.Neg(turned)), np.asarray(1e-7, dtype), np.asarray(1 - 1e-7, dtype))


def _probabilities(likely: Array) -> Any:
    """Return the probabilities of two classes, [rows, 2]."""
    return op.Concat(likely, op.Sub(np.ones((), likely.dtype), likely), axis=1)


def _coupled(likely: Array, votes: np.ndarray[Any, Any]) -> Any:
    """Return the probabilities p of all classes, [rows, classes], that fit those r of the pairs, [rows, pairs].

    They minimize the sum of (r_ji p_i - r_ij p_j)^2 over all pairs and add up to 1 (Wu, Lin, Weng 2004, "Probability
    estimates for multi-class classification by pairwise coupling", equation 21). With the matrix Q of that sum Q p is
    the same number b in every row, so that (Q + 1) p = b + 1.
    """
    dtype = likely.dtype
    first, second = votes.astype(dtype)
    count = first.shape[1]
    places = np.einsum("pi,pj->pij", first, second)
    sides = places.reshape(len(first), -1), places.swapaxes(1, 2).reshape(len(first), -1)
    against = op.Sub(np.ones((), dtype), likely)
    flat = op.Add(op.MatMul(likely, sides[0]), op.MatMul(against, sides[1]))
    ratios = op.Reshape(flat, [-1, count, count])
    turned = op.Transpose(ratios, perm=[0, 2, 1])
    squares = op.ReduceSum(op.Mul(turned, turned), [-1], keepdims=1)
    matrix = op.Sub(op.Mul(squares, np.eye(count, dtype=dtype)), op.Mul(ratios, turned))
    found = solve(op.Add(matrix, np.ones((), dtype)), np.ones((count, 1), dtype))
    shares = op.Squeeze(found, [-1])
    return op.Div(shares, op.ReduceSum(shares, [-1], keepdims=1))


def _pairs(coefficients: np.ndarray[Any, Any], sizes: list[int]) -> tuple[np.ndarray[Any, Any], Any]:
    """Return for each pair of classes the weights of all kernels, [vectors, pairs]; and whom a pair votes for.

    The coefficients have a row for each other class: the row j - 1 of a vector of class i < j, the row i of one of j.
    """
    starts = np.cumsum([0, *sizes])
    rows = coefficients.reshape(len(sizes) - 1, -1)
    pairs = [(i, j) for i in range(len(sizes)) for j in range(i + 1, len(sizes))]
    mixing = np.zeros((rows.shape[1], len(pairs)))
    votes = np.zeros((2, len(pairs), len(sizes)), np.float32)
    for column, (i, j) in enumerate(pairs):
        mixing[starts[i] : starts[i + 1], column] = rows[j - 1, starts[i] : starts[i + 1]]
        mixing[starts[j] : starts[j + 1], column] = rows[i, starts[j] : starts[j + 1]]
        votes[0, column, i] = votes[1, column, j] = 1
    return mixing, votes


def _shown(scores: Array, count: int, post_transform: str) -> Any:
    """Return the scores of all pairs; for two classes, that of each.

    onnxruntime's SOFTMAX of two classes is none: it is the score of the second, and one minus it.
    """
    if count > 2:
        return transformed(scores, post_transform)
    if post_transform.startswith("SOFTMAX"):
        return op.Concat(op.Sub(np.ones((), scores.dtype), scores), scores, axis=1)
    both = op.Concat(op.Neg(scores), scores, axis=1)
    return op.Sigmoid(both) if post_transform == "LOGISTIC" else both

"""Define scaling and normalizing of features, and linear models of them, of `ai.onnx.ml`.

The results are float32, whatever the features are; computations on float64 features are rounded once, at the end.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.onnx.definitions.jumps import jumping
from primsplit.onnx.definitions.scores import labelled, numbers, rounded, transformed
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array


@defines("ai.onnx.ml::Scaler")
def scaler(x: Array, *, outputs: int = 1, offset: Sequence[float] = (0.0,), scale: Sequence[float] = (1.0,)) -> Any:
    """Return `(x - offset) scale`, one of each per feature or one for all."""
    wide = numbers(x)
    return rounded(op.Mul(op.Sub(wide, np.array(offset, wide.dtype)), np.array(scale, wide.dtype)))


@defines("ai.onnx.ml::Normalizer")
def normalizer(x: Array, *, outputs: int = 1, norm: str = "MAX") -> Any:
    """Divide each row by its greatest element (not magnitude), sum of magnitudes, or length, unless that is 0."""
    wide = numbers(x)
    sizes = {
        "MAX": lambda: op.ReduceMax(wide, [-1], keepdims=1),
        "L1": lambda: op.ReduceSum(op.Abs(wide), [-1], keepdims=1),
        "L2": lambda: op.ReduceL2(wide, [-1], keepdims=1),
    }
    if norm not in sizes:
        raise UnsupportedFunction(f"Normalizer has no norm {norm}")
    size = sizes[norm]()
    one = np.ones((), wide.dtype)
    return rounded(op.Div(wide, op.Where(op.Equal(size, np.zeros((), wide.dtype)), one, size)))


@defines("ai.onnx.ml::Imputer")
def imputer(
    x: Array,
    *,
    outputs: int = 1,
    imputed_value_floats: Sequence[float] = (),
    imputed_value_int64s: Sequence[int] = (),
    replaced_value_float: float = 0.0,
    replaced_value_int64: int = 0,
) -> Any:
    """Replace each element that equals a given number, or is NaN if that is NaN, by another number."""
    is_float = x.type.is_float
    missing = replaced_value_float if is_float else replaced_value_int64
    value = np.array(imputed_value_floats if is_float else imputed_value_int64s, x.dtype)
    found = op.IsNaN(x) if np.isnan(missing) else op.Equal(x, np.asarray(missing, x.dtype))
    return op.Where(found, value, x, types=[x.type])


@defines("ai.onnx.ml::Binarizer")
def binarizer(x: Array, *, outputs: int = 1, threshold: float = 0.0) -> Any:
    """Return 1 where `x` is above the threshold, else 0."""
    return jumping(op.Cast(op.Greater(x, np.asarray(threshold, x.dtype)), to=x.dtype), x, "Binarizer")


@defines("ai.onnx.ml::FeatureVectorizer")
def feature_vectorizer(*inputs: Array, outputs: int = 1, inputdimensions: Sequence[int] = ()) -> Any:
    """Put features side by side, each input cut or filled with zeros to its dimension; a vector is a column."""
    parts = []
    sizes: Sequence[int | None] = inputdimensions or [None] * len(inputs)
    for x, size in zip(inputs, sizes, strict=True):
        rows = op.Unsqueeze(rounded(numbers(x)), [1]) if len(x.shape) == 1 else rounded(numbers(x))
        known = rows.shape[1]
        if size is not None and not isinstance(known, int):
            raise ShapeError(f"whether {known} features are more than {size} is known only at run time")
        if isinstance(size, int) and isinstance(known, int) and size != known:
            pads = np.array([0, size - known], np.int64)
            rows = op.Pad(rows, pads, np.zeros((), np.float32), np.array([1], np.int64))
        parts.append(rows)
    return op.Concat(*parts, axis=1)


@defines("ai.onnx.ml::ArrayFeatureExtractor")
def array_feature_extractor(x: Array, indices: Array, *, outputs: int = 1) -> Any:
    """Return the features with these numbers, from the last axis; of a vector, as a row."""
    chosen = op.Gather(x, op.Reshape(indices, [-1]), axis=-1)
    return op.Unsqueeze(chosen, [0]) if len(x.shape) == 1 else chosen


def _products(x: Array, coefficients: Sequence[float], intercepts: Sequence[float], targets: int) -> Any:
    """Return the scores [rows, targets] of the features of each row."""
    wide = numbers(x)
    rows = op.Unsqueeze(wide, [0]) if len(x.shape) == 1 else wide
    if len(coefficients) % max(targets, 1):
        raise ShapeError(f"{len(coefficients)} coefficients cannot be divided among {targets} targets")
    weights = np.array(coefficients, wide.dtype).reshape(targets, -1).T
    product = op.MatMul(rows, np.ascontiguousarray(weights))
    return op.Add(product, np.array(intercepts, wide.dtype)) if len(intercepts) else product


@defines("ai.onnx.ml::LinearRegressor")
def linear_regressor(
    x: Array,
    *,
    outputs: int = 1,
    coefficients: Sequence[float],
    intercepts: Sequence[float] = (),
    post_transform: str = "NONE",
    targets: int = 1,
) -> Any:
    """Return `transform(x @ coefficients + intercepts)`. For one target onnxruntime only transforms by PROBIT."""
    scores = _products(x, coefficients, intercepts, targets)
    return rounded(transformed(scores, post_transform) if targets > 1 or post_transform == "PROBIT" else scores)


@defines("ai.onnx.ml::LinearClassifier")
def linear_classifier(
    x: Array,
    *,
    outputs: int = 1,
    classlabels_ints: Sequence[int] = (),
    classlabels_strings: Sequence[str] = (),
    coefficients: Sequence[float],
    intercepts: Sequence[float] = (),
    multi_class: int = 0,
    post_transform: str = "NONE",
) -> tuple[Any, Any]:
    """Return the label of the greatest score, which has no gradient, and the scores, transformed.

    A single score for two labels is that of the second: it is chosen if positive; the first has one minus it.
    onnxruntime transforms such scores by LOGISTIC alone.
    """
    labels = classlabels_strings or classlabels_ints
    targets = len(intercepts) or max(len(labels), 1)
    scores = _products(x, coefficients, intercepts, targets)
    if targets > 1:
        return labelled(op.ArgMax(scores, axis=1, keepdims=0), labels), rounded(transformed(scores, post_transform))
    is_second = op.Squeeze(op.Cast(op.Greater(scores, np.zeros((), scores.dtype)), to="int64"), [1])
    chosen = labelled(is_second, labels if len(labels) == 2 else ("0", "1") if classlabels_strings else (0, 1))
    if len(labels) != 2:
        return chosen, rounded(transformed(scores, post_transform))
    of_second = transformed(scores, "LOGISTIC") if post_transform == "LOGISTIC" else scores
    return chosen, rounded(op.Concat(op.Sub(np.ones((), scores.dtype), of_second), of_second, axis=1))


def _refused(kind: str, because: str) -> None:
    def refuse(*inputs: Array | None, outputs: int = 1, **attributes: Any) -> Any:
        raise UnsupportedFunction(
            f"{kind} cannot be written in the standard's operators: {because}",
            place=tracing.current().place,
            cure="Export the model without it, or cut the model before it.",
        )

    defines(f"ai.onnx.ml::{kind}")(refuse)


@defines("ai.onnx.ml::ZipMap")
def columns_of_maps(
    x: Array,
    *,
    outputs: int = 1,
    classlabels_int64s: Sequence[int] = (),
    classlabels_strings: Sequence[str] = (),
) -> Array:
    """The rows themselves, where scikit-learn's classifiers are exported with a map from labels to numbers per row.

    Maps are no tensors. A column is the numbers of one label, in the labels' order.
    """
    return x


for _kind in ("CastMap", "DictVectorizer"):
    _refused(_kind, "it takes maps, which are no tensors")
_refused("CategoryMapper", "it looks its input up among keys, which has no gradient")

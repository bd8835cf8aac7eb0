"""Refuse derivatives through models whose value jumps and is constant in between, by name.

The standard's own steps, such as Floor, Sign and ArgMax, have a derivative of 0, as in PyTorch. For a whole model of
`ai.onnx.ml` a derivative of 0 would only hide that there is nothing to follow.
"""

from typing import Any

from primsplit.ir.errors import MissingRule
from primsplit.onnx.definitions.calling import record_call
from primsplit.onnx.definitions.table import defines
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import zeros_like

JUMP = "primsplit::Jump"
TREES = "its value is constant between its thresholds"
JUMPS = {
    "ai.onnx.ml::Binarizer": "its value is constant on both sides of its threshold",
    "ai.onnx.ml::LabelEncoder": "its value is looked up among keys, and constant between them",
    "ai.onnx.ml::OneHotEncoder": "its value tells a category, and is constant within one",
    "ai.onnx.ml::TreeEnsemble": TREES,
    "ai.onnx.ml::TreeEnsembleClassifier": TREES,
    "ai.onnx.ml::TreeEnsembleRegressor": TREES,
}
"""The reason why each of them has no derivative."""


def jumping(result: Any, numbers: Array, name: str, because: str = "") -> Any:
    """Return the result of the model of this name, whose derivative with respect to these numbers is refused.

    `because` is for one that has a derivative in other forms.
    """
    if not (result.type.is_float and numbers.type.is_float):
        return result
    told = {"name": name, "because": because or JUMPS[f"ai.onnx.ml::{name}"]}
    return Array(record_call(JUMP, [result.value, numbers.value], told)[0])


def _refused(result: Array, numbers: Array, *, outputs: int, name: str, because: str) -> Any:
    raise MissingRule(
        f"{name} has no derivative: {because}",
        cure=(
            "Differentiate by what does not go through it. Or have its value taken for a constant, of gradient 0:",
            f'ps.load(path, constant=["{name}"]), --constant {name}; the name of a node will do, too.',
        ),
    )


@defines(JUMP, rule=_refused)
def _jump(result: Array, numbers: Array, *, outputs: int = 1, name: str, because: str) -> Any:
    """Return the first of the two."""
    return result


def leaning(result: Array, numbers: Array) -> Array:
    """Return the result, as if it depended on these numbers too: derivatives reach them, as 0."""
    return Array(record_call("primsplit::Leaning", [result.value, numbers.value], {})[0])


def _passed(result: Array, numbers: Array, *, outputs: int) -> Any:
    return result, lambda dy: (dy, zeros_like(numbers))


@defines("primsplit::Leaning", rule=_passed)
def _leaning(result: Array, numbers: Array, *, outputs: int = 1) -> Any:
    """Return the first of the two."""
    return result

"""Define layers of `com.microsoft` with a state from word to word, in the forms that the standard has taken over."""

from typing import Any

from primsplit.ir.errors import UnsupportedFunction
from primsplit.onnx.definitions.attention.linear import linear_attention
from primsplit.onnx.definitions.causal_convolution import causal_conv_with_state
from primsplit.onnx.definitions.table import defines
from primsplit.tracing.array import Array


@defines("com.microsoft::CausalConvWithState")
def causal_convolution(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    past: Array | None = None,
    *,
    outputs: int = 2,
    activation: str = "none",
    **layout: int,
) -> Any:
    """The standard's operator, along one axis without gaps, channels second, with one state."""
    _check("CausalConvWithState", layout, ndim=1, dilation=1, channels_last=0, state_window=0)
    return causal_conv_with_state(x, weight, bias, past, activation=activation)


@defines("com.microsoft::LinearAttention")
def recurrent_attention(*inputs: Array | None, outputs: int = 2, state_window: int = 0, **attributes: Any) -> Any:
    """The standard's operator, with one state."""
    _check("LinearAttention", {"state_window": state_window}, state_window=0)
    return linear_attention(*inputs, **attributes)


def _check(kind: str, given: dict[str, int], **known: int) -> None:
    """Raise UnsupportedFunction for an attribute with another value than the one that is known."""
    for name, value in given.items():
        if value != known.get(name):
            raise UnsupportedFunction(f"{kind} of com.microsoft with {name}={value} is not supported")

"""Define products and convolutions of `com.microsoft` with a fused factor, transposition, addend or activation."""

from collections.abc import Sequence
from typing import Any

from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.onnx.definitions.fused_activations import activated, activated_by_name
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import transpose


@defines("com.microsoft::TransposeMatMul")
@defines("com.microsoft::FusedMatMul")
def fused_matmul(
    a: Array,
    b: Array,
    *,
    outputs: int = 1,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    transBatchA: int = 0,
    transBatchB: int = 0,
) -> Any:
    """Return `alpha a @ b`, after the axes of each operand are permuted (see `_matrices`)."""
    product = op.MatMul(_matrices(a, transA, transBatchA), _matrices(b, transB, transBatchB))
    return product if alpha == 1.0 else op.Mul(product, alpha)


def _matrices(x: Array, swapped: int, first: int) -> Array:
    """Return the stack of matrices that an operand is read as.

    `first`: the rows are the first axis, before those of the stack. `swapped`: the last two axes (the first and the
    last, with `first`) are swapped. Vectors stay as they are. Raises ShapeError for `first` if there is no stack.
    """
    rank = len(x.shape)
    order = list(range(rank))
    if first:
        if rank < 3:
            raise ShapeError(f"a product of operands whose stack lies inside needs three axes, not {rank}")
        order = [*range(1, rank - 1), 0, rank - 1]
    if swapped and rank > 1:
        order[-2:] = order[:-3:-1]
    return transpose(x, order)


@defines("com.microsoft::FusedMatMulActivation")
def fused_matmul_activation(
    a: Array,
    b: Array,
    *,
    outputs: int = 1,
    activation: str,
    activation_alpha: float | None = None,
    activation_beta: float | None = None,
    activation_gamma: float | None = None,
    activation_axis: int | None = None,
    **product: Any,
) -> Any:
    """`activation(fused_matmul(a, b))`."""
    y = fused_matmul(a, b, **product)
    if activation == "Softmax":
        return op.Softmax(y, axis=-1 if activation_axis is None else activation_axis)
    return activated_by_name(y, activation, alpha=activation_alpha, beta=activation_beta, gamma=activation_gamma)


@defines("com.microsoft::FusedGemm")
def fused_gemm(
    a: Array,
    b: Array,
    c: Array | None = None,
    *,
    outputs: int = 1,
    activation: str = "",
    activation_alpha: float | None = None,
    activation_beta: float | None = None,
    activation_gamma: float | None = None,
    **product: Any,
) -> Any:
    """`activation(alpha a @ b + beta c)`, the operands transposed as Gemm's attributes say."""
    y = op.Gemm(a, b, c, **product)
    return activated_by_name(y, activation, alpha=activation_alpha, beta=activation_beta, gamma=activation_gamma)


@defines("com.microsoft::FusedConv")
def fused_conv(
    x: Array,
    w: Array,
    bias: Array | None = None,
    addend: Array | None = None,
    *,
    outputs: int = 1,
    activation: str = "",
    activation_params: Sequence[float] = (),
    **windows: Any,
) -> Any:
    """`activation(conv(x, w) + bias + addend)`, with Conv's attributes."""
    y = op.Conv(x, w, bias, **windows)
    return activated(y if addend is None else op.Add(y, addend), activation, activation_params)


@defines("com.microsoft::NhwcConv")
def channels_last_conv(x: Array, w: Array, bias: Array | None = None, *, outputs: int = 1, **attributes: Any) -> Any:
    """Conv of an input, filters and a result whose channels are the last axis.

    By the operator's documentation the filters have Conv's order; in the fusion that writes it and the kernel that runs
    it they do not.
    """
    return channels_last_fused_conv(x, channels_first(w), bias, **attributes)


@defines("com.microsoft::NhwcFusedConv")
def channels_last_fused_conv(
    x: Array, w: Array, bias: Array | None = None, addend: Array | None = None, *, outputs: int = 1, **attributes: Any
) -> Any:
    """`fused_conv` of an input, an addend and a result whose channels are the last axis; the filters are Conv's."""
    planes = None if addend is None else channels_first(addend)
    return channels_last(fused_conv(channels_first(x), w, bias, planes, **attributes))


def channels_first(x: Array) -> Array:
    """Return the array with its last axis moved behind the first."""
    rank = len(x.shape)
    return transpose(x, [0, rank - 1, *range(1, rank - 1)])


def channels_last(x: Array) -> Array:
    """Return the array with its second axis moved to the end."""
    rank = len(x.shape)
    return transpose(x, [0, *range(2, rank), 1])


@defines("com.microsoft::BiasAdd")
def bias_add(x: Array, bias: Array, skip: Array, *, outputs: int = 1) -> Any:
    """`x + bias + skip`."""
    return op.Add(op.Add(x, bias), skip)


@defines("com.microsoft::BiasDropout")
def bias_dropout(
    x: Array,
    bias: Array,
    residual: Array | None = None,
    ratio: Array | None = None,
    training_mode: Array | None = None,
    *,
    outputs: int = 1,
    seed: int | None = None,
) -> tuple[Any, Any]:
    """Return `Dropout(x + bias) + residual`, and Dropout's mask."""
    kept, mask = op.Dropout(op.Add(x, bias), ratio, training_mode, outputs=2, seed=seed)
    return kept if residual is None else op.Add(kept, residual), mask


@defines("com.microsoft::GatedAdd")
def gated_add(x: Array, y: Array, gate: Array, *, outputs: int = 1) -> Any:
    """Return `x + y gate`, one gate a row."""
    return op.Add(x, op.Mul(y, gate))


@defines("com.microsoft::ConvTransposeWithDynamicPads")
def conv_transpose_with_dynamic_pads(
    x: Array,
    weights: Array,
    pads: Array | None = None,
    bias: Array | None = None,
    *,
    outputs: int = 1,
    **attributes: Any,
) -> Array:
    """A ConvTranspose whose pads are an input. Raises UnsupportedFunction if only the run knows them."""
    known = None if pads is None else pads.known()
    if pads is not None and known is None:
        raise UnsupportedFunction("ConvTransposeWithDynamicPads has pads that only the run knows")
    given = attributes if known is None else {**attributes, "pads": known.tolist()}
    return op.ConvTranspose(x, weights, bias, **given)

"""Define products with weights packed into few bits, of `com.microsoft`: unpack, scale by blocks, then multiply."""

from typing import Any

import numpy as np

from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.ops.inference.table import axis_of
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to


def unpacked(packed: Array, bits: int) -> Any:
    """The numbers of 2, 4 or 8 bits in bytes, the lowest bits first: the last axis gets 8 / bits times longer."""
    if bits == 8:
        return packed
    if bits not in {2, 4}:
        raise UnsupportedFunction(f"weights of {bits} bits are not supported")
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    spread = op.BitShift(op.Unsqueeze(packed, [len(packed.shape)]), shifts, direction="RIGHT")
    fields = op.BitwiseAnd(spread, np.asarray(2**bits - 1, np.uint8))
    return reshape_to(fields, (*packed.shape[:-1], packed.shape[-1] * len(shifts)))


@defines("com.microsoft::MatMulNBits")
def matmul_of_bits(
    x: Array,
    packed: Array,
    scales: Array,
    zero_points: Array | None = None,
    group: Array | None = None,
    bias: Array | None = None,
    *,
    outputs: int = 1,
    K: int,
    N: int,
    accuracy_level: int = 0,
    bits: int = 4,
    block_size: int,
    weight_prepacked: int = 0,
) -> Any:
    """Return `x @ ((integers - zero) scale).T + bias`; by default the zero is in the middle."""
    if group is not None or weight_prepacked:
        raise UnsupportedFunction("MatMulNBits with reordered or prepacked weights is not supported")
    blocks = -(-K // block_size)
    levels = op.Reshape(unpacked(packed, bits), [N, blocks, block_size])
    zero = _zero(zero_points, N, blocks, bits, x)
    weights = op.Mul(op.Sub(op.Cast(levels, to=x.dtype), zero), op.Reshape(scales, [N, blocks, 1]))
    rows = op.Reshape(weights, [N, blocks * block_size])
    rows = rows if blocks * block_size == K else op.Slice(rows, [0], [K], [1])
    y = op.MatMul(x, op.Transpose(rows, perm=[1, 0]))
    return y if bias is None else op.Add(y, bias)


def _zero(zero_points: Array | None, rows: int, blocks: int, bits: int, x: Array) -> Any:
    """Return the zero point of each block, packed like the weights or as a float."""
    if zero_points is None:
        return np.asarray(2 ** (bits - 1), x.dtype)
    if zero_points.type.is_float:
        return op.Reshape(op.CastLike(zero_points, x), [rows, blocks, 1])
    per_row = -(-blocks * bits // 8)
    fields = unpacked(op.Reshape(zero_points, [rows, per_row]), bits)
    if fields.shape[-1] != blocks:
        fields = op.Slice(fields, [0], [blocks], [1])
    return op.Cast(op.Unsqueeze(fields, [2]), to=x.dtype)


_NORMAL = [
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
]  # fmt: skip
_FLOAT = [0.0, 0.0052083333, 0.6666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25]
_TABLES = {0: [*_FLOAT, *(-v for v in _FLOAT)], 1: _NORMAL}
"""The values of 4 bits: FP4 and NF4 of Dettmers et al. 2023 (arXiv 2305.14314, appendix E)."""


@defines("com.microsoft::MatMulBnb4")
def matmul_of_table(
    x: Array,
    packed: Array,
    scales: Array,
    *,
    outputs: int = 1,
    K: int,
    N: int,
    block_size: int,
    quant_type: int,
    training_mode: int = 0,
    transB: int = 1,
) -> Any:
    """`x @ (table[fields] scale).T`, the fields of 4 bits of one vector, the higher bits first, scaled by blocks."""
    if quant_type not in _TABLES:
        raise UnsupportedFunction(f"MatMulBnb4 has no quant_type {quant_type}")
    spread = op.BitShift(op.Unsqueeze(packed, [1]), np.array([4, 0], np.uint8), direction="RIGHT")
    fields = op.Reshape(op.BitwiseAnd(spread, np.asarray(15, np.uint8)), [-1])
    values = op.Gather(np.array(_TABLES[quant_type], x.dtype), op.Cast(fields, to="int64"))
    count, blocks = N * K, -(-N * K // block_size)
    whole = op.Slice(values, [0], [count], [0])
    if blocks * block_size != count:
        whole = op.Pad(whole, [0, blocks * block_size - count])
    weights = op.Mul(op.Reshape(whole, [blocks, block_size]), op.Reshape(scales, [blocks, 1]))
    flat = op.Reshape(weights, [-1])
    flat = flat if blocks * block_size == count else op.Slice(flat, [0], [count], [0])
    rows = op.Reshape(flat, [N, K])
    return op.MatMul(x, op.Transpose(rows, perm=[1, 0]) if transB else rows)


@defines("com.microsoft::GatherBlockQuantized")
def gather_block_quantized(
    data: Array,
    indices: Array,
    scales: Array,
    zero_points: Array | None = None,
    *,
    outputs: int = 1,
    bits: int = 4,
    block_size: int = 128,
    gather_axis: int = 0,
    quantize_axis: int = 1,
) -> Any:
    """Gather elements, minus the zero point of their block along an axis, and scaled.

    Bytes hold several integers of few bits each, and are gathered by row and scaled along the last axis. Raises
    UnsupportedFunction for bytes along other axes, and for blocks along the axis that is gathered from.
    """
    rank = len(data.shape)
    gathered, scaled = (axis_of(a, rank, "GatherBlockQuantized") for a in (gather_axis, quantize_axis))
    if data.dtype.name in {"int4", "uint4"}:
        return _gathered(data, indices, scales, zero_points, gathered, scaled, block_size)
    if data.dtype != np.uint8 or gathered or scaled != rank - 1:
        raise UnsupportedFunction(
            "GatherBlockQuantized is read for bytes, gathered by row and scaled along the last axis"
        )
    blocks, length = scales.shape[-1], data.shape[-1]
    if not (isinstance(blocks, int) and isinstance(length, int)):
        raise ShapeError("the blocks of GatherBlockQuantized need known sizes")
    count = length * (8 // bits)
    levels = op.Cast(unpacked(op.Gather(data, indices, axis=0), bits), to=scales.dtype)
    chosen = op.Gather(scales, indices, axis=0)
    zero: Any = np.asarray(2 ** (bits - 1), scales.dtype)
    if zero_points is not None:
        fields = unpacked(op.Gather(zero_points, indices, axis=0), bits)
        fields = op.Slice(fields, [0], [blocks], [-1]) if fields.shape[-1] != blocks else fields
        zero = _repeated(op.Cast(fields, to=scales.dtype), block_size, count)
    return op.Mul(op.Sub(levels, zero), _repeated(chosen, block_size, count))


def _gathered(
    data: Array,
    indices: Array,
    scales: Array,
    zero_points: Array | None,
    gather_axis: int,
    quantize_axis: int,
    block_size: int,
) -> Any:
    """Return integers of four bits, gathered as bytes, which onnxruntime can, with their scales and zero points."""
    if gather_axis == quantize_axis:
        raise UnsupportedFunction("GatherBlockQuantized is read for blocks along another axis than it gathers from")
    if not indices.shape:  # onnxruntime takes no vector of one block
        one = op.Unsqueeze(indices, [0])
        return op.Squeeze(
            _gathered(data, one, scales, zero_points, gather_axis, quantize_axis, block_size), [gather_axis]
        )
    wide = "int8" if data.dtype.name == "int4" else "uint8"
    levels, zeros = (
        None if x is None else op.Gather(op.Cast(x, to=wide), indices, axis=gather_axis) for x in (data, zero_points)
    )
    axis = quantize_axis + (len(indices.shape) - 1 if quantize_axis > gather_axis else 0)
    steps = op.Gather(scales, indices, axis=gather_axis)
    return op.DequantizeLinear(levels, steps, zeros, axis=axis, block_size=block_size)


def _repeated(x: Array, block_size: int, count: int) -> Any:
    """Repeat each element of the last axis `block_size` times, and cut to `count`."""
    return op.Gather(x, np.arange(count) // block_size, axis=-1)

"""Infer the result types of products that sum over an axis: MatMul, Gemm, Einsum and their quantized forms."""

from collections.abc import Sequence

import numpy as np

from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim, Shape, broadcast_shapes
from primsplit.ir.errors import ShapeError
from primsplit.ops.inference.table import Site, rule, typed


def _meets(left: Dim, right: Dim, a: Shape, b: Shape) -> None:
    if not dims.could_be(left, right):
        told = f"[{','.join(map(str, a))}] by [{','.join(map(str, b))}]"
        raise ShapeError(f"cannot multiply {told}: the inner sizes {left} and {right} differ")


def _multiplied(site: Site, right: int) -> Shape:
    """Return the shape of NumPy's matmul of input 0 and input `right`: 1-D operands lose their axis."""
    a, b = site.shape(0), site.shape(right)
    if not a or not b:
        raise ShapeError(f"{site.kind} needs operands with at least one axis")
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    _meets(a[-1], b[-2] if len(b) > 1 else b[0], a, b)
    return (*broadcast_shapes(a[:-2], b[:-2]), *rows, *columns)


@rule("MatMul")
def matmul(site: Site) -> Sequence[Type]:
    """The first input's dtype."""
    return typed(site.type(0).dtype, _multiplied(site, 1))


@rule("MatMulInteger")
def matmul_integer(site: Site) -> Sequence[Type]:
    """int32."""
    return typed(np.int32, _multiplied(site, 1))


@rule("QLinearMatMul")
def quantized_matmul(site: Site) -> Sequence[Type]:
    """The dtype of the result's zero point."""
    return typed(site.type(7).dtype, _multiplied(site, 3))


@rule("Gemm")
def gemm(site: Site) -> Sequence[Type]:
    """Two matrices, each possibly transposed."""
    a, b = site.shape(0), site.shape(1)
    if len(a) != 2 or len(b) != 2:
        raise ShapeError(f"Gemm takes matrices, not operands with {len(a)} and {len(b)} axes")
    a = a[::-1] if site.attribute("transA") else a
    b = b[::-1] if site.attribute("transB") else b
    _meets(a[1], b[0], a, b)
    if site.has(2) and (bias := site.type(2).shape) is not None:
        wide = zip(bias[::-1], (b[1], a[0]), strict=False)
        if len(bias) > 2 or any(isinstance(n, int) and isinstance(m, int) and n not in {1, m} for n, m in wide):
            raise ShapeError(f"Gemm cannot add {site.type(2)} to a matrix of {a[0]} times {b[1]}")
    return typed(site.type(0).dtype, (a[0], b[1]))


@rule("Einsum")
def einsum(site: Site) -> Sequence[Type]:
    """The output's labels take the sizes of the inputs'."""
    equation = site.attribute("equation")
    equation = (equation.decode() if isinstance(equation, bytes) else equation).replace(" ", "")
    left, arrow, right = equation.partition("->")
    sizes: dict[str, Dim] = {}
    ellipsis: Shape = ()
    for term, position in zip(left.split(","), range(len(site.inputs)), strict=True):
        shape = site.shape(position)
        before, dots, after = term.partition("...")
        tail = len(shape) - len(after)
        for label, dim in (*zip(before, shape, strict=False), *zip(after, shape[tail:], strict=True)):
            met = dims.meet(sizes.get(label, 1), dim)
            if met is None:
                raise ShapeError(f"Einsum {equation}: label {label} has sizes {sizes[label]} and {dim}")
            sizes[label] = met
        if dots:
            ellipsis = broadcast_shapes(ellipsis, shape[len(before) : tail])
    if not arrow:
        letters = left.replace(",", "").replace(".", "")
        right = ("..." if "..." in left else "") + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    before, dots, after = right.partition("...")
    result = (*(sizes[c] for c in before), *(ellipsis if dots else ()), *(sizes[c] for c in after))
    return typed(site.type(0).dtype, result)

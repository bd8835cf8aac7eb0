"""Products of a few rows with a large matrix are computed as the transpose of the swapped product."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.programs.runtime import Session
from primsplit.rewrites.products.narrow_products import swap_narrow_products
from tests.random_programs import run
from tests.recording import kinds, record

rng = np.random.default_rng(8)
SWAPPED = ["Gemm", "Flatten", "Transpose"]


def _product(x: Any, w: Any) -> Any:
    return op.Gemm(x, w, transB=1)


@pytest.mark.parametrize(
    ("narrow", "large", "after"),
    [
        ("16,128", "130,128", SWAPPED),
        ("64,200", "128,200", SWAPPED),
        ("17,128", "130,128", ["Gemm"]),
        ("80,128", "130,128", ["Gemm"]),
        ("16,127", "130,127", ["Gemm"]),
        ("16,128", "127,128", ["Gemm"]),
        ("N,128", "130,128", ["Gemm"]),
        ("16,128", "M,128", ["Gemm"]),
    ],
)
def test_a_narrow_product_is_swapped_where_the_sizes_are_known_to_gain(
    narrow: str, large: str, after: list[str]
) -> None:
    block = record(lambda x, w: _product(x, w), f"float32[{narrow}]", f"float32[{large}]")
    swapped = swap_narrow_products(block)
    check_types(swapped)
    assert kinds(swapped) == after
    shapes = ([3 if n in "NM" else int(n) for n in text.split(",")] for text in (narrow, large))
    inputs = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    for expected, found in zip(run(block, inputs), run(swapped, inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("wide", "narrow", "after"),
    [
        ("256,50", "256,4", SWAPPED),
        ("300,512", "300,16", SWAPPED),
        ("300,513", "300,16", ["Gemm"]),
        ("300,50", "300,1", ["Gemm"]),
        ("300,50", "300,17", ["Gemm"]),
        ("300,4", "300,4", ["Gemm"]),
        ("255,50", "255,4", ["Gemm"]),
        ("N,50", "N,4", ["Gemm"]),
    ],
)
def test_a_product_with_few_columns_turns_these(wide: str, narrow: str, after: list[str]) -> None:
    block = record(lambda x, y: op.Gemm(x, y, transA=1), f"float32[{wide}]", f"float32[{narrow}]")
    swapped = swap_narrow_products(block)
    check_types(swapped)
    assert kinds(swapped) == after
    shapes = ([3 if n == "N" else int(n) for n in text.split(",")] for text in (wide, narrow))
    inputs = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    for expected, found in zip(run(block, inputs), run(swapped, inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_other_products_stay() -> None:
    constant = np.ones((128, 128), np.float32)
    programs = [
        (lambda x, w: op.Gemm(x, w, transB=1), "float64"),
        (lambda x, w: op.Gemm(x, w), "float32"),
        (lambda x, w: op.Gemm(x, w, np.ones(128, np.float32), transB=1), "float32"),
        (lambda x, w: op.MatMul(x, w), "float32"),
        (lambda x, _: op.Gemm(x, constant, transB=1), "float32"),
    ]
    for program, dtype in programs:
        block = record(program, f"{dtype}[16,128]", f"{dtype}[128,128]")
        assert swap_narrow_products(block) is block


def _steps(w: Any, x: Any, own: Any) -> Any:
    """Five steps with a matrix from outside, and one that the step makes."""

    def step(h: Any, scale: Any) -> Any:
        inner = ps.fori_loop(0, 2, lambda _, a: np.tanh(a @ (w * scale)), h)
        return np.tanh(inner @ w + h @ (own * scale)), inner

    return np.sum(ps.scan(step, x, np.linspace(0.5, 1, 5, dtype=np.float32))[0] ** 2)


def test_in_a_loop_the_matrix_is_transposed_once_before_it() -> None:
    w, own = (rng.standard_normal((128, 128)).astype(np.float32) / 12 for _ in range(2))
    x = rng.standard_normal((16, 128)).astype(np.float32)
    program = ps.trace(_steps, w, x, own)
    swapped = swap_narrow_products(program.block)
    check_types(swapped)
    assert kinds(swapped).index("Transpose") < kinds(swapped).index("Scan")
    inside = [inner.kind for inner in walk(swapped)]
    assert inside.count("Gemm") == 2
    assert inside.count("MatMul") == 1
    (found,) = Session(program.to_onnx())(w, x, own)
    h = x.astype(np.float64)
    for scale in np.linspace(0.5, 1, 5, dtype=np.float32):
        inner = np.tanh(np.tanh(h @ (w * scale)) @ (w * scale))
        h = np.tanh(inner @ w + h @ (own * scale))
    np.testing.assert_allclose(found, np.sum(h**2), rtol=1e-4)

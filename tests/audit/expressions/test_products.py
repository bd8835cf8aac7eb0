"""Products of matrices as expressions."""

from tests.audit.expressions.written import text_of

X = "float32[3,3]"


def test_a_product_with_a_sum_is_infix() -> None:
    assert text_of("MatMul", X, X) == "a @ b"
    assert text_of("Gemm", X, X) == "a @ b"
    assert text_of("Gemm", X, X, X, transA=1, transB=1) == "a.T @ b.T + c"
    assert text_of("Gemm", X, X, X, alpha=0.5, beta=2.0) == "0.5 * (a @ b) + 2.0 * c"
    assert text_of("Gemm", X, X, X, beta=0.0) == "a @ b"


def test_index_notation() -> None:
    assert text_of("Einsum", X, X, equation="ij,jk->ik") == "np.einsum('ij,jk->ik', a, b)"

"""Products of matrices."""

import ast

from primsplit.audit.expressions.nodes import Builder, Node, each
from primsplit.audit.trees import call, literal, tree


def gemm(node: Node) -> ast.expr:
    """Return `alpha * a @ b + beta * c`, with each matrix perhaps transposed."""
    sides = [
        tree("a.T", a=node.argument(i)) if node.attribute(name, 0) else node.argument(i)
        for i, name in enumerate(("transA", "transB"))
    ]
    found = tree("a @ b", a=sides[0], b=sides[1])
    alpha, beta = node.attribute("alpha", 1.0), node.attribute("beta", 1.0)
    if alpha != 1.0:
        found = tree("k * a", k=literal(alpha), a=found)
    if node.has(2) and beta != 0.0:
        found = tree("a + b" if beta == 1.0 else "a + k * b", a=found, b=node.argument(2), k=literal(beta))
    return found


def einsum(node: Node) -> ast.expr:
    """Return a sum of products in index notation."""
    return call(
        "np.einsum", literal(node.attribute("equation")), *(node.argument(i) for i in range(len(node.arguments)))
    )


BUILDERS: dict[str, Builder] = {
    "MatMul": each("a @ b"),
    "Gemm": gemm,
    "Einsum": einsum,
    "Det": each("np.linalg.det(a)"),
}

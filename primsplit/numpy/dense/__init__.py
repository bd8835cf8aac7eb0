"""Dense linear algebra that ONNX has no operator for, written with Loops; each algorithm is one op with its own rule.

    np.linalg.solve(a, b)                  # b [N,1]
    becomes
    l, u, rows = call::factor(a, rule=_factor)
    x = call::solve_with(a, l, u, rows, b, rule=_solve_with)

Matrices are the last two axes; leading axes are a batch. Sizes may be symbols. The algorithms are blocked: a Scan over
columns works on a panel of BLOCK columns, and matrix products do the rest, so products dominate the time. A size that
is known to be at most BLOCK needs no outer Loop. Batches of matrices of at most eight rows have no loop at all
(`unrolled`), one triangular matrix is solved with by the inverses of its diagonal blocks (`tiles`).
"""

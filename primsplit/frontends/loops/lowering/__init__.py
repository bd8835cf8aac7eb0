"""Lowers loop nests to ONNX operators: each operation of a nest becomes an array whose axes are its loops.

    C[m, n] := A[m, k] * B[k, n]
    becomes
    MatMul(A, B)

Sums wait until all factors are known: factors are contracted, never multiplied out. A window is a Conv, or a copy of
the axis cut into longer rows. A store is a padded block; it is a ScatterND only where numbers determine the places.
Nests without a form in ONNX run in the interpreter on arrays, with a warning, and are refused in a trace.
"""

from primsplit.frontends.loops.lowering.lower import lower

__all__ = ["lower"]

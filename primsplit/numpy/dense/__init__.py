"""Dense linear algebra that ONNX has no operator for, written in Loops: each algorithm is one op with its own rule.

Matrices are the last two axes; leading axes are a batch. Sizes may be symbols. The algorithms are blocked: a Loop
over columns works on a panel of BLOCK columns, and matrix products do the rest, so that the time is that of the
products. A size that is known to be at most BLOCK needs no outer Loop.
"""

"""Loop nests in ONNX operators: each operation of a nest becomes an array whose axes are its loops.

Sums are put off until all factors are known: factors are contracted, never multiplied out. A window is a Conv, or a
copy of the axis cut into longer rows. A store is a padded block; it is a ScatterND only where numbers tell the places.
What has no form in ONNX runs in the interpreter on arrays, with a warning, and is refused in a trace.
"""

from primsplit.frontends.loops.lowering.lower import lower

__all__ = ["lower"]

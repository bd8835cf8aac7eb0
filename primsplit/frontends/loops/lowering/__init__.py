"""Loop nests in ONNX operators: each operation of a nest becomes an array whose axes are its loops."""

from primsplit.frontends.loops.lowering.lower import lower

__all__ = ["lower"]

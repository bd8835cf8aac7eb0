"""Loop nests in index notation: how they are read, derived and lowered to ONNX operators."""

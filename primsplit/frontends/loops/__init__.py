"""Loop nests in index notation: their derivation and what they become in ONNX."""

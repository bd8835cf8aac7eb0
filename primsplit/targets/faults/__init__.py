"""Workarounds for faults of onnxruntime, one fault per module; docs/runtime_faults.md lists them."""

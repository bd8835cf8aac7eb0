"""Ways around what onnxruntime gets wrong, one fault a module; docs/runtime_faults.md lists them."""

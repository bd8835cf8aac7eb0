"""Ways around what onnxruntime gets wrong, one fault a module; ARCHITECTURE.md lists them."""

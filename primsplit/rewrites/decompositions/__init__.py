"""Operators written with other operators, where onnxruntime has no kernel for a dtype. `table` lists them."""

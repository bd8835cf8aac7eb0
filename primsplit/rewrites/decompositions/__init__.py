"""Decompositions: operators written with other operators, where onnxruntime has no kernel for a dtype; see `table`."""

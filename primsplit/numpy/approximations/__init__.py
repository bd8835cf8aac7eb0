"""Elementary functions computed with arithmetic alone, for dtypes that onnxruntime has no kernel for."""

"""Write each operator of ONNX as an expression of NumPy, one family of operators a file."""

"""Passes over products of matrices and the arrays around them: the forms that onnxruntime is fast at."""

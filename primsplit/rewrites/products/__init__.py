"""Rewrites of matrix products and the arrays around them, into the forms that onnxruntime computes fastest."""

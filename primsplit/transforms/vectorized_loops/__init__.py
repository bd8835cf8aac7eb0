"""Vectorize loops: compute their steps, or parts of them, at once by the batching rules."""

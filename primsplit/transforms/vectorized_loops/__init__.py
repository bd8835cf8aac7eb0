"""Loops whose steps, or parts of them, are computed at once by the batching rules."""

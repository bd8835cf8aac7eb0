"""Rewrites of loops: hoist ops that do not vary, drop carries, share and fuse loops."""

LARGE = 5_000
"""The fewest ops of a program in which repeated steps are looked for: see `repeats.py`."""

"""Rewrites of loops: hoist ops that do not vary, drop carries, share and fuse loops."""

"""Targets: the pipeline of passes before a file, the runtime's kernels, and workarounds for its faults."""

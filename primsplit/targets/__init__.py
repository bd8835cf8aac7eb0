"""What a runtime needs of a file: the pipeline of stages, its kernels, and the faults that are worked around."""

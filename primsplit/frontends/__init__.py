"""The languages that users write programs in: Python, SciPy, index notation, and draws of random numbers."""

"""What users write in: Python itself, SciPy, index notation, and draws of random numbers."""

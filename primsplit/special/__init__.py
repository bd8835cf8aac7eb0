"""The special functions of scipy.special that are ufuncs, and what they are computed with."""

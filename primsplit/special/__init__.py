"""Implements the special functions of scipy.special that are ufuncs, for traced arrays, each as an op with a rule."""

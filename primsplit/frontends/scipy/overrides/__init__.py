"""Substitutes for functions and classes of SciPy that do not dispatch."""

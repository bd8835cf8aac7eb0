"""What stands in for functions and classes of SciPy that do not dispatch."""

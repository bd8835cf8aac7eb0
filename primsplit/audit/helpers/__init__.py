"""Functions of NumPy that written modules bring along, where an operator takes more than an expression.

A function reads nothing of primsplit: `source.helper_source` puts its text into a module, under its name with a leading
underscore and without the annotations.
"""

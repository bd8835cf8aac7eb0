"""Operators beyond the opset that is written, defined in the operators of that opset; one family a file.

`families` imports them all.
"""

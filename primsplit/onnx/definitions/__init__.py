"""Definitions of operators beyond the opset that is written, by operators of that opset; one family a file.

`families` imports them all.
"""

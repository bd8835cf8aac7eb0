"""Sequences and optional values read away while a model is loaded: in a program they are tensors."""

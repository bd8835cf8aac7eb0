"""Fourier transforms of real arrays and of pairs of them, along the last axis, neither scaled nor conjugated."""

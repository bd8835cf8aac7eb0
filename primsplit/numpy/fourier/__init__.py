"""Fourier transforms of real arrays and of pairs of real arrays, along the last axis, neither scaled nor conjugated."""

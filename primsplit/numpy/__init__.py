"""What NumPy's protocols dispatch to."""

from primsplit.numpy import convolve, elementwise, products, ufuncs

families = (convolve, elementwise, products, ufuncs)

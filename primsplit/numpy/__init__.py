"""What NumPy's protocols dispatch to."""

from primsplit.numpy import elementwise, ufuncs

families = (elementwise, ufuncs)

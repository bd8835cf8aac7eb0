"""primsplit."""

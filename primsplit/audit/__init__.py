"""Makes programs readable: listings as text, Python and HTML, captures, and frozen values."""

"""Listings to be read: text, runnable Python and HTML; captures; frozen values."""

"""Interval analysis of a file: between which numbers each value lies, and what can go wrong there."""

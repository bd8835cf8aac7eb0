"""Rewrite idioms in the user's program before it is differentiated, so that their own derivative rules apply."""

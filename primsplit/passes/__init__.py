"""Passes: Block to Block."""

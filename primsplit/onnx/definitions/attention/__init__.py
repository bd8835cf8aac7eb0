"""Attention of every kind, and what it is made of: heads, caches, biases and positions."""

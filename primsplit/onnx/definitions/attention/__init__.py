"""Define attention of every kind, by shared parts: heads, caches, biases and positions."""

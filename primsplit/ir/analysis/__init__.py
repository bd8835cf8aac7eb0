"""What is told of a program by reading it: what depends on what, bounds of integers, orders of derivatives, costs."""

"""Analyses that read a program and change nothing: dependences, signs, orders of derivatives, costs, warnings."""

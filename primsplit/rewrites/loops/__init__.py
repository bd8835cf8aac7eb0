"""Passes over loops: what a step need not do, what need not be carried, what two loops share."""

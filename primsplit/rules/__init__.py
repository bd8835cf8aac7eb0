"""Derivative rules, one operator family a file."""

from primsplit.rules import contraction, elementwise, layout, reduction

families = (contraction, elementwise, layout, reduction)

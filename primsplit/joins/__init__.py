"""Branches that are recorded as one If each, where they are too many for each of their paths to be recorded."""

from primsplit.joins import lazily as lazily
from primsplit.joins import running as running

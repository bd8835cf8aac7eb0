"""Branches that are recorded as one If each, where they are too many for each of their paths to be recorded."""

from primsplit.frontends.python.conversion import lazily as lazily
from primsplit.frontends.python.conversion import running as running

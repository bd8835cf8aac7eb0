"""What a person wants to know of a split before trusting it: the listing, what is kept, what is frozen."""

from primsplit.audit.frozen import Frozen, frozen_values
from primsplit.audit.report import report

__all__ = ["Frozen", "frozen_values", "report"]

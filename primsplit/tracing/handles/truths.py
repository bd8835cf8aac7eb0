"""Truth values of Python's that only the run knows, as `x.item() > 1` gives one: `is True` says False of them.

So does `is` of one of several objects.
"""

import threading


class Truths(threading.local):
    """How many this thread has made."""

    made = 0


truths = Truths()

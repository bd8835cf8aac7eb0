"""Count the traced truth values of Python's, such as `x.item() > 1`, for which `is True` gives a wrong False.

So does `is` for a value that is one of several objects.
"""

import threading


class Truths(threading.local):
    """The number of traced truth values that this thread has created."""

    made = 0


truths = Truths()

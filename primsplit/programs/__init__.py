"""Programs: what users call, save and differentiate, traced from functions or loaded from models.

Whatever traces a function or runs a program imports this room, and so every rule and hook that these need.
"""

from primsplit.programs import public as public

"""Control flow that is recorded: `cond`, `switch`, `scan`, `while_loop`, `fori_loop`, `map`, with JAX's meanings.

On plain arrays, outside of a trace, each is the Python loop or branch that it stands for. What a body writes to the
arrays that it is given stays inside of it.
"""

from primsplit.tracing.control.branching import cond, switch
from primsplit.tracing.control.choosing import safe_where
from primsplit.tracing.control.looping import fori_loop, while_loop
from primsplit.tracing.control.scanning import mapped, scan

__all__ = ["cond", "fori_loop", "mapped", "safe_where", "scan", "switch", "while_loop"]

"""Record control flow: `cond`, `switch`, `scan`, `while_loop`, `fori_loop`, `map`, with JAX's meanings.

On plain arrays, outside of a trace, each runs the Python loop or branch that it stands for. A body's writes to its
arguments stay inside of it.

```
ps.fori_loop(0, n, lambda i, y: y * x, 1.0)   ->   Loop(n, None, 1.0): e = Mul(c, x); return e
```
"""

from primsplit.tracing.control.branching import cond, switch
from primsplit.tracing.control.choosing import safe_where
from primsplit.tracing.control.looping import fori_loop, while_loop
from primsplit.tracing.control.scanning import mapped, scan

__all__ = ["cond", "fori_loop", "mapped", "safe_where", "scan", "switch", "while_loop"]

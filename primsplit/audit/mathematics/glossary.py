"""Say what the functions of a listing compute that NumPy does not have.

```
patches(x, kernel, strides, dilations)   the parts of images that each weight of a kernel meets: ...
```
"""

import ast
import inspect
from collections.abc import Iterable, Iterator

import numpy as np

from primsplit.audit.helpers.source import helpers
from primsplit.audit.mathematics.operators import NAMED
from primsplit.audit.mathematics.shown import Shown

WRITTEN_OUT = {
    "attention": "attention(q, k, v, mask, scale)   softmax(q @ k.mT * scale + mask, axis=-1) @ v;"
    " the scale is 1 / sqrt(q.shape[-1]) unless it is told",
    "erfc": "erfc(x)   1 - erf(x)",
    "erfcinv": "erfcinv(y)   the inverse of erfc",
    "erfcx": "erfcx(x)   exp(x**2) * erfc(x)",
    "erfinv": "erfinv(y)   the inverse of erf",
    "raises": "raises(error)   fails the run with the error",
    "log_ndtr": "log_ndtr(x)   log(ndtr(x))",
    "ndtr": "ndtr(x)   the probability that a standard normal number is less than x",
    "ndtri": "ndtri(p)   the inverse of ndtr",
    "max_pool": "max_pool(a, kernel, strides, dilations, pads, ceil)   the greatest element of each window",
}
"""Functions that a listing has by a name, with what they compute."""


def glossary(lines: Iterable[Shown]) -> Iterator[str]:
    """Yield the call of each function that a reader may not know, with what it returns."""
    for name in sorted({*_called(lines)}):
        if name in WRITTEN_OUT:
            yield WRITTEN_OUT[name]
            continue
        function = helpers().get(f"_{name}")
        is_known = name in NAMED.values() or hasattr(np, name)
        told = "" if function is None or is_known else inspect.getdoc(function) or ""
        if function is not None and told.startswith("Return "):
            first = told.removeprefix("Return ").split("\n")[0].rstrip(".")
            yield f"{name}({', '.join(inspect.signature(function).parameters)})   {first}"


def _called(lines: Iterable[Shown]) -> Iterator[str]:
    """Yield the names of the functions that statements call."""
    every = (line for top in lines for line in top.walk())
    values = (value for line in every for value in (line.value, line.expression) if value is not None)
    for node in (node for value in values for node in ast.walk(value)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id

"""scipy.optimize for functions of traced values: roots and minima, with derivatives from the equations they solve."""

from primsplit.frontends.scipy.optimize import intervals, minima, older, riccati, scalars, squares, vectors
from primsplit.frontends.scipy.overrides.solving import let_solve

for _module in (intervals, minima, older, scalars, squares, vectors):
    for _name in _module.__all__:
        let_solve("scipy.optimize", _name, getattr(_module, _name))
for _name in riccati.__all__:
    let_solve("scipy.linalg", _name, getattr(riccati, _name))

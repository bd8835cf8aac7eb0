"""scipy.optimize for functions of traced values: roots, whose derivatives are those of the equations they solve."""

from primsplit.scipy.optimize import riccati, scalars, squares, vectors
from primsplit.substitutes.solving import let_solve

for _module in (scalars, squares, vectors):
    for _name in _module.__all__:
        let_solve("scipy.optimize", _name, getattr(_module, _name))
for _name in riccati.__all__:
    let_solve("scipy.linalg", _name, getattr(riccati, _name))

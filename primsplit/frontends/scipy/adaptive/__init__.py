"""scipy.integrate of functions of traced values: integrals and differential equations, in steps that errors tell.

The steps of an equation and the intervals of an integral are found first, in a loop without a gradient, and are then
taken again in a Scan, which has one.
"""

from primsplit.frontends.scipy.adaptive import equations, quadrature
from primsplit.frontends.scipy.overrides.solving import let_solve

for _module in (equations, quadrature):
    for _name in _module.__all__:
        let_solve("scipy.integrate", _name, getattr(_module, _name))

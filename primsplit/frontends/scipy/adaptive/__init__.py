"""scipy.integrate for functions of traced values: integrals and differential equations, with adaptive steps.

The steps of an equation and the intervals of an integral are found first, in a loop without a gradient. They are then
taken again in a Scan, which has a gradient.
"""

from primsplit.frontends.scipy.adaptive import equations, quadrature
from primsplit.frontends.scipy.overrides.solving import let_solve

for _module in (equations, quadrature):
    for _name in _module.__all__:
        let_solve("scipy.integrate", _name, getattr(_module, _name))

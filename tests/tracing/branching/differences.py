"""Central differences, for the gradients of functions that branch."""

import numpy as np


def slopes(function, *point, step=1e-6):
    """Central differences by each argument."""
    found = []
    for position, x in enumerate(point):
        rows = []
        for unit in np.eye(np.size(x)).reshape(np.size(x), *np.shape(x)):
            ahead, behind = (function(*point[:position], x + h * unit, *point[position + 1 :]) for h in (step, -step))
            rows.append((ahead - behind) / (2 * step))
        found.append(np.reshape(rows, np.shape(x)))
    return found

"""The Laplacian inside of the Poisson network's loss, against the one worked out by hand."""

from pathlib import Path

import numpy as np

from primsplit.programs.userfile import load

MODEL = Path(__file__).parents[2] / "models" / "poisson_network.py"


def test_the_laplacian_is_that_of_a_five_point_formula() -> None:
    module = load(str(MODEL)).module
    params, points = module.initial_params(), np.random.default_rng(3).uniform(0.2, 0.8, (5, 2))
    step = 1e-3
    total = np.zeros(5)
    for axis in np.eye(2):
        near = module.solution(params, points + step * axis) + module.solution(params, points - step * axis)
        far = module.solution(params, points + 2 * step * axis) + module.solution(params, points - 2 * step * axis)
        total += (16.0 * near - far - 30.0 * module.solution(params, points)) / (12.0 * step**2)
    np.testing.assert_allclose(module.laplacian(params, points), total, rtol=1e-6)

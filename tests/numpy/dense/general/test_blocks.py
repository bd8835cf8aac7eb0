"""Eigenvalues of the diagonal blocks of a Schur form: LAPACK's, pairs conjugate to the bit."""

import functools
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.numpy.dense.general.blocks import eigenvalues_of_blocks
from tests.numpy.matrices import HARD, normal


@functools.cache
def program() -> Any:
    return ps.trace(lambda t: eigenvalues_of_blocks(t), ps.spec("float64", ["N", "N"]))


SCHUR = {
    **{f"of {n} rows, {seed}": scipy.linalg.schur(normal(n, n, seed=seed))[0] for n in (1, 2, 3, 6) for seed in (0, 1)},
    **{name: scipy.linalg.schur(HARD[name])[0] for name in ("zero", "a cycle", "a Jordan block")},
}


@pytest.mark.parametrize("name", SCHUR)
def test_the_eigenvalues_of_a_schur_form_are_numpys(name: str) -> None:
    t = SCHUR[name]
    real, imag = program()(t)
    wanted = np.linalg.eigvals(t)
    np.testing.assert_allclose(np.sort_complex(real + 1j * imag), np.sort_complex(wanted + 0j), atol=1e-12)
    for k in np.flatnonzero(imag > 0):
        assert (real[k + 1], imag[k + 1]) == (real[k], -imag[k])
    np.testing.assert_array_equal((imag != 0)[:-1] | (np.diag(t, -1) == 0), True)


BLOCKS = {
    "a pair": [[1.0, -2.0], [3.0, 1.0]],
    "a pair of a diagonal that differs": [[1.0, -2.0], [3.0, 2.0]],
    "two real ones": [[1.0, 2.0], [3.0, 4.0]],
    "two real ones far apart": [[1e8, 1.0], [1.0, 1e-8]],
    "nearly equal": [[1.0, 1e-9], [1e-9, 1.0 + 1e-12]],
    "equal": [[2.0, 1.0], [-1e-20, 2.0]],
    "nothing above": [[1.0, 0.0], [3.0, 2.0]],
    "of opposite signs": [[-1.0, 5.0], [0.2, 1.0]],
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_of_two_has_its_eigenvalues(name: str) -> None:
    block = np.array(BLOCKS[name])
    real, imag = program()(block)
    middle, half = np.trace(block) / 2, (block[0, 0] - block[1, 1]) / 2
    root = np.emath.sqrt(half**2 + block[0, 1] * block[1, 0])
    np.testing.assert_allclose(
        np.sort_complex(real + 1j * imag), np.sort_complex(middle + np.array([root, -root])), rtol=1e-9, atol=1e-9
    )

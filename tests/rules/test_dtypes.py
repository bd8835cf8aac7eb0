"""Every rule in fewer bits: cotangents and tangents are the float64 ones at the same point, but for rounding."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import ml_dtypes  # noqa: F401  # NumPy knows bfloat16 by its name from here on
import numpy as np
import pytest

from primsplit.ir import Const
from primsplit.ir.errors import DtypeError
from primsplit.programs.pushed import push_program
from primsplit.testing.subject import Subject
from tests.rules.row import Row, subject_of
from tests.rules.rows import ROWS

TOLERANCES = {"float32": 2e-4, "float16": 5e-2, "bfloat16": 2e-1}


def is_differentiated(row: Row) -> bool:
    """Rows that say in which dtypes they hold are checked there."""
    return "dtypes" not in row.options


def rounded(subject: Subject, dtype: str, *, wide: bool) -> Subject:
    """The same with what is float64 rounded to a dtype, and perhaps made float64 again; float32 operands stay."""

    def cast(value: Any) -> Any:
        array = value.numpy() if isinstance(value, Const) else value
        if not isinstance(array, np.ndarray) or array.dtype != np.float64:
            return value
        made = array.astype(dtype)
        made = made.astype(np.float64) if wide else made
        return Const(made) if isinstance(value, Const) else made

    return dataclasses.replace(subject, inputs=tuple(map(cast, subject.inputs)))


def derivatives(subject: Subject, wrt: list[int], seed: int) -> list[np.ndarray[Any, Any]]:
    """The cotangents and the tangents, for the same random numbers whatever the dtype."""
    random = np.random.default_rng(seed)
    made = subject.split(wrt)
    pushed = push_program(made.program, wrt, made.split.of)
    values = subject.program().session()(*subject.point)
    seeds = [random.standard_normal(values[i].shape) for i in made.split.of]
    lines = [random.standard_normal(subject.point[i].shape) for i in pushed.pushed.wrt]

    def run(program: Any, more: Sequence[Any], types: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        given = [np.asarray(np.asarray(a, "bfloat16"), t.type.dtype) for a, t in zip(more, types, strict=True)]
        found = program.session()(*subject.point, *given)[len(values) :]
        return [np.asarray(a, np.float64) for a in found]

    types = [made.program.block.params[i] for i in pushed.pushed.wrt]
    back = run(made.joint(), seeds, made.split.cotangents)
    return [*back, *run(pushed.joint(), lines, types)]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("row", [row for row in ROWS if is_differentiated(row)], ids=str)
def test_derivatives_in_fewer_bits_are_the_float64_ones_but_for_rounding(row: Row, dtype: str) -> None:
    exact = subject_of(row)
    wrt = [i for i, array in enumerate(exact.point) if array.dtype == np.float64]
    try:
        found = derivatives(rounded(exact, dtype, wide=False), wrt, 0)
    except DtypeError as error:
        pytest.skip(f"no kernels: {error}".splitlines()[0])
    wanted = derivatives(rounded(exact, dtype, wide=True), wrt, 0)
    for got, right in zip(found, wanted, strict=True):
        size = max(1.0, float(np.max(np.abs(right[np.isfinite(right)]), initial=0)))
        tolerance = TOLERANCES[dtype]
        np.testing.assert_allclose(got, right, rtol=tolerance, atol=tolerance * size)

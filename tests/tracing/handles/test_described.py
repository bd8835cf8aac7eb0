"""A traced array tells its dtype and sizes as NumPy's does, also where only the run knows them."""

from typing import Any

import numpy as np
import pytest

from primsplit.ir import Type, Var
from primsplit.ir.dims import symbol
from primsplit.ir.errors import TraceError
from primsplit.tracing.array import Array
from tests.recording import record

N = symbol("N")


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (4, 3, 2)], ids=str)
@pytest.mark.parametrize("dtype", ["float16", "int64", "bool"])
def test_literal_sizes_are_numpys(shape: tuple[int, ...], dtype: str) -> None:
    like = np.zeros(shape, dtype)

    def program(x: Any) -> Any:
        found = (x.shape, x.ndim, x.size, x.dtype, x.itemsize, x.nbytes)
        assert found == (like.shape, like.ndim, like.size, like.dtype, like.itemsize, like.nbytes)
        return x

    record(program, f"{dtype}[{','.join(map(str, shape))}]")


def test_sizes_that_the_run_knows_are_expressions() -> None:
    def program(x: Any) -> Any:
        assert (str(x.shape), str(x.size), str(x.nbytes)) == ("(N, 3)", "3*N", "24*N")
        assert x.ndim == 2
        assert x.type == Type("float64", [N, 3])
        return x

    record(program, "float64[N,3]")


def test_a_shape_is_not_set_and_an_unknown_rank_is_refused() -> None:
    def setting(x: Any) -> Any:
        x.shape = (3, 2)
        return x

    with pytest.raises(TraceError, match="the shape of a traced array cannot be set"):
        record(setting, "float64[2,3]")

    def unranked(x: Any) -> Any:
        return Array(Var(Type("float64", None))).ndim or x

    with pytest.raises(TraceError, match="the rank of this value is not known"):
        record(unranked, "float64[2,3]")

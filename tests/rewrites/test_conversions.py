"""Constants that tracing converted: kept in the dtype that the user has, and converted in the file."""

import numpy as np

import primsplit as ps
from primsplit.ir import Block, Const, Op, Type, Var
from primsplit.ir.values import converted
from primsplit.rewrites.conversions import convert_in_program

X, Y = Var(Type("float64", [4])), Var(Type("float64", [4]))


def reading(source: np.ndarray, dtype: str) -> tuple[Const, Block]:
    """A block that reads an array converted to a dtype."""
    const = Const(source)
    wide = Const(converted(const, np.dtype(dtype)))
    return const, Block("f", (X,), (Op("Mul", (X, wide), (Y,)),), (Y,))


def test_a_float_array_is_converted_by_a_cast_of_the_users_array() -> None:
    const, block = reading(np.arange(4, dtype=np.float32), "float64")
    cast, product = convert_in_program(block).ops
    assert (cast.kind, product.kind) == ("Cast", "Mul")
    (source,) = cast.inputs
    assert isinstance(source, Const)
    assert source.data is const.data
    assert product.inputs == (X, cast.outputs[0])


def test_a_single_number_and_an_integer_that_is_no_narrower_are_converted_at_once() -> None:
    for source in (np.full(4, 2.0, np.float32), np.arange(4, dtype=np.int64)):
        _, block = reading(source, "float64")
        assert convert_in_program(block) is block


def test_a_narrower_integer_is_converted_in_the_file() -> None:
    _, block = reading(np.arange(4, dtype=np.int8), "float64")
    assert [o.kind for o in convert_in_program(block).ops] == ["Cast", "Mul"]


def test_the_program_gives_what_numpy_gives() -> None:
    w, x = np.arange(100, dtype=np.float32) / 7, np.linspace(-1, 1, 100)
    np.testing.assert_array_equal(ps.trace(lambda x: x * w, x)(x), x * w)

"""Parsing: parse(listing(b)) == b for every block, and errors that tell the line."""

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from primsplit.ir import Block, Const, Op, Type, Var, free
from primsplit.ir.dims import symbol
from primsplit.ir.errors import ParseError
from primsplit.ir.notation.listing import constants, listing, names_of
from primsplit.ir.notation.parsing import parse, parse_all
from primsplit.ops import op
from primsplit.transforms.split import split_block
from tests.random_programs import blocks
from tests.recording import record, sub_block


def _returns(*values: Any) -> Block:
    return Block("f", (), (), tuple(Const(v) for v in values))


@settings(max_examples=80, deadline=None)
@given(blocks())
def test_a_listing_parses_to_the_same_program(block: Block) -> None:
    text = listing(block)
    again = parse(text, constants(block))
    assert again == block
    assert _code(listing(again)) == _code(text)


def _code(text: str) -> list[str]:
    """The lines without comments and padding."""
    return [re.sub(r" +", " ", re.sub(r" +#.*", "", line)) for line in text.splitlines()]


DTYPES = ["float16", "float32", "float64", "bfloat16", "int8", "int32", "int64", "uint8", "uint64", "bool"]
NARROW = ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float6_e2m3fn", "float4_e2m1fn", "int4", "uint4", "int2"]


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=60, deadline=None)
@given(st.binary(min_size=0, max_size=48), st.booleans())
def test_every_bit_of_a_constant_survives(dtype: str, raw: bytes, scalar: bool) -> None:
    kind = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    whole = raw[: len(raw) // kind.itemsize * kind.itemsize]
    array = np.frombuffer(bytes(b & 1 for b in whole) if dtype == "bool" else whole, kind)
    array = array[0] if scalar and array.size else array
    x = Var(Type(kind, []), "x")
    ops = (Op("Add", (x, Const(array)), (Var(x.type),)), Op("Sub", (Const(array), Const(array)), (Var(x.type),)))
    block = Block("f", (x,), ops, (Const(array),))
    assert parse(listing(block), constants(block)) == block


FLOAT32 = st.floats(width=32)


@settings(deadline=None)
@given(st.lists(FLOAT32, max_size=5), FLOAT32)
def test_floats_are_written_short_and_read_exactly(numbers: list[float], fill: float) -> None:
    block = _returns(np.array(numbers, np.float32), np.full((2, 3), fill, np.float32), np.float64(fill))
    assert parse(listing(block), constants(block)) == block


@pytest.mark.parametrize("dtype", NARROW)
def test_every_value_of_the_narrow_dtypes_survives(dtype: str) -> None:
    low, high = {"int2": (-2, 2), "int4": (-8, 8)}.get(dtype, (0, 16))
    bits = 2 ** int(dtype.removeprefix("float")[0]) if "float" in dtype else 0
    values = np.arange(bits, dtype=np.uint8).view(dtype) if bits else np.arange(low, high).astype(dtype)
    for chunk in np.array_split(values, max(values.size // 8, 1)):
        block = _returns(chunk, chunk[0])
        assert parse(listing(block), constants(block)) == block


def test_minus_zero_is_not_zero_and_a_float_is_not_an_integer() -> None:
    zeros = [_returns(v) for v in (np.float32(0.0), np.float32(-0.0), np.float64(0.0), np.int64(0), np.int32(0))]
    for a in zeros:
        for b in zeros:
            assert (parse(listing(a)) == b) == (a is b)


ATTRIBUTES: list[Any] = [
    0, 1, -3, 2**62, 0.5, 1.0, -0.0, 1e-300, float("inf"), "text", 'quo"te\n# no comment', "ünï", b"bytes\x00",
    True, None,
    [1, 2], [1.0, 2.5], [], ["a", "b,c]"], (1, 2), (1,), [[1], [2, 3]], np.array([0.0], np.float32), np.float64(0.1),
    np.zeros((0, 2)), np.arange(100),
]  # fmt: skip


@pytest.mark.parametrize("value", ATTRIBUTES, ids=repr)
def test_attributes_keep_their_value_and_type(value: Any) -> None:
    block = Block("f", (), (Op("Foo", (), (Var(Type("float32", [])),), {"value": value}),), ())
    again = parse(listing(block), constants(block))
    assert again == block
    found = again.ops[0].attributes["value"]
    assert type(found) is (type(value.item()) if isinstance(value, np.generic) else type(value))


def test_objects_in_attributes_are_given_back() -> None:
    def my_rule() -> None: ...

    body = record(lambda x: op.Exp(x), "float32[N]", name="softmax")
    x = Var(Type("float32", [symbol("N")]), "x")
    call = Op("call::softmax", (x,), (Var(x.type),), {"body": body, "rule": my_rule})
    block = Block("f", (x,), (call,), call.outputs)
    text = listing(block)
    assert "call::softmax(x, rule=my_rule)" in text
    assert "body = softmax(" in text
    assert parse(text, constants(block)) == block


def test_objects_of_one_name_are_numbered_and_one_without_a_name_has_its_class() -> None:
    def named(name: str) -> Any:
        def rule() -> None: ...

        rule.__name__ = name
        return rule

    held = {"a": named("mine"), "b": named("mine"), "c": named("<lambda>"), "d": object()}
    block = Block("f", (), (Op("Foo", (), (Var(Type("float32", [])),), held),), ())
    assert "Foo(a=mine, b=mine_2, c=function, d=object)" in listing(block)
    assert parse(listing(block), constants(block)) == block


def test_absent_inputs_and_several_outputs() -> None:
    block = record(lambda x: op.TopK(op.Clip(x, None, np.float32(1.0)), [2]), "float32[N,5]")
    assert parse(listing(block)) == block


def test_dtype_codes_are_read_back_as_numbers() -> None:
    block = record(lambda x: op.Cast(x, to=np.float64), "float32")
    assert parse(listing(block)).ops[0].attributes == {"to": 11}


def test_nested_blocks_read_the_scopes_around_them() -> None:
    def program(x: Any, c: Any) -> Any:
        y = op.Exp(x)

        def inner() -> Any:
            z = op.Neg(y)
            bodies = [sub_block(lambda: op.Mul(z, x)), sub_block(lambda: z)]
            return op.If(c, then_branch=bodies[0], else_branch=bodies[1], types=[y.type])[0]

        bodies = [sub_block(inner), sub_block(lambda: y)]
        (w,) = op.If(c, then_branch=bodies[0], else_branch=bodies[1], types=[y.type])
        return op.Mul(w, y)

    block = record(program, "float32[N]", "bool")
    assert parse(listing(block)) == block


def test_a_loop_body_with_parameters() -> None:
    def program(x: Any, n: Any) -> Any:
        body = sub_block(lambda i, go, y: (go, op.Mul(y, x)), "int64", "bool", "float32[N]")
        return op.Loop(n, None, x, body=body, types=[x.type])

    block = record(program, "float32[N]", "int64")
    text = listing(block)
    assert "body(i: int64, go: bool, y: float32[N]):" in text
    assert parse(text) == block


def test_a_block_with_captures_says_their_types_and_is_read_with_the_same_vars() -> None:
    y = Var(Type("float32", [3]), "y")
    x = Var(Type("float32", [3]), "x")
    z = Var(Type("float32", [3]))
    block = Block("body", (x,), (Op("Mul", (x, y), (z,)),), (z, y))
    text = listing(block)
    assert text.startswith("body(x: float32[3]) with y: float32[3]:")
    given_names = {name: var for var, name in names_of(block).of.items() if var in free(block)}
    assert parse(text, free=given_names) == block


def test_both_blocks_of_a_split_are_read() -> None:
    made = split_block(record(lambda x, w: op.Tanh(op.MatMul(x, w)), "float32[N,3]", "float32[3,4]"), [0, 1], [0])
    assert parse_all(listing(made), constants(made)) == [made.primal, made.pullback]


@pytest.mark.parametrize(
    "name", ["/a/b", "a b", "`", "\\", "float32", "return", "None", "ünï", "1", "a.b", "", "\u202e", "'#"]
)
def test_any_name_of_a_variable_or_program_is_read_back(name: str) -> None:
    x = Var(Type("float32", []), name)
    y = Var(Type("float32", []), name)
    block = Block(name, (x, y), (Op("Add", (x, y), (Var(x.type),)),), (y, x))
    again = parse(listing(block))
    assert again == block
    assert again.name == (name or "program")


@pytest.mark.parametrize("name", ["batch size", "a/b", "N-1", "None", "lambda", "2", "x`y", "a,b", "a]", "Ñ"])
def test_any_name_of_a_size_is_read_back(name: str) -> None:
    n = symbol(name)
    x = Var(Type("float32", [n, n * 2 + 1, (n + 1) // 2, 3]), "x")
    block = Block("f", (x,), (), (x,))
    assert parse(listing(block)) == block


def test_an_unknown_rank() -> None:
    x = Var(Type("float32", None), "x")
    assert parse(listing(Block("f", (x,), (), (x,)))) == Block("f", (x,), (), (x,))


def test_strings() -> None:
    block = _returns(np.array(["a", 'b"c', "ü"], dtype=object), np.array("x", dtype=object))
    assert parse(listing(block), constants(block)) == block


BAD = {
    "f(x: float32):\n  a: float32 = Sin(y)\n  return a": "line 2: 'y' is not defined",
    "f(x: float32):\n  a: float32 = Sin(x)": "f has no `return`",
    "f(x: float33):\n  return x": "line 1: 'float33' is no dtype",
    "f(x: float32):\n  a: float32 = Add(1.0, 2.0)\n  return a": "line 2: which dtype 1.0 has",
    "f(x: float32):\n  return float32[2](1.0, 2.0, 3.0)": "line 2: 3 elements",
    "f(x: float32):\n  return float32[100]@00000000": "line 2: no constant @00000000",
    "f(x: float32):\n  a: float32 = Sin(x) x\n  return a": "line 2: 'x' after the op",
    "f(x: float32):\n  a: float32 = Sin(x\n  return a": "the line ends too early|expected",
    "f(x: float32):\n  a: float32 = $in(x)\n  return a": "line 2: a listing has no '\\$'",
    "f(x: float32):\n  return x\ng(x: float32):\n  return x": "2 programs",
    "": "0 programs",
}


@pytest.mark.parametrize("text", BAD)
def test_an_unreadable_listing_names_the_line(text: str) -> None:
    with pytest.raises(ParseError, match=BAD[text]):
        parse(text)


def test_comments_and_padding_are_not_read() -> None:
    text = "f(x: float32):   # captures nothing\n\n  # a remark\n  a: float32   =   Sin(x)    # here\n  return a\n"
    assert parse(text) == record(lambda x: op.Sin(x), "float32")

"""The listing: what a user reads. The golden texts below change only with a reason."""

import textwrap
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block, Const, Op, Type, Var
from primsplit.ir.errors import Place
from primsplit.ir.names import name_captures
from primsplit.ir.notation.listing import MARGIN, constants, listing, wrapped
from primsplit.ir.notation.parsing import parse
from primsplit.ops import op
from primsplit.transforms.split import split_block
from tests.recording import record, sub_block, without_places


def _text(block: Block) -> str:
    """The listing without the lines of the test's own file."""
    return listing(without_places(block))


def _golden(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


def test_a_pullback_with_its_remarks() -> None:
    y, x, dz = Var(Type("float32", [3]), "y"), Var(Type("float32", [5, 3]), "x"), Var(Type("float32", [5, 3]), "dz")
    a, b, c = Var(x.type), Var(x.type), Var(y.type)
    ops = (
        Op("Mul", (dz, y), (a,), remark="dx"),
        Op("Mul", (dz, x), (b,)),
        Op("ReduceSum", (b, Const(np.array([0]))), (c,), {"keepdims": 0}, remark="dy, summed: y was broadcast"),
    )
    assert listing(Block("mul.pullback", (y, x, dz), ops, (a, c))) == _golden("""
        mul.pullback(y: float32[3], x: float32[5,3], dz: float32[5,3]):
          a: float32[5,3] = Mul(dz, y)                     # dx
          b: float32[5,3] = Mul(dz, x)
          c: float32[3]   = ReduceSum(b, [0], keepdims=0)  # dy, summed: y was broadcast
          return a, c
    """)


def test_a_split_shows_primal_pullback_and_what_is_kept_for_how_many_bytes() -> None:
    block = record(lambda x, w: op.Tanh(op.MatMul(x, w)), "float32[N,3]", "float32[3,4]")
    text = listing(split_block(block, [0, 1], [0]))
    header, *rest = text[text.index("f.pullback") :].splitlines()
    assert header.startswith("f.pullback(")
    assert [line.split() for line in rest[:3]] == [
        ["#", "captures", "b", "16*N", "B", "output"],
        ["#", "w", "48", "B", "input"],
        ["#", "x", "12*N", "B", "input"],
    ]


def test_captures_of_one_kind_fit_in_the_header() -> None:
    block = record(lambda x, y: op.Mul(x, y), "float32[5,3]", "float32[3]")
    text = listing(split_block(block, [0, 1], [0]))
    assert "  # captures y 12 B, x 60 B (inputs)" in text


def test_the_users_line_is_shown_once_and_its_number_at_each_of_its_ops() -> None:
    place = Place(__file__, 1, "f")
    x = Var(Type("float32", []), "x")
    a, b = Var(x.type), Var(x.type)
    ops = (Op("Sin", (x,), (a,), {}, place), Op("Cos", (a,), (b,), {}, place))
    lines = listing(Block("f", (x,), ops, (b,))).splitlines()
    assert lines[1].endswith(
        '= Sin(x)  # test_listing.py:1  """The listing: what a user reads. The golden texts below...'
    )
    assert lines[2].endswith("= Cos(a)  # test_listing.py:1")


CONSTANTS: list[tuple[Any, str]] = [
    (np.float32(0.5), "Add(x, 0.5)"),
    (np.float32(-0.0), "Add(x, -0.0)"),
    (np.float32(0.1), "Add(x, 0.1)"),
    (np.float32(2), "Add(x, 2.0)"),
    (np.float32(np.inf), "Add(x, inf)"),
    (np.float32(np.nan), "Add(x, nan)"),
    (np.array(0x7FC00001, np.uint32).view(np.float32), "Add(x, float32(0x7fc00001))"),
    (np.float32([1, 2]).reshape(2, 1), "Add(x, float32[2,1](1.0, 2.0))"),
    (np.ones((5, 3), np.float32), "Add(x, float32[5,3](1.0))"),
    (np.zeros((0, 3), np.float32), "Add(x, float32[0,3]())"),
    (np.ones((100, 3), np.float32), "Add(x, float32[100,3](1.0))"),
]


@pytest.mark.parametrize(("value", "expected"), CONSTANTS)
def test_a_constant_keeps_its_dtype_and_bits(value: Any, expected: str) -> None:
    assert expected in _text(record(lambda x: op.Add(x, value), "float32[1,3]"))


def test_sizes_and_axes_are_plain_lists() -> None:
    text = _text(record(lambda x: op.Reshape(x, [3, -1]), "float32[N,3]"))
    assert "Reshape(x, [3, -1])" in text


def test_numbers_take_the_dtype_of_the_first_variable_of_their_kind_or_say_it() -> None:
    block = record(
        lambda n, x: (op.Add(n, np.int32(3)), op.Pow(x, np.int64(2)), op.Pow(x, np.int32(2))), "int32[N]", "float64[N]"
    )
    text = _text(block)
    assert "Add(n, 3)" in text
    assert "Pow(x, 2)" in text
    assert "Pow(x, int32(2))" in text


def test_long_constants_are_told_by_digest_and_equal_ones_alike() -> None:
    big = np.arange(5000, dtype=np.float32).reshape(100, 50)
    block = record(lambda x: op.Add(op.Add(x, big), big.copy()), "float32[100,50]")
    ((digest, held),) = constants(block).items()
    assert len(digest) == 8
    assert held.shape == (100, 50)
    assert _text(block).count(f"float32[100,50]@{digest}") == 2


def test_casts_name_the_dtype() -> None:
    assert "Cast(x, to=float64)" in _text(record(lambda x: op.Cast(x, to=np.float64), "float32"))


def test_sub_blocks_are_indented_below_their_op_and_show_what_they_read_of_the_outside() -> None:
    def program(x: Any, c: Any) -> Any:
        y = op.Exp(x)
        branches = [sub_block(lambda: op.Neg(y), name="then_branch"), sub_block(lambda: y, name="else_branch")]
        (z,) = op.If(c, then_branch=branches[0], else_branch=branches[1], types=[y.type])
        return z

    assert _text(record(program, "float32[N]", "bool")) == _golden("""
        f(x: float32[N], c: bool):
          y: float32[N]     = Exp(x)
          z: float32[N]     = If(c)
            then_branch():
              a: float32[N] = Neg(y)
              return a
            else_branch():
              return y
          return z
    """)


def test_odd_names_are_in_backticks() -> None:
    x, y = Var(Type("float32", []), "/conv/W:0"), Var(Type("float32", []), "größe")
    assert listing(Block("my model", (x, y), (), (y, x))) == _golden("""
        `my model`(`/conv/W:0`: float32, größe: float32):
          return größe, `/conv/W:0`
    """)


def test_names_are_unique_and_the_users_come_before_letters() -> None:
    first, second, third = (Var(Type("float32", []), hint) for hint in ("", "a", "a"))
    block = Block("f", (first,), (Op("Sin", (first,), (second,)), Op("Cos", (second,), (third,))), (third,))
    assert "f(b: float32)" in listing(block)
    assert "a_1: float32 = Cos(a)" in listing(block)


def test_given_names_win() -> None:
    block = record(lambda x: op.Exp(x), "float32")
    assert "Exp(params.w)" in listing(block, {block.params[0]: "params.w"})


def test_long_headers_and_calls_are_broken() -> None:
    parts = 40
    block = record(lambda x: op.Concat(*[x] * parts, axis=0), "float32[N]")
    assert max(map(len, _text(block).splitlines())) <= 110


def test_ten_thousand_ops_are_listed_in_linear_time() -> None:
    import time

    def chain(x: Any, length: int) -> Any:
        for _ in range(length):
            x = op.Mul(op.Sin(x), np.float32(0.5))
        return x

    def seconds(length: int) -> float:
        block = record(lambda x: chain(x, length), "float32[N]")
        start = time.process_time()
        listing(block)
        return time.process_time() - start

    seconds(100)
    # Ten times the ops; quadratic time would be a hundred times as long.
    assert seconds(4000) < 60 * max(seconds(400), 0.002)


def test_a_capture_without_a_name_of_the_users_is_called_as_its_operator() -> None:
    made = ps.split(lambda x: np.sum(np.exp(x) * np.tanh(x * x)) + np.max(x), ps.spec("float64", [3]))
    assert {"exp", "tanh", "max"} <= set(made.capture_names().values())
    assert "d_y: float64" in made.listing()


@pytest.mark.parametrize(("kind", "name"), [("ReduceLogSumExp", "logsumexp"), ("Not", "not_"), ("call::a-b", "a_b")])
def test_an_operators_name_is_a_word(kind: str, name: str) -> None:
    x = Var(Type("float32", []))
    made = Var(x.type)
    block = Block("f", (x,), (Op(kind, (x,), (made,)),), ())
    assert name_captures(block, (x, made), ["x"], [])[made] == name


def test_a_brief_listing_has_the_body_of_a_function_once() -> None:
    block = ps.trace(lambda x: np.square(np.square(x) + 1.0), ps.spec("float64", ["N"])).block
    assert listing(block).count("= Mul(") == 2
    assert parse(listing(block), constants(block)) == block
    assert [line for line in listing(block, brief=True).splitlines() if "as above" in line] == [
        "    body = square, as above"
    ]


@pytest.mark.parametrize("depth", [0, 3])
def test_items_are_broken_into_lines_that_are_as_long_as_the_margin_allows(depth: int) -> None:
    items = ["x" * 20, "y" * (MARGIN - 2 * (depth + 2) - 23)]  # both on a line of just that length
    items += [letter * (10 + k % 4) for k, letter in enumerate("abcdefghijklmnopqrstuvw")]
    head, *rows, last, tail = (line.code for line in wrapped(depth, "t", "f(", items, ")", ""))
    assert (head, tail) == ("f(", ")")
    widths = [2 * (depth + 2) + len(row) for row in (*rows, last)]
    assert max(widths) == MARGIN
    for width, after in zip(widths, (*rows[1:], last), strict=False):
        assert width + 1 + len(after.split(" ")[0]) > MARGIN
    assert " ".join((*rows, last)).rstrip(",").split(", ") == items

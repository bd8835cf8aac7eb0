"""A program as Python: the source, executed, is the same program."""

import ast
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import primsplit as ps
from primsplit.audit.rebuild import run_source
from primsplit.ir import BFLOAT16, Block, Const, Op, Type, Var
from primsplit.ir.errors import PrimsplitError, SpecError
from primsplit.ir.notation.listing import constants, listing
from primsplit.ir.notation.parsing import parse
from primsplit.ops import op
from primsplit.programs.flat import flat_program
from primsplit.programs.python_text import MOST_PACKED, packed, to_python, unpacked
from primsplit.rewrites import optimize
from tests.random_programs import blocks
from tests.recording import record, sub_block


def _again(block: Block) -> Block:
    return run_source(to_python(block), constants(block))


@settings(max_examples=60, deadline=None)
@given(blocks())
def test_a_random_program_written_as_python_is_rebuilt(block: Block) -> None:
    assert _again(block) == block


def test_a_gradient_is_rebuilt_before_and_after_optimizing() -> None:
    def loss(x: Any, w: Any) -> Any:
        h = op.Tanh(op.MatMul(x, w))
        return op.ReduceSum(op.Mul(h, h), keepdims=0)

    block = ps.split(loss, ps.spec("float64", ["N", 3]), ps.spec("float64", [3, 4])).joint().block
    assert _again(block) == block
    assert _again(optimize(block)) == optimize(block)


def test_without_the_rules_at_hand_the_source_is_the_program_all_the_same() -> None:
    program = ps.trace(lambda x: np.sum(np.logaddexp(x, 0.5) ** 2 + np.square(x)), np.ones(3))
    source = program.listing("python")
    assert "logaddexp_rule" in source
    x = np.array([-1.0, 0.0, 2.0])
    again = run_source(source)
    assert _again(program.block) == program.block
    (found,) = flat_program(again, ["x"], ["y"])(x)
    np.testing.assert_allclose(found, program(x), rtol=1e-15)


def test_a_split_is_one_file_that_needs_no_other_one() -> None:
    table = np.linspace(0.0, 1.0, 40)
    made = ps.split(lambda x: np.sum(np.sin(x) * table) + np.sum(x * table), ps.spec("float64", [40]))
    source = made.listing("python")
    assert source.count("import numpy") == 1
    again: dict[str, Any] = {}
    exec(source, again)
    x = np.linspace(-1.0, 1.0, 40)
    names = [*made.capture_names().values(), "d_y"]
    pullback = ps.trace(again[f"{made.primal.name}_pullback"])
    assert set(pullback.inputs) <= set(names)
    given = {"sin": np.sin(x), "cos": np.cos(x), "x": x, "d_y": np.array(2.0)}
    np.testing.assert_allclose(ps.trace(again[made.primal.name])(x), np.sum((np.sin(x) + x) * table), rtol=1e-15)
    found = pullback(*(given[n] for n in pullback.inputs))
    np.testing.assert_allclose(found, 2.0 * (np.cos(x) + 1.0) * table, rtol=1e-14)


PACKED = [np.arange(6.0).reshape(2, 3), np.zeros((0, 2), np.int8), np.array(True), np.arange(3).astype(BFLOAT16)]


@pytest.mark.parametrize("array", PACKED, ids=lambda a: a.dtype.name)
def test_packed_arrays_are_unpacked_as_they_were(array: Any) -> None:
    found = unpacked("\n" + packed({"a": array, "b": array}))["b"]
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tobytes() == array.tobytes()


def test_constants_that_are_too_long_for_a_source_are_a_file_of_their_own() -> None:
    table = np.linspace(0.0, 1.0, 2 * MOST_PACKED)
    source = ps.trace(lambda x: x * table, ps.spec("float64", [])).listing("python")
    assert len(source) < 1000
    assert 'np.load("program.npz")' in source


def test_the_source_is_a_file_that_primsplit_reads() -> None:
    block = record(lambda x: op.Mul(op.Sub(x, 0.5), np.ones(3, np.float32)), "float32[N,3]", name="loss")
    assert to_python(block) == (
        "import numpy as np\n"
        "import primsplit as ps\n"
        "from primsplit.ops import op\n\n\n"
        'def loss(x: ps.spec("float32", ["N", 3])):\n'
        "    a = op.Sub(x, 0.5)\n"
        '    b = op.Mul(a, np.full((3,), 1.0, "float32"))\n'
        "    return b\n"
    )


NUMBERS = [
    np.float32(-0.0), np.float64(np.nan), np.float32(np.inf), np.array(0x7FC00001, np.uint32).view(np.float32),
    np.array([1.5, np.nan], np.float64), np.array([[1, 2], [3, 4]], np.int32), np.array([True, False]), np.int64(3),
    np.zeros((0, 2), np.float32), np.arange(40.0), np.array([], np.int64), np.array([1, 2]), np.array(True),
]  # fmt: skip


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_a_constant_is_rebuilt_bit_by_bit(value: Any) -> None:
    block = record(lambda x: (op.Identity(x), op.Cast(value, to=np.float64), Const(value)), "float32")
    assert _again(block) == block


def test_branches_loops_and_calls_are_rebuilt() -> None:
    def program(x: Any, n: Any, c: Any) -> Any:
        inside = sub_block(lambda i, go, y: (go, op.Mul(y, x)), "int64", "bool", "float32[N]")
        (y,) = op.Loop(n, None, x, body=inside, types=[x.type])
        bodies = [sub_block(lambda: op.Exp(y), name="yes"), sub_block(lambda: x, name="no")]
        return op.If(c, then_branch=bodies[0], else_branch=bodies[1], types=[x.type])[0]

    block = record(program, "float32[N]", "int64", "bool")
    assert _again(block) == block
    x = Var(block.params[0].type, "x")
    call = Op(
        "call::softmax", (x,), (Var(x.type),), {"body": record(lambda x: op.Exp(x), "float32[N]", name="softmax")}
    )
    calling = Block("f", (x,), (call,), call.outputs)
    assert _again(calling) == calling


def test_declared_types_that_do_not_follow_are_written_out() -> None:
    def program(x: Any, y: Any) -> Any:
        return op.Reshape(x, op.Abs(op.Shape(y)), types=[Type("float32", y.shape)])

    block = record(program, "float32[N]", "float32[M,2]")
    assert 'types=[ps.spec("float32", ["M", 2])]' in to_python(block)
    assert _again(block) == block


def test_names_of_parameters_become_identifiers() -> None:
    x = Var(Type("float32", []), "params.w")
    y = Var(Type("float32", []), "lambda")
    source = to_python(Block("my loss", (x, y), (), (y, x)))
    assert "def my_loss(params_w: " in source
    assert run_source(source) == Block("", (x, y), (), (y, x))


@pytest.mark.parametrize("name", ["x=1, **forged(), y", "a b", "class", "\ufb01", "kind", "x\n'", "a.b", "__debug__"])
@pytest.mark.parametrize("kind", ["my::F", "my', forged(), '::F"])
def test_the_name_of_an_attribute_or_operator_is_no_code(name: str, kind: str) -> None:
    x, y = Var(Type("float32", [3]), "x"), Var(Type("float32", [3]), "y")
    block = Block("program", (x,), (Op(kind, (x,), (y,), {name: 1.5}),), (y,))
    source = to_python(block)
    assert "forged" not in {n.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name)}
    assert run_source(source) == block
    assert parse(listing(block)) == block


def test_an_attribute_with_the_name_of_a_parameter_of_the_source_is_refused() -> None:
    x, y = Var(Type("float32", [3]), "x"), Var(Type("float32", [3]), "y")
    block = Block("program", (x,), (Op("my::F", (x,), (y,), {"types": 1.5}),), (y,))
    with pytest.raises(PrimsplitError, match="an attribute types, which cannot be written as Python"):
        to_python(block)


def test_a_block_that_captures_is_refused() -> None:
    x = Var(Type("float32", []), "x")
    with pytest.raises(PrimsplitError, match="reads"):
        to_python(Block("f", (), (), (x,)))


def test_programs_and_splits_list_themselves_as_text_or_python_and_in_no_other_style() -> None:
    made = ps.split(lambda x: np.tanh(x) * 2, ps.spec("float32", ["N"]))
    assert "Tanh(x)" in made.listing()
    assert "_pullback(" in made.listing("python")
    assert run_source(made.program.listing("python")) == made.program.block
    with pytest.raises(SpecError, match="styles are text, python"):
        made.listing("xml")

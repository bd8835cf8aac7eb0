"""Blocks as JSON values and back, with the user's lines."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from primsplit.ir import Attribute, Block, BodyRole, Const, Op, Type, Var
from primsplit.ir.analysis.orders import Origin
from primsplit.ir.dims import Kinded, SymbolKind, kinds_of, symbol
from primsplit.ir.errors import Place, PrimsplitError
from primsplit.ir.notation.encoding import Unstorable, decoded, encoded
from tests.random_programs import blocks

F32 = Type("float32", [symbol("batch size"), 3])


class Bodies:
    """Calls of which only the body and a name are kept."""

    def tell(self, op: Op) -> Any:
        return op.attributes["name"]

    def remark(self, told: str) -> str:
        return told

    def attributes(self, told: Any, body: Block) -> Mapping[str, Attribute]:
        return {"body": body, "name": told}


def again(block: Block) -> Block:
    """The block that a JSON text of the block gives."""
    return decoded(json.loads(json.dumps(encoded(block, Bodies()))), Bodies())


@settings(max_examples=50, deadline=None)
@given(blocks())
def test_a_block_comes_back_equal(block: Block) -> None:
    copy = again(block)
    assert copy == block
    assert [op.place and op.place[:4] for op in copy.ops] == [op.place and op.place[:4] for op in block.ops]


def test_each_kind_of_attribute_and_remark_comes_back() -> None:
    x, y = Var(F32, "x"), Var(F32, "y", None)
    inner = Block("g", (), (), (x,))
    attributes = {
        "number": 1, "text": "t", "flag": True, "none": None, "list": [1, 2.5], "tuple": (1, ("a",)), "bytes": b"\0a",
        "array": np.array([1.0, np.nan]), "scalar": np.float16(0.5), "empty": np.zeros((0, 2)), "block": inner,
    }  # fmt: skip
    op = Op("Own", (x, None, Const(np.arange(3), "w", role="weight")), (y,), attributes, Place("m.py", 3, "f", 1))
    copy = again(Block("f", (x,), (op, replace(op, outputs=(Var(F32),), remark=Origin("r", "a", "b", 1))), (y,)))
    first, second = copy.ops
    assert first.attributes.keys() == attributes.keys()
    for name in ("number", "text", "flag", "none", "list", "tuple", "bytes", "scalar"):
        assert first.attributes[name] == attributes[name]
        assert type(first.attributes[name]) is type(attributes[name])
    for name in ("array", "empty"):
        np.testing.assert_array_equal(first.attributes[name], attributes[name], strict=True)
    assert first.place == Place("m.py", 3, "f", 1)
    weight = first.inputs[2]
    assert isinstance(weight, Const)
    assert (weight.hint, weight.role) == ("w", "weight")
    assert isinstance(second.remark, Origin)
    assert (second.remark.role, second.remark.kind, second.remark.order) == ("a", "b", 1)


def test_what_is_shared_is_written_once() -> None:
    x, data = Var(F32), np.arange(100.0)
    const = Const(data)
    ops = tuple(Op("Own", (x, const), (Var(F32),)) for _ in range(3))
    told = encoded(Block("f", (x,), ops, ()), Bodies())
    assert [len(told[name]) for name in ("variables", "arrays", "constants", "blocks")] == [4, 1, 1, 1]


def test_a_call_keeps_what_its_rule_says_and_its_body() -> None:
    x, y = Var(F32), Var(F32)
    body = Block("g", (), (), ())
    copy = again(Block("f", (x,), (Op("call::g", (x,), (y,), {"body": body, "name": "own"}),), (y,)))
    assert copy.ops[0].attributes["name"] == "own"
    assert copy.ops[0].attributes["body"] == body


@pytest.mark.parametrize("value", [object(), {1: 2}, np.array([object()]), np.array([1j])])
def test_an_object_without_a_json_value_is_refused(value: Any) -> None:
    with pytest.raises(Unstorable):
        encoded(Block("f", (), (Op("Own", (), (), {"a": value}),), ()), Bodies())


@pytest.mark.parametrize("part", ["variables", "arrays", "constants", "blocks"])
def test_values_that_were_not_written_are_refused(part: str) -> None:
    x = Var(F32)
    told = encoded(Block("f", (x,), (Op("Own", (x, Const(np.ones(2))), (Var(F32),)),), (x,)), Bodies())
    told[part] = told[part][:-1]
    with pytest.raises((ValueError, TypeError, LookupError, PrimsplitError)):
        decoded(told, Bodies())


@pytest.mark.parametrize("name", [BodyRole.TILE, "tile"])
def test_the_role_of_a_body_comes_back_and_a_name_stays_a_name(name: str) -> None:
    found = again(Block(name, (), (), ())).name
    assert found == "tile"
    assert isinstance(found, BodyRole) == isinstance(name, BodyRole)


def test_the_kinds_of_sizes_come_back() -> None:
    kept, plain = symbol(Kinded("kept_1", SymbolKind.KEPT)), symbol("kept_2")
    held = Var(Type("int64", [1]), "n", (symbol(Kinded("varying_3", SymbolKind.VARYING)),))
    x = Var(Type("float32", [2 * kept + 1, plain]))
    found = again(Block("f", (x, held), (), ()))
    assert [kinds_of(d) for d in found.params[0].type.shape or ()] == [{SymbolKind.KEPT}, set()]
    assert [kinds_of(d) for d in found.params[1].sizes or ()] == [{SymbolKind.VARYING}]

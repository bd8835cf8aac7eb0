"""The last stages before a file: operators of the standard alone, without waste, that mean the same."""

from typing import Any

import numpy as np

import primsplit as ps
from primsplit.ir import walk
from primsplit.ops import op
from primsplit.ops.schema import exists
from primsplit.targets.finish import finish
from tests.recording import kinds, record


@ps.primitive
def doubled(x: Any) -> Any:
    return x + x


def test_calls_are_inlined_and_every_operator_is_of_the_standard() -> None:
    block = ps.trace(lambda x: np.tanh(doubled(x)), ps.spec("float64", ["N"])).block
    assert any(o.kind.startswith("call::") for o in walk(block))
    assert all(exists(o.kind) for o in walk(finish(block)))


def test_what_no_result_reads_what_is_repeated_and_what_is_known_goes() -> None:
    def f(x: Any) -> Any:
        op.Sin(x)
        return op.Add(op.Mul(op.Exp(x), op.Exp(x)), op.Mul(np.float32(2.0), np.float32(3.0)))

    assert kinds(finish(record(f, "float32[3]"))) == ["Exp", "Mul", "Add"]


def test_parameters_and_results_keep_their_types() -> None:
    block = record(lambda x, y: (op.Elu(x), op.Gelu(y)), "float64[N]", "float64[3]")
    found = finish(block)
    assert [p.type for p in found.params] == [p.type for p in block.params]
    assert [r.type for r in found.results] == [r.type for r in block.results]
    assert not {"Elu", "Gelu"} & {o.kind for o in walk(found)}

"""The table of stages: what it says of each is true."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block, Type, Var
from primsplit.ir.passes import pass_named
from primsplit.ir.runtimes import read_target
from primsplit.ops import op
from primsplit.rewrites import short_rows
from primsplit.rewrites.loops import tiled_regions
from primsplit.rewrites.products import matrices, narrow_products, operands_again
from primsplit.targets.finish import finish
from primsplit.targets.pipeline import GUARDS, LEGAL, STAGES
from primsplit.targets.stages import Stage, Target
from primsplit.testing.reference import evaluate
from tools.house import ROOMS

rng = np.random.default_rng(0)
X, W, B = rng.standard_normal((5, 4)), rng.standard_normal((4, 4)), rng.standard_normal(4)
IMAGE, KERNEL = rng.standard_normal((1, 2, 6, 6)), rng.standard_normal((3, 2, 3, 3))


def network(x: Any) -> Any:
    hidden = np.maximum(x @ W.T + B, 0.0)
    shifted = hidden - np.max(hidden, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - shifted[:, 0])


def recurrence(x: Any) -> Any:
    return np.sum(ps.scan(lambda c, r: (np.tanh(c @ W + r), c * c), np.zeros(4), x)[1])


def branches(x: Any) -> Any:
    total = x[0]
    for row in x[1:]:
        total = total * 0.5 + row if row[0] > 0 else total - row * row
    return np.sum(total) / (1.0 + np.sum(np.abs(x)))


def written(x: Any) -> Any:
    y = np.zeros(5) * x[0, 0]
    y[0] = x[0, 0]
    for i in range(1, 5):
        y[i] = np.cos(y[i - 1]) + x[i, 0] ** 2
    return np.sum(y * np.where(x[:, 1] > 0, x[:, 1], 0.0))


def convolution(x: Any) -> Any:
    return np.sum(op.MaxPool(op.Conv(x, KERNEL, pads=[1, 1, 1, 1]), kernel_shape=[2, 2]) ** 2)


def choices(x: Any) -> Any:
    rows = np.tile(x, (4096, 1))
    return np.sum(np.where(rows > 0.1, rows * rows, 0.0)) + np.sum(np.log1p(np.exp(rows)))


PROGRAMS: dict[str, tuple[Callable[[Any], Any], Any, Sequence[int | str]]] = {
    "network": (network, X, X.shape),
    "network of any size": (network, X, ("N", 4)),
    "recurrence": (recurrence, X, X.shape),
    "recurrence of any length": (recurrence, X, ("N", 4)),
    "branches": (branches, X, X.shape),
    "written": (written, X, X.shape),
    "convolution": (convolution, IMAGE, IMAGE.shape),
    "convolution of any size": (convolution, IMAGE, ("N", 2, "H", "W")),
    "choices": (choices, X, X.shape),
}
"""Functions, arrays for them, and the sizes that are told beforehand."""
OTHERS = {
    "cpu": Target((1,), provider="cuda"),
    "gradients": Target(),
    "values": Target((1,)),
    "program": Target((1,), is_function=True),
}
"""Targets that lack what a stage needs."""


@functools.cache
def states(name: str) -> list[tuple[Stage, Block, Block, Target, Sequence[Any]]]:
    """Each stage with the block before and after it; two tests read them."""
    found = []
    function, x, shape = PROGRAMS[name]
    block, target = ps.split(function, ps.spec("float64", shape)).joint().block, Target((1,))
    for stage in STAGES:
        after = stage.apply(block, target)
        found.append((stage, block, after, target, [x, np.ones(())][: len(block.params)]))
        block = after
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_stage_that_does_not_round_keeps_every_bit(name: str) -> None:
    fired = []
    for stage, before, after, _, arrays in states(name):
        if after is before:
            continue
        fired.append(stage.name)
        wanted, found = (evaluate(block, arrays, None) for block in (before, after))
        for a, b in zip(wanted, found, strict=True):
            if stage.rounds:
                np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-14)
            else:
                np.testing.assert_array_equal(b, a, err_msg=stage.name)
    assert "optimize" in fired


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_stage_that_is_skipped_by_its_kinds_or_its_condition_would_have_changed_nothing(name: str) -> None:
    """Whatever its operators are: they are what the stage looks for, not a part of that."""
    skipped = set()
    for _, before, _, target, _ in states(name):
        for stage in (*STAGES, *LEGAL, *GUARDS):
            if (stage.kinds or stage.has) and target.meets(stage.needs):
                whole = replace(stage, kinds=(), has=None)
                if stage.apply(before, target) is before:
                    assert whole.apply(before, target) == before, stage.name
                    skipped.add(stage.name)
    assert "write_cosines" in skipped or name == "written"


def least_array(stage: Stage) -> int:
    """The bytes of the smallest array for which a stage runs."""
    assert stage.has is not None
    x = Var(Type(np.uint8, (2**20 + 1,)))
    assert stage.has(Block("", (x,), (), (x,)))
    size = 1
    while not stage.has(Block("", (y := Var(Type(np.uint8, (size,))),), (), (y,))):
        size *= 2
    return size


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("work_in_tiles", tiled_regions.LARGE),
        ("lengthen_rows", 2 * short_rows.MANY),
        ("pulled_as_matrices", matrices.SMALL),
        ("products_read_again", operands_again.SMALL),
        ("swap_narrow_products", 4 * min(narrow_products.LARGE**2, narrow_products.TALL * 3)),
    ],
)
def test_a_stage_for_large_arrays_runs_for_the_smallest_that_its_pass_changes(name: str, least: int) -> None:
    (stage,) = (stage for stage in STAGES if stage.name == name)
    assert least / 2 < least_array(stage) <= least


def test_each_stage_names_a_pass_of_a_room_before_the_targets_or_of_theirs() -> None:
    """Passes are named, not imported: nothing else would see a name that is wrong, or a room that is too late."""
    rooms = ROOMS[: ROOMS.index("targets") + 1]
    for stage in (*STAGES, *LEGAL, *GUARDS):
        if stage.path:
            assert stage.path.split(".")[0] in rooms
            assert pass_named(stage.path).__name__ == stage.name


def test_what_a_stage_is_for_alone_is_all_that_it_changes() -> None:
    """A stage for the CPU, for gradients or for programs leaves another target's block as it is."""
    for _, before, _, _, _ in states("network"):
        for stage in (*STAGES, *GUARDS):
            for need in stage.needs:
                assert stage.apply(before, OTHERS[need]) is before


TARGETS = ("onnxruntime>=1.28", "onnxruntime>=1.29")


def test_a_stage_around_faults_says_which_and_is_left_out_where_all_are_mended() -> None:
    with_records = [s for s in (*STAGES, *LEGAL, *GUARDS) if s.purpose == "fault" and not s.parts]
    assert {s.name for s in with_records if not s.faults} == {"refuse_misfits"}
    block = ps.trace(np.cos, ps.spec("float64", ["N"])).block
    (stage,) = (s for s in STAGES if s.name == "write_cosines")
    assert [f.before for f in stage.faults] == ["1.29"]
    kinds = {t: {op.kind for op in stage.apply(block, Target(runtime=read_target(t))).ops} for t in TARGETS}
    assert kinds == {"onnxruntime>=1.28": {"Sub", "Mul", "Sin"}, "onnxruntime>=1.29": {"Cos"}}


GUARDED: dict[str, tuple[str, str, Callable[[], Any]]] = {
    "RNN": ("1.25", "1.26", lambda: empty_layer("RNN")),
    "GRU": ("1.25", "", lambda: empty_layer("GRU")),
    "TopK": ("1.30", "1.31", lambda: ps.trace(lambda x: np.sort(x, 1), ps.spec("float64", ["N", 3, 2]))),
    "LpNormalization": (
        "1.29", "1.30", lambda: ps.trace(lambda x: op.LpNormalization(x, p=1), ps.spec("float64", ["N", "M"])),
    ),
    "Conv": (
        "1.31", "1.32",
        lambda: ps.trace(op.Conv, ps.spec("float32", ["B", "C", 9]), ps.spec("float32", [4, "C", 3])),
    ),
}  # fmt: skip
"""Operators in an If around a fault: the last version with the fault, the first without it, a program."""


def empty_layer(kind: str) -> Any:
    gates = {"RNN": 1, "GRU": 3}[kind]
    specs = [ps.spec("float32", s) for s in (["T", "N", 2], [1, 3 * gates, 2], [1, 3 * gates, 3])]
    return ps.trace(lambda x, w, r: getattr(op, kind)(x, w, r, outputs=2, hidden_size=3)[0], *specs)


@pytest.mark.parametrize("kind", GUARDED)
def test_an_operator_is_guarded_for_runtimes_that_have_its_fault(kind: str) -> None:
    last, first, program = GUARDED[kind]
    found = {}
    for version in filter(None, (last, first, "9.0")):
        block = finish(program().block, runtime=read_target(f"onnxruntime>={version}"))
        found[version] = any(op.kind == "If" for op in block.ops)
    assert found == {last: True, **({first: False} if first else {}), "9.0": not first}

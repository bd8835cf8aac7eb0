"""Whatever is done to a file: it is refused in a few lines, or loaded and differentiated; never a crash."""

import random
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import primsplit as ps
from primsplit.ir.errors import PrimsplitError
from tests.onnx.seeds import SEEDS, changed_bytes, changed_field

FAST = settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
LONG = settings(max_examples=1500, deadline=None, database=None, suppress_health_check=list(HealthCheck))

models = st.sampled_from(SEEDS)
draws = st.randoms(use_true_random=False)


def survives(data: bytes, folder: Path) -> None:
    """Load the bytes, and differentiate and save what they are; only errors of primsplit may come."""
    path = folder / "model.onnx"
    path.write_bytes(data)
    told = ""
    try:
        ps.split(ps.load(str(path))).save(str(folder / "gradient.onnx"))
    except PrimsplitError as error:
        told = str(error)
    assert len(told.splitlines()) < 10


def with_other_bytes(model: Callable[[], onnx.ModelProto], random: random.Random, folder: Path) -> None:
    survives(changed_bytes(model().SerializeToString(), random), folder)


def with_other_fields(model: Callable[[], onnx.ModelProto], random: random.Random, folder: Path) -> None:
    changed = model()
    for _ in range(random.choice((1, 1, 2, 4))):
        changed_field(changed, random)
    survives(changed.SerializeToString(), folder)


@pytest.mark.parametrize("model", SEEDS, ids=lambda f: f.__name__)
def test_the_seeds_are_models(model: Callable[[], onnx.ModelProto], tmp_path: Path) -> None:
    proto = model()
    onnx.checker.check_model(proto, full_check=True)
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    ps.split(ps.load(str(tmp_path / "model.onnx"))).save(str(tmp_path / "gradient.onnx"))
    onnx.checker.check_model(str(tmp_path / "gradient.onnx"), full_check=True)


@given(models, draws)
@FAST
def test_bytes_that_are_not_what_they_were(
    tmp_path_factory: pytest.TempPathFactory, model: Callable[[], onnx.ModelProto], random: random.Random
) -> None:
    with_other_bytes(model, random, tmp_path_factory.getbasetemp())


@given(models, draws)
@FAST
def test_fields_that_are_not_what_they_were(
    tmp_path_factory: pytest.TempPathFactory, model: Callable[[], onnx.ModelProto], random: random.Random
) -> None:
    with_other_fields(model, random, tmp_path_factory.getbasetemp())


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
@given(models, draws)
@LONG
def test_bytes_that_are_not_what_they_were_at_length(
    tmp_path_factory: pytest.TempPathFactory, part: int, model: Callable[[], onnx.ModelProto], random: random.Random
) -> None:
    with_other_bytes(model, random, tmp_path_factory.getbasetemp())


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
@given(models, draws)
@LONG
def test_fields_that_are_not_what_they_were_at_length(
    tmp_path_factory: pytest.TempPathFactory, part: int, model: Callable[[], onnx.ModelProto], random: random.Random
) -> None:
    with_other_fields(model, random, tmp_path_factory.getbasetemp())

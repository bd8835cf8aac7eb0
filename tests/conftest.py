"""Every test runs with the result of every transform checked, and with threads that wait asleep."""

import gc
import importlib
import inspect
import os
import sys
from collections.abc import Iterator
from typing import Any

import hypothesis
import numpy as np
import onnxruntime
import pytest

from primsplit.ops.verify import checking
from primsplit.tracing.hooks import HOOKS, Hooks
from tests.refusals import reason_of
from tests.sweeps import kept, tenths


def pytest_configure() -> None:
    """Workers, one a core, whose NumPy and SciPy do not wait for threads to solve a small system."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A module that is imported late would keep the limits of a test that changes them while it is imported.
    importlib.import_module("primsplit.programs")
    for name in inspect.get_annotations(Hooks):
        getattr(HOOKS, name)
    gc.disable()
    # A loaded machine may take longer for an example than hypothesis allows.
    hypothesis.settings.register_profile("no deadline", deadline=None)
    hypothesis.settings.load_profile("no deadline")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--slow-tenth 0` to 9 runs that tenth of the slow tests too."""
    parser.addoption("--slow-tenth", type=int, choices=range(10), help="run this tenth of the slow tests, 0 to 9, too")


def _mark_swept(items: list[pytest.Item]) -> None:
    """Mark as slow the cases that `sweep(n)` leaves out of the default suite."""
    swept: dict[tuple[str, int], dict[str, pytest.Item]] = {}
    for item in items:
        marker = item.get_closest_marker("sweep")
        if marker is not None and item.get_closest_marker("slow") is None:
            swept.setdefault((item.nodeid.partition("[")[0], marker.args[0]), {})[item.nodeid] = item
    for (_, count), cases in swept.items():
        for name in cases.keys() - kept([*cases], count):
            cases[name].add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what sweeps leave to the slow tests, and keep a tenth of these where one is asked for, by their names."""
    _mark_swept(items)
    tenth = config.getoption("--slow-tenth")
    if tenth is None:
        return
    slow = {i.nodeid: i for i in items if i.get_closest_marker("slow")}
    left_out = {slow[name] for name, its in tenths([*slow]).items() if its != tenth}
    config.hook.pytest_deselected(items=[*left_out])
    items[:] = [i for i in items if i not in left_out]
    if config.option.markexpr == "not slow":
        config.option.markexpr = ""


def pytest_collection_finish() -> None:
    """Keep collected tests until the end: Python's collector, off until here, never walks them."""
    gc.freeze()
    gc.set_threshold(200_000, 10, 10)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """A test that an older library refuses to run is skipped."""
    try:
        yield
    except Exception as error:
        reason = reason_of(error)
        if reason is None:
            raise
        pytest.skip(reason)


@pytest.fixture(autouse=True, scope="module")
def _alone(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test sees no other file of tests: a function that is run again has names put into all of the user's modules."""
    others = {
        n: m for n, m in sys.modules.items() if n.rpartition(".")[2].startswith("test_") and m is not request.module
    }
    for name in others:
        del sys.modules[name]
    yield
    sys.modules.update(others)


@pytest.fixture(autouse=True)
def _check_every_transform() -> Iterator[None]:
    with checking():
        yield


_first_states: dict[str, object] = {}


@pytest.fixture(autouse=True)
def _draw_the_same_alone(request: pytest.FixtureRequest) -> None:
    """A module's `rng` starts each test at its seed: what a test draws does not depend on which tests ran before."""
    rng = getattr(request.module, "rng", None)
    if isinstance(rng, np.random.Generator):
        bits = rng.bit_generator
        bits.state = _first_states.setdefault(request.module.__name__, bits.state)


@pytest.fixture(autouse=True, scope="session")
def _threads_that_wait_asleep() -> Iterator[None]:
    """onnxruntime's threads wait for work in a busy loop, which takes longer than the runs of small programs."""
    load = onnxruntime.InferenceSession.__init__

    def loaded(session: Any, model: Any, sess_options: Any = None, *args: Any, **named: Any) -> None:
        options = onnxruntime.SessionOptions() if sess_options is None else sess_options
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        load(session, model, options, *args, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnxruntime.InferenceSession, "__init__", loaded)
        yield

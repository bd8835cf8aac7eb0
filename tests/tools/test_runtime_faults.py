"""Each fault of onnxruntime has a model that shows it in the versions that the record says, and in no others."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from primsplit.ir.runtimes import Fault, Version, version_of
from tests import versions
from tools import runtime_faults
from tools.fault_models import MODELS
from tools.fault_models.model import FaultModel
from tools.faults_page import records
from tools.runtime_faults import RESULTS, run_apart

RECORDS = {fault.name: fault for fault in records()}
MENDED = [fault for fault in RECORDS.values() if fault.before]
TRIED: dict[str, dict[str, str]] = json.loads(RESULTS.read_text())
WITHOUT_A_MODEL = {
    "constant_condition_around_loops": "a program of many branches",
    "constants_of_an_optimized_model_made_again": "a model that was optimized before",
    "gather_elements_along_a_negative_axis": "another runtime",
    "int8_weight_fused_into_product": "depends on the processor",
    "loop_keeps_its_rows_apart": "takes memory",
    "memory_kept_for_the_same_shape": "takes memory",
    "memory_pattern_doubles_memory": "takes memory",
    "products_of_bytes_saturate": "depends on the processor",
    "scalar_split_of_1_drops_the_axis": "the loader follows",
    "side_of_a_branch_that_is_not_taken": "a program of many branches",
    "transpose_moved_behind_gathers": "takes time",
    "transpose_of_an_axis_of_size_1": "takes time",
}
NOT_SEEN = {
    "batch_normalization_overwrites_statistics": "depends on where memory is taken",
    "float16_dft_of_computed_length": "depends on what memory held",
    "float16_rounded_for_some_readers": "depends on the operators around",
    "int64_compared_in_32_bits": "depends on the processor",
    "lost_updates_of_threads": "depends on threads",
}
"""Faults that their models do not show everywhere."""


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    """Return the results of the models of mended faults in the installed onnxruntime."""
    return run_apart([fault.name for fault in MENDED if fault.name in MODELS])


@pytest.mark.parametrize("fault", MENDED, ids=lambda fault: fault.name)
def test_the_installed_version_has_a_fault_if_it_is_older_than_the_version_that_mended_it(
    fault: Fault, found: dict[str, str]
) -> None:
    if has_it(fault, versions.installed("onnxruntime")):
        assert found[fault.name] != "right" or fault.name in NOT_SEEN
    else:
        assert found[fault.name] == "right"


def has_it(fault: Fault, version: Version) -> bool:
    started = fault.since is None or version_of(fault.since) <= version
    return started and (fault.before is None or version < version_of(fault.before))


def test_what_was_found_in_other_versions_is_what_the_records_say() -> None:
    wrong = {
        (name, v): what
        for name in TRIED.keys() - NOT_SEEN - MOSTLY.keys()
        for v, what in TRIED[name].items()
        if has_it(RECORDS[name], version_of(v)) == (what == "right")
    }
    assert wrong == {}


MOSTLY = {
    "factor_fused_into_float64_product": "the model shows it from 1.26 on",
    "stretched_transposed_convolution": "the model shows it from 1.28 on",
    "transpose_fused_past_cast": "depends on what memory held",
    "window_over_too_short_axis": "the model shows it from 1.21 on",
}
"""Faults that their models show in some of the versions alone."""


def test_each_record_has_a_model_that_was_tried_and_each_model_a_record() -> None:
    assert set(RECORDS) - set(MODELS) == set(WITHOUT_A_MODEL)
    assert set(MODELS) - set(RECORDS) == set()
    assert set(TRIED) == set(MODELS)
    assert not (NOT_SEEN | MOSTLY).keys() - TRIED.keys()


@pytest.mark.parametrize(
    ("outputs", "is_right"),
    [([[1.0, 2.0]], True), ([[1.0, 2.1]], False), ([[1.0, 2.0, 3.0]], False), ([[np.nan, 2.0]], False)],
)
def test_a_model_is_right_where_its_outputs_are_as_wanted(outputs: list[object], is_right: bool) -> None:
    model = FaultModel("(float[N] x) => (float[N] y) {y = Neg(x)}", {}, (np.array([1.0, 2.0]),))
    assert model.is_right(outputs) is is_right


def test_a_zero_of_the_other_sign_is_wrong() -> None:
    model = FaultModel("", {}, (np.array([0.0]),))
    assert model.is_right([np.array([0.0])])
    assert not model.is_right([np.array([-0.0])])


CHILD = """
import os, sys
print("ready", flush=True)
for name in sys.argv[1:]:
    if name == "ends":
        os.abort()
    print(name, "right", flush=True)
"""


def test_where_a_model_ends_the_process_the_next_is_run_in_another(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "child.py").write_text(CHILD)
    real = runtime_faults.subprocess.Popen

    def started(command: list[str], **more: object) -> object:
        names = [word for word in command[command.index("--child") + 1 :] if word != "--only"]
        return real([sys.executable, str(tmp_path / "child.py"), *names], **more)

    monkeypatch.setattr(runtime_faults.subprocess, "Popen", started)
    assert run_apart(["a", "ends", "b"]) == {"a": "right", "ends": "aborts", "b": "right"}

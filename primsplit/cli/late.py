"""Delays the imports of the command line to first use, so that `primsplit --help` is quick."""

from collections.abc import Callable, Iterable
from typing import Any

from primsplit.tracing.own_errors import own_errors

_LISTED = "the file cannot be listed"


def open_file(path: str) -> Any:
    """An ONNX file to run by names. Raises FileError, RunError."""
    from primsplit.programs.opened import OpenedFile

    return OpenedFile(path)


def open_pair(forward: str, backward: str) -> Any:
    """The two files of a split, to run like one joint file."""
    from primsplit.programs.opened import OpenedPair

    return OpenedPair(forward, backward)


def keep_model(written: Iterable[str], path: str) -> None:
    """Raise FileError if a file would overwrite an ONNX model or its weights: see `onnx.sources`."""
    from primsplit.onnx.sources import check_apart, files_of_model

    check_apart(written, lambda: files_of_model(path))


def keep_program(written: Iterable[str], read: Iterable[str], program: Callable[[], Any]) -> None:
    """Raise FileError if a file would overwrite one that was read, or that the program's block was made from."""
    from primsplit.onnx.sources import check_apart, files_of

    check_apart(written, lambda: files_of([program().block], read))


def stage_rows() -> list[dict[str, Any]]:
    """The stages from a program to a file."""
    from primsplit.targets.pipeline import rows

    return rows()


def check_file(*args: Any, **named: Any) -> Any:
    """The comparisons of a file with the function it was made from: see `testing.verdicts.FileCheck`."""
    from primsplit.testing.verdicts import FileCheck

    return FileCheck(*args, **named)


def check_derived(*args: Any, **named: Any) -> Any:
    """The comparisons of a file of another derivative: see `testing.derived.DerivedCheck`."""
    from primsplit.testing.derived import DerivedCheck

    return DerivedCheck(*args, **named)


def reference_function(block: Any) -> Any:
    """A block as a function of arrays, run by the standard's reference: in float64 for arrays of other dtypes."""
    from primsplit.testing.reference import Reference

    own, wide = Reference(block, None), Reference(block)

    def function(*arrays: Any) -> tuple[Any, ...]:
        fits = all(a.dtype == p.type.dtype for a, p in zip(arrays, block.params, strict=True))
        return tuple((own if fits else wide)(*arrays))

    return function


def make_session(*args: Any, **named: Any) -> Any:
    """A model loaded into onnxruntime: see `runtime.Session`."""
    from primsplit.programs.runtime import Session

    return Session(*args, **named)


def open_nest(target: str) -> Any:
    """The loop nest of a file's function, or of index notation, which contains an `=`. Raises the reader's errors."""
    from primsplit.frontends.loops.nest import Nest, loops
    from primsplit.programs import userfile

    if "=" in target:
        return loops(target)
    found = userfile.load(target).function
    return found if isinstance(found, Nest) else loops(found)


def nest_texts() -> Any:
    """The module that prints nests."""
    from primsplit.frontends.loops import listing

    return listing


@own_errors(_LISTED)
def read_written(path: str) -> Any:
    """A file as it is written: see `audit.written.Written`."""
    from primsplit.audit import written

    return written.read_written(path)


@own_errors(_LISTED)
def list_files(files: Any, style: str, *, everything: bool = False) -> str:
    """The listing of files in a style; `everything` also shows what the mathematics folds away."""
    from primsplit.audit import styles

    return styles.list_files(files, style, everything=everything)


@own_errors(_LISTED)
def mathematics(files: Any) -> list[str]:
    """The listings of files for people."""
    from primsplit.audit import styles

    return styles.for_people(files)


@own_errors(_LISTED)
def numpy_module(files: Any) -> Any:
    """The module of NumPy that computes what files do: see `audit.numpy_style.Module`."""
    from primsplit.audit import numpy_style

    return numpy_style.to_numpy(files)


@own_errors(_LISTED)
def report_files(files: Any) -> list[dict[str, Any]]:
    """The reports of the files of one derivative."""
    from primsplit.audit import file_report

    return file_report.report_files(files)


@own_errors(_LISTED)
def json_reports(files: Any) -> list[dict[str, Any]]:
    """The reports of the files of one derivative, with every node and statement."""
    from primsplit.audit import json_report

    return json_report.json_reports(files)


def schema_text() -> str:
    """The JSON schema of what `primsplit audit --json` prints."""
    from primsplit.audit import json_report

    return json_report.schema_text()


@own_errors(_LISTED)
def constant_rows(file: Any) -> list[dict[str, Any]]:
    """A row for each initializer of a file."""
    from primsplit.audit import file_report

    return file_report.constant_rows(file)


@own_errors(_LISTED)
def rules_used(files: Any, block: Any = None) -> list[dict[str, Any]]:
    """A row for each rule that made nodes of the files."""
    from primsplit.audit import rules_used

    return rules_used.rules_used(files, block)


def unused_rules(rows: Any, scope: Any) -> list[dict[str, str]]:
    """The rules of the user's that made none of the nodes of these rows."""
    from primsplit.audit import rules_used

    return rules_used.unused_rules(rows, scope)


def linearity() -> Any:
    """The module that proves that pullbacks are linear."""
    from primsplit.audit import linear

    return linear


@own_errors(_LISTED)
def zero_rows(files: Any, recorded: Any = None, inputs: Any = ()) -> list[dict[str, Any]]:
    """A row for each input, weight and node without influence, and for each cut path."""
    from primsplit.audit import zero

    return zero.zero_rows(files, recorded, inputs)


@own_errors(_LISTED)
def numeric_rows(file: Any, arrays: Any) -> dict[str, Any]:
    """A row for each value of a file at some inputs, float32 beside float64."""
    from primsplit.audit import numerics
    from primsplit.testing.reference import play

    return numerics.numeric_rows(file, arrays, play)


@own_errors(_LISTED)
def difference(before: Any, after: Any) -> Any:
    """In what two files differ: see `audit.review.difference.Difference`."""
    from primsplit.audit.review import difference

    return difference.difference(before, after)


@own_errors(_LISTED)
def diff_schema_text() -> str:
    """The JSON schema of what `primsplit diff --json` prints."""
    from primsplit.audit.review import difference

    return difference.schema_text()


def paired_names(old: Any, new: Any) -> dict[str, str]:
    """The new names of old ones."""
    from primsplit.audit.review import matching

    return matching.paired_names(old, new)


def compare_outputs(before: Any, after: Any, samples: Any) -> dict[str, Any]:
    """The largest differences of two files' outputs over samples."""
    from primsplit.audit.review import numbers

    return numbers.compare_outputs(before, after, samples)


def unified(changes: Any, *, whole: bool) -> list[str]:
    """The listing of changes in unified form."""
    from primsplit.audit.review import listing

    return listing.unified(changes, whole=whole)


@own_errors(_LISTED)
def hazard_rows(file: Any, ranges: Any) -> dict[str, Any]:
    """A row for each kind of hazard of a line of a file."""
    from primsplit.audit import hazards

    return hazards.hazard_rows(file, ranges)


def committed() -> Any:
    """The module that compares listings."""
    from primsplit.audit.review import committed

    return committed


@own_errors(_LISTED)
def bound_rows(file: Any, arrays: Any, **named: Any) -> dict[str, Any]:
    """A row for each output of a file: the bound of its rounding error, and the measured error."""
    from primsplit.audit import bounds
    from primsplit.testing.reference import computing, evaluate

    return bounds.bound_rows(file, arrays, exactly=evaluate, compute=computing(), **named)

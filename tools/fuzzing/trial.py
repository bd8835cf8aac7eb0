"""The outcome of one input: an answer, an error of primsplit's own, or a fault."""

import ast
import contextlib
import functools
import io
import math
import os
import re
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import typer.main

import primsplit as ps
from primsplit.cli.app import app
from primsplit.cli.failures import TRACEBACK
from primsplit.ir import Var
from primsplit.ir.errors import PrimsplitError, RunError
from primsplit.programs.runtime import Session
from tools.fuzzing.case import Case
from tools.fuzzing.texts import MARK
from tools.fuzzing.values import difference, original, run_alone

SECONDS = 10
"""The most seconds of a processor for one input."""
SLOW = 1
"""The seconds of a model, such as one with a long loop, whose gradient is not run."""
MEGABYTES = 600
"""The most memory for one input, beyond what the process has."""
FEW = 100_000
"""The most elements of an input that a model is run on."""
HUGE = 2**24
"""The most elements, by its literal sizes, of an input of a model that onnxruntime optimizes."""
FOREIGN = f"inside primsplit; {TRACEBACK}=1 shows where"


class Outcome(NamedTuple):
    """The outcome of an input: `fault` is empty if that is right; `key` is equal for faults of one kind."""

    said: str
    fault: str = ""
    key: str = ""
    told: str = ""


MODEL_ALONE = "onnxruntime runs the model alone"
"""The message before onnxruntime gets the model itself: it may end the process, which is no fault of primsplit's."""
GRADIENT = "onnxruntime runs the gradient"
Say = Callable[[str], object]


class TooLate(BaseException):
    """The time for an input is over."""


def _late(*_: Any) -> None:
    raise TooLate


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Stop what takes too long, in time of the processor: other work on the machine does not count."""
    signal.signal(signal.SIGVTALRM, _late)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def outcome(case: Case, folder: Path, say: Say = lambda text: None) -> Outcome:
    """Try a case in an empty folder that the process is in; `say` gets what comes next where it may end the process."""
    case.write(folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    trial = _command if case.command else partial(_model, say=say)
    try:
        with limited(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = trial(case)
    except TooLate as error:
        return Outcome("wrong", "hang", f"hang {_where(error)}", traceback.format_exc())
    except BaseException as error:  # noqa: BLE001  # whatever it is: the fuzzer goes on
        kind = "memory" if isinstance(error, MemoryError) else "foreign"
        return Outcome("wrong", kind, f"{kind} {type(error).__name__} {_where(error)}", traceback.format_exc())
    changed = [n for n, data in case.files.items() if not os.path.exists(n) or Path(n).read_bytes() != data]
    changed = [n for n in changed if n != "state.npz" and n not in _outputs(case)]
    if changed:
        return Outcome("wrong", "overwritten", f"overwritten {' '.join(case.command[:1])}", f"changed: {changed}")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    if grown > MEGABYTES and not found.fault:
        return Outcome("wrong", "memory", f"memory {found.said}", f"{grown} MB; {found.told}")
    return found


def _outputs(case: Case) -> set[str]:
    """The files that a command line names as its output and that it does not read."""
    line = case.command
    named = {b for a, b in pairwise(line) if a in {"--out", "-o", "--output", "--onnx", "--state", "--audit"}}
    read = {*line[1:2], *(b for a, b in pairwise(line) if a == "--inputs")}
    return {os.path.normpath(name) for name in named} - {os.path.normpath(name) for name in read}


def _where(error: BaseException) -> str:
    """The innermost function of primsplit's that an error came through."""
    frames = [f for f, _ in traceback.walk_tb(error.__traceback__) if "primsplit" in f.f_code.co_filename]
    inside = [f for f in frames if "fuzzing" not in f.f_code.co_filename]
    if not inside:
        return ""
    code = inside[-1].f_code
    return f"{os.path.basename(code.co_filename)}:{code.co_name}"


def _model(case: Case, say: Say) -> Outcome:
    step = "load"
    try:
        program = ps.load("model.onnx")
        step = "list"
        _check_listing(program.listing())
        step = "split"
        made = ps.split(program)
        _check_listing(made.listing())
        text = made.listing("python")
        ast.parse(text)
        _check_listing(text)
        step = "save"
        made.save("gradient.onnx")
    except PrimsplitError as error:
        return _refused(error, step)
    except _InjectedError as error:
        return Outcome("wrong", "injected", f"injected {step}", str(error))
    except SyntaxError as error:
        return Outcome("wrong", "listing", "listing is no Python", f"{error}\n{text}")
    try:
        # onnxruntime folds constants as large as the inputs, which is its time and memory.
        session = Session("gradient.onnx", threads=1, optimize=not any(map(_is_huge, program.block.params)))
    except RunError as error:
        return Outcome("wrong", "not loaded", f"not loaded {_kind(str(error))}", str(error))
    return _run(session, say)


def _is_huge(param: Var) -> bool:
    return math.prod(d for d in param.type.shape or () if isinstance(d, int) and d) > HUGE


def _kind(text: str) -> str:
    """An error of onnxruntime's without its names and numbers."""
    operator = re.search(r"Op \((\w+)\)|for (\w+)\(\d+\)|operator:? (\w+)|op_type:? ?(\w+)", text)
    told = text.rsplit("] ", 1)[-1].rsplit(".onnx failed:", 1)[-1]
    told = re.sub(r"[^a-zA-Z ]+", "", re.sub(r"'[^']*'|\([^)]*\)|\S*\d\S*|\S*/\S*", "", told))[:70].strip()
    return f"{next(filter(None, operator.groups()), '') if operator else ''} {told}"


def _refused(error: PrimsplitError, step: str) -> Outcome:
    told = str(error)
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return Outcome("wrong", "memory", f"memory in {step} {_where(cause)}", told)
        cause = cause.__cause__
    if len(told.splitlines()) >= 10:
        return Outcome("wrong", "long", f"long error {_where(error)}", told)
    if _is_injected(told):
        return Outcome("wrong", "injected", f"injected in an error {_where(error)}", told)
    return Outcome(f"refused by {step}", told=told)


def _is_injected(text: str) -> bool:
    """Whether a text of a file's became a line, or has a character that a terminal obeys."""
    return any(line.strip().startswith(MARK) for line in text.splitlines()) or any(c in text for c in "\x1b\x9b\x07")


class _InjectedError(Exception):
    """A text of the file's became a line of a listing, or a control character of it."""


def _check_listing(text: str) -> None:
    if _is_injected(text):
        raise _InjectedError(text)


def _run(session: Session, say: Say) -> Outcome:
    """Run the gradient file on small arrays, and compare it with the model."""
    feeds, random = {}, np.random.default_rng(0)
    for given in session.session.get_inputs():
        shape = [d if isinstance(d, int) else 2 for d in given.shape]
        kind = ARRAYS.get(given.type)
        if kind is None or math.prod(shape) > FEW:
            return Outcome("loaded")
        numbers = random.uniform(0.3, 1.7, shape) if kind[0] == "f" else np.ones(shape)
        feeds[given.name] = numbers.astype(kind)
    # The model comes first: where it runs for ever, or ends the process, so may its gradient.
    say(MODEL_ALONE)
    began = time.process_time()
    try:
        model = original()
        expected = None if model is None else run_alone(model, feeds)
    except TooLate:
        return Outcome("loaded, though the model takes too long")
    if time.process_time() - began > SLOW:
        return Outcome("loaded, and the model is slow")
    say(GRADIENT)
    try:
        found = session.run(feeds)
    except RunError as error:
        return Outcome("refused by the run", told=str(error))
    if expected is None:
        return Outcome("loaded and run")
    if isinstance(expected, str):
        return Outcome("run, though the model fails", told=expected)
    told = difference(model, feeds, expected, session.outputs, found)
    return Outcome("wrong", "differs", f"differs {told[:5]} {_operators()}", told) if told else Outcome("compared")


def _operators() -> str:
    model = onnx.load("model.onnx", load_external_data=False)
    return " ".join(sorted({n.op_type for n in model.graph.node}))[:60]


ARRAYS = {
    "tensor(float)": "f4",
    "tensor(double)": "f8",
    "tensor(float16)": "f2",
    "tensor(int64)": "i8",
    "tensor(int32)": "i4",
}


@functools.cache
def _app() -> Any:
    """The command line: built once, for to build it takes longer than most commands do."""
    return typer.main.get_command(app)


def _command(case: Case) -> Outcome:
    out, err, status = io.StringIO(), io.StringIO(), 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            _app()(case.command, prog_name="primsplit")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    finally:
        os.environ.pop(TRACEBACK, None)
    told = f"primsplit {case.command}\n{out.getvalue()[-3000:]}\n{err.getvalue()[-3000:]}"
    if FOREIGN in err.getvalue() or "Traceback (most" in err.getvalue():
        where = err.getvalue().splitlines()[0].split(":")[0]
        return Outcome("wrong", "foreign", f"foreign in {case.command[0]}: {where}", told)
    if "MemoryError" in err.getvalue():
        return Outcome("wrong", "memory", f"memory in {case.command[0]}", told)
    both = out.getvalue() + err.getvalue()
    if _is_injected(both) and not _is_injected("\n".join(case.command)):
        return Outcome("wrong", "injected", f"injected by {case.command[0]}", told)
    return Outcome(f"command {('done', 'refused', 'misused')[status] if status in {0, 1, 2} else status}", told=told)

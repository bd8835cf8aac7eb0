"""Processes that try inputs: forked from one that has imported everything, and ended where an input ends them."""

import gc
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tools.fuzzing.case import Case
from tools.fuzzing.trial import MODEL_ALONE, Outcome, outcome

PATIENCE = 60
"""The most seconds of a processor for which a process may be silent: what holds the interpreter hears no alarm."""
LONGEST_SILENCE = 1200
"""The most seconds of a clock. A process that others keep from working is slow, and one that waits for ever hangs."""
ROOM = 3 << 30
"""The address space of a process beyond what it has when it begins."""
LIFE = 2000
"""The inputs after which a process is replaced: caches fill."""
LONGEST_FILE = 256 << 20
"""The most bytes of a file that is written."""

Get = Callable[[int], Case]


@dataclass
class Worker:
    """A process, the numbers that it still has to try, and the one that it is at."""

    process: int
    pipe: int
    numbers: list[int]
    at: int | None = None
    since: float = 0.0
    worked: float = 0.0
    read: bytes = b""
    said: str = ""
    left: list[int] = field(default_factory=list)


def tried(get: Get, numbers: list[int], jobs: int) -> Iterator[tuple[int, Outcome]]:
    """Yield the outcome of each numbered input, as it becomes known."""
    waiting = list(reversed(numbers))
    working: list[Worker] = []
    while waiting or working:
        while waiting and len(working) < jobs:
            chunk = [waiting.pop() for _ in range(min(LIFE, max(1, len(waiting) // jobs), len(waiting)))]
            working.append(_start(get, chunk))
        ready, _, _ = select.select([w.pipe for w in working], [], [], 5)
        for worker in list(working):
            ended = False
            if worker.pipe in ready:
                data = os.read(worker.pipe, 1 << 20)
                ended = not data
                yield from _heard(worker, data)
            late = worker.at is not None and _is_late(worker)
            if late:
                os.kill(worker.process, signal.SIGKILL)
            if ended or late:
                working.remove(worker)
                status = os.waitpid(worker.process, 0)[1]
                os.close(worker.pipe)
                if worker.at is not None:
                    yield worker.at, _lost(status, worker.said, late=late)
                waiting += reversed(worker.numbers)


def _is_late(worker: Worker) -> bool:
    is_busy = _seconds(worker.process) - worker.worked > PATIENCE
    return is_busy or time.monotonic() - worker.since > LONGEST_SILENCE


def _seconds(process: int) -> float:
    """The seconds of a processor that a process has taken; 0 for one that has ended."""
    try:
        told = Path(f"/proc/{process}/stat").read_text().rsplit(") ", 1)[1].split()
    except OSError:
        return 0.0
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def _lost(status: int, said: str, *, late: bool) -> Outcome:
    if said == MODEL_ALONE:
        return Outcome("loaded, though the model ends onnxruntime")
    if late:
        return Outcome(
            "wrong", "hang", "hang outside of Python", f"silent for {PATIENCE} s of a processor, or {LONGEST_SILENCE} s"
        )
    told = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {os.WEXITSTATUS(status)}"
    return Outcome("wrong", "crash", f"crash {told}", told)


def _heard(worker: Worker, data: bytes) -> Iterator[tuple[int, Outcome]]:
    """Yield the messages of a process, line by line: a number that it begins, or the outcome of that."""
    *lines, worker.read = (worker.read + data).split(b"\n")
    for line in lines:
        said = json.loads(line)
        worker.since, worker.worked = time.monotonic(), _seconds(worker.process)
        if isinstance(said, str):
            worker.said = said
        elif isinstance(said, int):
            worker.at, worker.said = said, ""
            worker.numbers.remove(said)
        elif worker.at is not None:
            found, worker.at = worker.at, None
            yield found, Outcome(*said)


def _start(get: Get, numbers: list[int]) -> Worker:
    reading, writing = os.pipe()
    sys.stdout.flush()
    process = os.fork()
    if process:
        os.close(writing)
        return Worker(process, reading, list(numbers), since=time.monotonic())
    os.close(reading)
    status = 1
    try:
        _work(get, numbers, writing)
        status = 0
    finally:
        os._exit(status)


def _work(get: Get, numbers: list[int], pipe: int) -> None:
    gc.freeze()
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LONGEST_FILE, LONGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    home = tempfile.mkdtemp(prefix="primsplit-fuzz-")

    def say(what: object) -> None:
        os.write(pipe, json.dumps(what).encode() + b"\n")

    try:
        for number in numbers:
            say(number)
            folder = Path(home, str(number))
            folder.mkdir()
            os.chdir(folder)
            say(outcome(get(number), folder, say))
            os.chdir(home)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.chdir("/")
        shutil.rmtree(home, ignore_errors=True)

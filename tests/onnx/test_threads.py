"""Sessions have threads on the processors that the process may use, and not too many in all."""

import os
import subprocess
import sys

import numpy as np
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir.errors import SpecError

THREADS = """
import os

def threads():
    return len(os.listdir("/proc/self/task"))
"""
WITH_LENGTHS = f"""
{THREADS}
import numpy as np, onnxruntime, primsplit as ps
slope = ps.grad(lambda x: np.sum(np.sin(x)))
before = threads()
for n in range(100):
    slope(np.ones(SMALLEST + n))
print(threads() - before)
slope.clear()
slope(np.ones(SMALLEST))
print(threads() - before)
"""
IN_ONE_PROCESSOR = f"""
{THREADS}
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
import numpy as np, onnxruntime, primsplit as ps
before = threads()
ps.grad(lambda x: np.sum(np.tanh(x @ x)))(np.ones((100, 100), np.float32))
print(threads() - before)
"""
AFTER_THE_USER = f"""
{THREADS}
import numpy as np, onnxruntime, primsplit as ps
onnxruntime.set_global_thread_pool_sizes(3, 1)
before = threads()
slope = ps.grad(lambda x: np.sum(x**3))
for n in (1, 2, 100_000):
    print(slope(np.full(n, 2.0))[0])
print(float(ps.grad(lambda x: x**3, threads=1)(2.0)), threads() - before)
"""
COUNTED = f"""
{THREADS}
import numpy as np, onnxruntime, primsplit as ps
before = threads()
kept = [ps.grad(lambda x: x * x, threads=3) for _ in range(4)]
for slope in kept:
    slope(1.0)
print(threads() - before)
"""

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc lists the threads of Linux alone")


def printed(code: str, **environment: str) -> str:
    """Return the output of a fresh process."""
    own = {k: v for k, v in os.environ.items() if k != "PRIMSPLIT_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**own, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.strip()


@linux
def test_sessions_of_small_arrays_have_no_further_threads() -> None:
    assert printed(WITH_LENGTHS.replace("SMALLEST", "1"), PRIMSPLIT_THREADS="4").split() == ["0", "0"]


@linux
def test_sessions_of_larger_arrays_share_out_a_bounded_number_of_threads() -> None:
    """Threads that a session frees serve others: the first may have three further threads again."""
    kept, later = map(int, printed(WITH_LENGTHS.replace("SMALLEST", "10_000"), PRIMSPLIT_THREADS="4").split())
    assert 16 <= kept <= 32
    assert later == 3


@linux
def test_a_process_on_one_processor_gets_no_further_thread() -> None:
    assert printed(IN_ONE_PROCESSOR) == "0"


@linux
def test_a_function_may_have_its_own_number_of_threads() -> None:
    """Two further ones for each of four."""
    assert printed(COUNTED, PRIMSPLIT_THREADS="1") == "8"


@linux
@pytest.mark.skipif(not hasattr(onnxruntime, "set_global_thread_pool_sizes"), reason="onnxruntime 1.23 has it first")
def test_sessions_use_the_shared_pool_of_a_user_who_has_created_one() -> None:
    """Other sessions are refused then."""
    assert printed(AFTER_THE_USER).split() == ["12.0", "12.0", "12.0", "12.0", "0"]


def test_a_program_runs_in_the_given_number_of_threads() -> None:
    program = ps.trace(lambda x: x * 2.0, np.ones(3))
    alone = program.with_threads(1)
    assert alone.session().session.get_session_options().intra_op_num_threads == 1
    np.testing.assert_array_equal(alone(np.ones(3)), program(np.ones(3)))


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_a_number_of_threads_is_at_least_one(threads: object) -> None:
    with pytest.raises(SpecError, match="threads is a whole number"):
        ps.grad(lambda x: x * x, threads=threads)  # type: ignore[arg-type]

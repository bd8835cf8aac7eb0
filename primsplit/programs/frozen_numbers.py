"""Warn of random numbers, clocks and items of iterators that a trace freezes: the program has the same in each run.

Nothing is patched to detect them. The calls of the user's functions are read from their code. A generator drew if its
state is another one after the trace, or if the undo log of a run has it.

>>> import warnings
>>> import numpy as np, primsplit as ps
>>> rng = np.random.default_rng(0)
>>> with warnings.catch_warnings(record=True) as told:
...     warnings.simplefilter("always")
...     _ = ps.grad(lambda w: w * rng.normal())(1.0)
>>> [warning.category.__name__ for warning in told]
['FrozenNumberWarning']
"""

import datetime
import functools
import inspect
import itertools
import os
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.ir.caching.fingerprint import objects_read
from primsplit.ir.caching.held import attribute_of, function_in
from primsplit.ir.errors import FrozenNumberWarning, Place, warn_at
from primsplit.ir.scoped import as_block
from primsplit.programs.calls_by_name import (
    Call,
    Chain,
    attributes_of_results,
    call_of,
    chains,
    codes,
    looked_up,
    meanings,
    texts,
)
from primsplit.tracing.undo_log import undo_log

CLOCKS: tuple[Any, ...] = (
    time.time, time.time_ns, time.perf_counter, time.perf_counter_ns, time.monotonic, time.monotonic_ns,
    time.process_time, time.process_time_ns, time.thread_time, time.thread_time_ns,
    *(getattr(time, name) for name in ("clock_gettime", "clock_gettime_ns") if hasattr(time, name)),
    *(getattr(os, name) for name in ("getloadavg",) if hasattr(os, name)),
)  # fmt: skip
CLOCKS_BY_NAME = frozenset({
    ("resource", "getrusage"), ("genericpath", "getmtime"), ("genericpath", "getatime"), ("genericpath", "getctime"),
    ("shutil", "disk_usage"), ("gc", "get_count"), ("gc", "get_stats"), ("_tracemalloc", "get_traced_memory"),
    ("tracemalloc", "get_traced_memory"),
})  # fmt: skip
"""Functions that read times and counters, by their modules: of modules that are not imported to know them."""
FILE_TIMES = frozenset({
    "st_mtime", "st_atime", "st_ctime", "st_birthtime", "st_mtime_ns", "st_atime_ns", "st_ctime_ns", "st_birthtime_ns",
})  # fmt: skip
"""Attributes of what `os.stat` and `Path.stat` return."""
DEVICES = {
    "/dev/urandom": False, "/dev/random": False, "/dev/hwrng": False, "/proc/sys/kernel/random/uuid": False,
    "/proc/uptime": True, "/proc/loadavg": True, "/proc/stat": True, "/proc/self/stat": True,
}  # fmt: skip
"""Files with other numbers each time that they are read; whether those are times."""
CLOCKS_WITHOUT_ARGUMENT: tuple[Any, ...] = (time.localtime, time.gmtime, time.ctime, time.asctime)
OF_PROCESS = frozenset({
    ("posix", "getpid"), ("nt", "getpid"), ("posix", "getppid"), ("nt", "getppid"), ("posix", "times"), ("nt", "times"),
    ("_thread", "get_ident"), ("_thread", "get_native_id"), ("sys", "getrefcount"), ("_socket", "gethostname"),
    ("platform", "node"), ("uuid", "getnode"), ("threading", "active_count"),
})  # fmt: skip
"""The functions whose result is another in each process, thread or machine, by their modules."""
OF_OBJECTS: tuple[Any, ...] = (id, hash)
"""Numbers of objects that are others in each process. Most calls use them as keys only."""
OF_DATES = frozenset({"now", "utcnow", "today"})
UNSEEDED = frozenset({
    "default_rng", "RandomState", "SeedSequence", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64", "Random",
})  # fmt: skip
"""Constructors of generators that draw other numbers each time if they are given no seed."""
SYSTEM_DRAWS = (os.urandom, *(getattr(os, name) for name in ("getrandom",) if hasattr(os, name)))
UUIDS = frozenset({"uuid1", "uuid4", "uuid6", "uuid7"})
SCIPYS_SEEDS = ("rng", "random_state", "seed")
"""The parameters by which SciPy's functions take a generator. Without one they draw."""
SCIPYS_SOLVERS = ("scipy.optimize.", "scipy.sparse.linalg.")
"""SciPy's functions that draw where they start from, of which the result does not depend."""
SCIPYS_FRESH = frozenset({"dunnett", "sobol_indices"})
"""SciPy's functions that draw from a generator of their own; the others draw from NumPy's global one."""
SCIPYS_METHODS = frozenset({"rvs", "resample"})
SCIPYS_SEQUENCES = "scipy.stats._qmc"
WORDS = frozenset({"eval", "exec", "rand", "random"})
"""Names by which code reaches a generator in a way that is not followed: `eval(text)`, `scipy.sparse.random`."""
SEEDING = frozenset({"seed", "setstate", "set_state"})
NO_DRAWS = SEEDING | {"getstate", "get_state", "bit_generator", "spawn"}


TIME = "reads the time while the function is traced: each run of the program has the same. Pass it as an argument."
PROCESS = "is another number in each process: each run of the program has that of the trace. Pass it as an argument."
DRAW = "draws while the function is traced: each run of the program has the same. ps.random draws anew in each run."
ITEMS = (
    "is an iterator that goes on while the function is traced: each run of the program has the same items. "
    "Pass them as an argument."
)


class Site(NamedTuple):
    """A call that returns other numbers in each run: its name, its place, its generator, and the warning."""

    name: str
    place: Place
    generator: Any
    says: str


@as_block
def frozen_numbers_told(function: Callable[..., Any], leaves: Sequence[Any]) -> Iterator[None]:
    """Warn of the draws and clocks of the function traced inside. `leaves` are those of its arguments."""
    read = objects_read(function)
    functions = _users_functions(read)
    sites = [site for f in functions for site in _sites(f)]
    held = [x for x in (*read, *leaves) if _is_generator(x) and not isinstance(x, random.SystemRandom)]
    held += _shared_generators() if _may_reach_any(functions) else []
    generators = {id(g): g for g in (*(s.generator for s in sites if s.generator is not None), *held)}
    before = {key: _state(g) for key, g in generators.items()}
    shared = {id(g): _state(g) for g in _shared_generators()}
    modules = len(sys.modules)
    with undo_log(only_watches=True) as log:
        yield
    if len(sys.modules) > modules:  # the function imported what it draws from
        sites = [site for f in functions for site in _sites(f)]
        late = {id(s.generator): s.generator for s in sites if s.generator is not None}
        generators = late | generators
        before = dict.fromkeys(late) | shared | before
    drew = {key: g for key, g in generators.items() if key in log.drawn or _state(g) != before[key]}
    found = [s for s in sites if s.generator is None or id(s.generator) in drew]
    known = {id(s.generator) for s in found}
    found += [site for key, g in drew.items() if key not in known for site in _by_method(functions, g)[:1]]
    for name, place, says in dict.fromkeys((s.name, s.place, s.says) for s in found):
        warn_at(place, f"{name} {says}", FrozenNumberWarning)


def _shared_generators() -> list[Any]:
    """Return Python's and NumPy's global generators."""
    return [_owner(random.random), *([_owner(np.random.random)] if "numpy.random" in sys.modules else [])]


def _may_reach_any(functions: Sequence[FunctionType]) -> bool:
    """Whether functions tell by a text or a name that they may draw from a global generator, and never seed one.

    A generator that another thread draws from meanwhile is not taken for the functions' own.
    """
    all_codes = [code for f in functions for code in codes(f)]
    names = {name for code in all_codes for name in code.co_names}
    told = any(isinstance(c, str) and "random" in c for code in all_codes for c in code.co_consts)
    return (told or not WORDS.isdisjoint(names)) and SEEDING.isdisjoint(names)


def _users_functions(read: Sequence[Any]) -> list[FunctionType]:
    found: dict[int, FunctionType] = {}
    for value in read:
        for member in vars(value).copy().values() if isinstance(value, type) else (value,):
            inner = function_in(member)
            if isinstance(inner, FunctionType) and tracing.is_users_own(inner.__code__.co_filename):
                found[id(inner)] = inner
    return [*found.values()]


def _sites(function: FunctionType) -> Iterator[Site]:
    for code in codes(function):
        read = itertools.chain(meanings(function, code, _reach), looked_up(function, code, _reach))
        known = [(chain, _called(value)) for chain, value in read if value is not None]
        seeded = [_owner(v) for c, v in known if attribute_of(v, "__name__") in SEEDING and c.given != ()]
        yield from _of_files(code, known)
        for chain, value in known:
            place = Place(code.co_filename, chain.line, code.co_name)
            if isinstance(value, Iterator):
                yield Site(chain.text, place, None, ITEMS)
            call = call_of(code, chain)
            is_clock = _is_clock(chain, call, value)
            if is_clock and tracing.is_shown_alone(code.co_filename, chain.line, chain.column):
                continue
            if _is_of_process(chain, value, code.co_filename):
                yield Site(chain.text, place, None, PROCESS)
                continue
            is_fresh = is_clock or _is_fresh(chain, value) or _is_fresh_of_scipy(call, value)
            source = None if is_fresh else _drawn_from(call, value)
            if is_fresh or not (source is None or any(source is s for s in seeded)):
                yield Site(chain.text, place, source, TIME if is_clock else DRAW)
        if "scipy.stats" in sys.modules:
            shared = _owner(np.random.random)  # what a frozen distribution, `gamma(2).rvs()`, draws from
            for name, line in attributes_of_results(code):
                if name in SCIPYS_METHODS and not any(s is shared for s in seeded):
                    yield Site(name, Place(code.co_filename, line, code.co_name), shared, DRAW)


def _of_files(code: CodeType, known: Sequence[tuple[Chain, Any]]) -> Iterator[Site]:
    """Yield the sites that read the time of a file, or a file with other numbers each time."""
    chained = [(chain.path[-1], chain.line) for chain in chains(code) if chain.path]
    times = [(name, line) for name, line in (*attributes_of_results(code), *chained) if name in FILE_TIMES]
    paths = [*texts(code), *((v, c.line) for c, v in known if isinstance(v, str | bytes | PurePath))]
    devices = [(os.fsdecode(path), line) for path, line in paths if "\0" not in os.fsdecode(path)]
    told = [(name, line, TIME) for name, line in times]
    told += [(path, line, TIME if DEVICES[path] else DRAW) for path, line in devices if path in DEVICES]
    yield from (Site(name, Place(code.co_filename, line, code.co_name), None, says) for name, line, says in told)


def _owner(value: Any) -> Any:
    """Return the generator of a method."""
    if attribute_of(value, "__module__") == "numpy.random" and attribute_of(value, "__name__") == "seed":
        value = np.random.random
    owner = attribute_of(value, "__self__") if callable(value) else None
    return owner if _is_generator(owner) else None


def _is_generator(value: Any) -> bool:
    """Whether it is a generator of NumPy's (not imported for the test) or of Python's."""
    numpys = sys.modules.get("numpy.random")
    kinds = (random.Random,) if numpys is None else (random.Random, numpys.Generator, numpys.RandomState)
    return isinstance(value, kinds)


def _called(value: Any) -> Any:
    """Return the function of a partial, else the value."""
    return value.func if isinstance(value, functools.partial) else value


def _full_name(value: Any) -> tuple[Any, Any]:
    """Return the module and the name of a function or class; None for what it does not tell."""
    return attribute_of(value, "__module__"), attribute_of(value, "__name__")


def _is_clock(chain: Chain, call: Call | None, value: Any) -> bool:
    if _full_name(value) in CLOCKS_BY_NAME or any(value is each for each in CLOCKS):
        return True
    if value is time.strftime:
        return call is None or call.positional < 2
    if any(value is each for each in CLOCKS_WITHOUT_ARGUMENT):
        return chain.given == ()
    if value is np.datetime64:
        return chain.given in {("now",), ("today",)}
    kind = attribute_of(value, "__self__")
    return isinstance(kind, type) and issubclass(kind, datetime.date) and value.__name__ in OF_DATES


def _is_of_process(chain: Chain, value: Any, filename: str) -> bool:
    """Whether a call gives another number in each process, and computes with it or begins a generator by it."""
    if _full_name(value) in OF_PROCESS:
        return not tracing.is_shown_alone(filename, chain.line, chain.column)
    if value is hash and (not sys.flags.hash_randomization or isinstance((chain.given or ("",))[0], int | float)):
        return False
    is_of_object = any(value is each for each in OF_OBJECTS)
    return is_of_object and tracing.is_computed_with(filename, chain.line, chain.column)


def _is_fresh(chain: Chain, value: Any) -> bool:
    """Whether a call draws from the system, or creates a generator without a seed."""
    is_of_system = isinstance(attribute_of(value, "__self__"), random.SystemRandom) or value is random.SystemRandom
    if is_of_system or any(value is each for each in SYSTEM_DRAWS):
        return True
    where, name = _full_name(value)
    if where == "secrets" or (where == "uuid" and name in UUIDS):
        return isinstance(value, FunctionType)
    is_kind = name in UNSEEDED and str(where).partition(".")[0] in {"numpy", "random"}
    return is_kind and chain.given in {(), (None,)}


def _drawn_from(call: Call | None, value: Any) -> Any:
    """Return the generator that a call may draw from: the one whose method it is, or NumPy's global one for SciPy."""
    generator = _owner(value)
    if generator is not None:
        return None if value.__name__ in NO_DRAWS else generator
    return _owner(np.random.random) if _draws_in_scipy(call, value) else None


def _draws_in_scipy(call: Call | None, value: Any) -> bool:
    """Whether it is a function or class of SciPy's that is called without a generator or a seed."""
    where = f"{attribute_of(value, '__module__')}."
    if not isinstance(value, FunctionType | type) or not where.startswith("scipy.") or call is None:
        return False
    seeds = {} if where.startswith(SCIPYS_SOLVERS) else _seeds_of(value)
    return bool(seeds) and not any(
        call.keywords.get(name) is not None or (position is not None and position < call.positional)
        for name, position in seeds.items()
    )


def _is_fresh_of_scipy(call: Call | None, value: Any) -> bool:
    """Whether SciPy draws from a generator of the call's own, or goes on in a sequence that is made elsewhere."""
    if type(attribute_of(value, "__self__")).__module__ == SCIPYS_SEQUENCES:
        return True
    if call is None or not _draws_in_scipy(call, value):
        return False
    if value.__name__ in SCIPYS_FRESH:
        return True
    is_regular = value.__name__ in {"Sobol", "Halton"} and call.keywords.get("scramble") is False
    return isinstance(value, type) and not is_regular and "engine" not in call.keywords


@functools.lru_cache(maxsize=4096)
def _seeds_of(value: Callable[..., Any]) -> dict[str, int | None]:
    """Return the parameters of a function of SciPy's that take a generator, with the place of a positional one."""
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {
        p.name: None if p.kind is p.KEYWORD_ONLY else place for place, p in enumerate(found) if p.name in SCIPYS_SEEDS
    }


def _reach(value: Any, name: str) -> Any:
    """Return an attribute, of objects whose attributes run no user code."""
    if isinstance(value, ModuleType):
        return np.random if value is np and name == "random" else vars(value).get(name)
    if _is_generator(value):
        return getattr(value, name, None)
    if isinstance(value, type):
        return getattr(value, name, None) if issubclass(value, datetime.date) else vars(value).get(name)
    if name in SCIPYS_METHODS and type(value).__module__.startswith("scipy.stats"):
        return np.random.random  # what draws where no generator is given
    if name in {"random", "integers"} and type(value).__module__ == SCIPYS_SEQUENCES:
        return getattr(value, name, None)
    return (attribute_of(value, "__dict__") or {}).get(name)


def _state(generator: Any) -> Any:
    if isinstance(generator, random.Random):
        return generator.getstate()
    asked = attribute_of(generator, "get_state")
    return _hashable(generator.bit_generator.state if asked is None else asked(legacy=False))


def _hashable(state: Any) -> Any:
    if isinstance(state, dict):
        return tuple((name, _hashable(value)) for name, value in state.items())
    return state.tobytes() if isinstance(state, np.ndarray) else state


def _by_method(functions: Sequence[FunctionType], generator: Any) -> list[Site]:
    """Return where a generator that drew, and that no name leads to, may have drawn.

    Else the first of the functions.
    """
    methods = {name for name in dir(type(generator)) if not name.startswith("_")} - NO_DRAWS
    found = [
        Site(chain.text, Place(code.co_filename, chain.line, code.co_name), generator, DRAW)
        for f in functions
        for code in codes(f)
        for chain, value in meanings(f, code, _reach)
        if value is None and chain.path and chain.path[-1] in methods
    ]
    starts = [(f.__code__, f.__name__) for f in functions]
    return found or [
        Site("a random generator", Place(c.co_filename, c.co_firstlineno, name), generator, DRAW) for c, name in starts
    ]

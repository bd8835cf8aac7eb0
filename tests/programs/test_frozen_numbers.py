"""Numbers that are drawn, and times that are read, while a function is traced are told at the line that does."""

import datetime
import functools
import gc
import importlib
import itertools
import logging
import math
import operator
import os
import pathlib
import random
import resource
import secrets
import socket
import subprocess
import sys
import threading
import time
import uuid
import warnings
from collections.abc import Callable
from random import gauss as drawn_gauss
from typing import Any

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.optimize
import scipy.sparse
import scipy.stats
from scipy.stats import qmc

import primsplit as ps
from primsplit.ir.errors import FrozenNumberWarning

X = np.ones(3)
GENERATOR, LEGACY, PYTHONS = np.random.default_rng(0), np.random.RandomState(3), random.Random(3)
SYSTEM = random.SystemRandom()
SEQUENCE, DENSITY = qmc.Halton(2, seed=1), scipy.stats.gaussian_kde(np.arange(5.0))
CLOCK = functools.partial(time.time)
CLOCKS = {"a": [time.time, math.sin]}
TIMES, NAMED_TIMES = (time.time, time.perf_counter), {"time": time.time}
SCALES, COUNTED = iter(np.arange(1.0, 1000.0)), itertools.count(1)


TEN = np.arange(10.0)


def difference(a: Any, b: Any) -> Any:
    return np.mean(a) - np.mean(b)


def told(run: Callable[[], Any]) -> list[warnings.WarningMessage]:
    """The warnings about frozen numbers."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    return [w for w in found if issubclass(w.category, FrozenNumberWarning)]


class Noisy:
    """A model with a generator of its own."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(3)

    def loss(self, w: Any) -> Any:
        return np.sum(w * self.generator.normal(size=3))

    def __call__(self, w: Any) -> Any:
        return self.loss(w)


def closing() -> Callable[[Any], Any]:
    own = np.random.default_rng(1)
    return lambda w: np.sum(w * own.standard_normal(3))


def importing(w: Any) -> Any:
    import time as clock
    from random import random as draw

    return np.sum(w) * clock.time() * draw()


def closing_over_items() -> Callable[[Any], Any]:
    scales = (float(k) for k in range(1, 1000))
    return lambda w: np.sum(w) * next(scales)


def helper(count: int) -> Any:
    return GENERATOR.normal(size=count)


def shuffled(w: Any) -> Any:
    order = [0, 1, 2]
    random.shuffle(order)
    return w[order[0]]


def defining(w: Any) -> Any:
    def noise():
        return np.random.rand()

    return np.sum(w) * noise()


def branching(w: Any) -> Any:
    return np.sum(w) * GENERATOR.random() if w[0] > 0 else np.sum(w)


def by_a_default(w: Any, clock: Any = time.time) -> Any:
    return np.sum(w) * clock()


def by_a_default_of_a_name(w: Any, *, clock: Any = time.time) -> Any:
    return np.sum(w) * clock()


def by_a_default_that_is_replaced(w: Any, clock: Any = time.time) -> Any:
    clock = float
    return np.sum(w) * (clock() + 1)


def by_a_loop(w: Any) -> Any:
    total = 0.0
    for clock in TIMES:
        total = total + clock()
    return np.sum(w) * total


def by_a_loop_over_items(w: Any) -> Any:
    total = 0.0
    for name, clock in NAMED_TIMES.items():
        total = total + len(name) * clock()
    return np.sum(w) * total


def called(clock: Callable[[], float]) -> float:
    return clock()


def by_unpacking(w: Any) -> Any:
    first, _ = TIMES
    return np.sum(w) * first()


FROZEN: dict[str, tuple[Callable[[Any], Any], str]] = {
    "generator": (lambda w: np.sum(w * GENERATOR.normal(size=3)), "GENERATOR.normal"),
    "mask": (lambda w: np.sum(w * (GENERATOR.random(3) > 0.5)), "GENERATOR.random"),
    "RandomState": (lambda w: np.sum(w * LEGACY.rand(3)), "LEGACY.rand"),
    "Random": (lambda w: np.sum(w) * PYTHONS.random(), "PYTHONS.random"),
    "SystemRandom": (lambda w: np.sum(w) * SYSTEM.random(), "SYSTEM.random"),
    "np.random": (lambda w: np.sum(w * np.random.rand(3)), "np.random.rand"),
    "random": (lambda w: np.sum(w) * random.random(), "random.random"),
    "imported function": (lambda w: np.sum(w) * drawn_gauss(0, 1), "drawn_gauss"),
    "permutation": (lambda w: w[GENERATOR.permutation(3)][0], "GENERATOR.permutation"),
    "shuffle": (shuffled, "random.shuffle"),
    "method": (Noisy().loss, "self.generator.normal"),
    "callable object": (Noisy(), "self.generator.normal"),
    "closure": (closing(), "own.standard_normal"),
    "function that is called": (lambda w: np.sum(w * helper(3)), "GENERATOR.normal"),
    "function that is defined inside": (defining, "np.random.rand"),
    "one branch": (branching, "GENERATOR.random"),
    "new generator": (lambda w: np.sum(w) * np.random.default_rng().normal(), "np.random.default_rng"),
    "new generator of None": (lambda w: np.sum(w) * np.random.default_rng(None).normal(), "np.random.default_rng"),
    "new bits": (lambda w: np.sum(w) * np.random.Generator(np.random.PCG64()).normal(), "np.random.PCG64"),
    "new Random": (lambda w: np.sum(w) * random.Random().random(), "random.Random"),
    "new SystemRandom": (lambda w: np.sum(w) * random.SystemRandom().random(), "random.SystemRandom"),
    "frozen distribution": (lambda w: np.sum(w) * scipy.stats.gamma(2.0).rvs(), "rvs"),
    "distribution of SciPy": (lambda w: np.sum(w * scipy.stats.norm.rvs(size=3)), "scipy.stats.norm.rvs"),
    "Sobol": (lambda w: np.sum(w) * qmc.Sobol(2).random(1).sum(), "qmc.Sobol"),
    "Sobol with options": (lambda w: np.sum(w) * qmc.Sobol(d=2, scramble=True).random(1).sum(), "qmc.Sobol"),
    "Halton without a seed": (lambda w: np.sum(w) * qmc.Halton(2, seed=None).random(1).sum(), "qmc.Halton"),
    "Latin hypercube": (
        lambda w: np.sum(w) * scipy.stats.qmc.LatinHypercube(d=2).random(1).sum(),
        "scipy.stats.qmc.LatinHypercube",
    ),
    "Poisson disk": (lambda w: np.sum(w) * qmc.PoissonDisk(2).random(1).sum(), "qmc.PoissonDisk"),
    "multivariate normal sequence": (
        lambda w: np.sum(w) * qmc.MultivariateNormalQMC([0.0, 1.0]).random(1).sum(),
        "qmc.MultivariateNormalQMC",
    ),
    "sequence that is made outside": (lambda w: np.sum(w) * SEQUENCE.random(1).sum(), "SEQUENCE.random"),
    "density": (lambda w: np.sum(w) * DENSITY.resample(1).sum(), "DENSITY.resample"),
    "density that is made inside": (
        lambda w: np.sum(w) * scipy.stats.gaussian_kde(np.arange(5.0)).resample(1).sum(),
        "resample",
    ),
    "bootstrap": (
        lambda w: np.sum(w) * scipy.stats.bootstrap((X * [1, 2, 3],), np.mean, n_resamples=9).standard_error,
        "scipy.stats.bootstrap",
    ),
    "permutation test": (
        lambda w: np.sum(w) * scipy.stats.permutation_test((TEN, TEN + 1), difference, n_resamples=9).pvalue,
        "scipy.stats.permutation_test",
    ),
    "Monte Carlo test": (
        lambda w: np.sum(w) * scipy.stats.monte_carlo_test(TEN, scipy.stats.norm.rvs, np.mean, n_resamples=9).pvalue,
        "scipy.stats.norm.rvs",
    ),
    "sparse matrix": (lambda w: np.sum(w) * scipy.sparse.random(3, 3, 0.5).sum(), "scipy.sparse.random"),
    "clusters": (lambda w: np.sum(w) * scipy.cluster.vq.kmeans(TEN[:, None], 2)[1], "scipy.cluster.vq.kmeans"),
    "urandom": (lambda w: np.sum(w) * os.urandom(1)[0], "os.urandom"),
    "uuid4": (lambda w: np.sum(w) * (uuid.uuid4().int % 7), "uuid.uuid4"),
    "secrets": (lambda w: np.sum(w) * secrets.randbelow(7), "secrets.randbelow"),
    "token": (lambda w: np.sum(w) * secrets.token_bytes(1)[0], "secrets.token_bytes"),
    "process": (lambda w: np.sum(w) * os.getpid(), "os.getpid"),
    "thread": (lambda w: np.sum(w) * (threading.get_ident() % 7), "threading.get_ident"),
    "machine": (lambda w: np.sum(w) * len(socket.gethostname()), "socket.gethostname"),
    "references": (lambda w: np.sum(w) * sys.getrefcount(None), "sys.getrefcount"),
    "address": (lambda w: np.sum(w) * (id(TEN) % 7), "id"),
    "hash of a text": (lambda w: np.sum(w) * float(hash("w") % 7), "hash"),
    "seed of a process": (lambda w: np.sum(w) * np.random.default_rng(abs(hash("w"))).normal(), "hash"),
    "time": (lambda w: np.sum(w) * time.time(), "time.time"),
    "perf_counter": (lambda w: np.sum(w) * time.perf_counter_ns(), "time.perf_counter_ns"),
    "localtime": (lambda w: np.sum(w) * time.localtime().tm_sec, "time.localtime"),
    "now": (lambda w: np.sum(w) * datetime.datetime.now().second, "datetime.datetime.now"),
    "today": (lambda w: np.sum(w) * datetime.date.today().day, "datetime.date.today"),
    "item of an iterator": (lambda w: np.sum(w) * next(SCALES), "SCALES"),
    "items of an iterator": (lambda w: sum(np.sum(w) * k for k in itertools.islice(SCALES, 3)), "SCALES"),
    "count": (lambda w: np.sum(w) * next(COUNTED), "COUNTED"),
    "item of a generator": (closing_over_items(), "scales"),
    "NumPy's now": (lambda w: np.sum(w) * float(np.datetime64("now").astype(int)), "np.datetime64"),
    "imported by a text": (lambda w: np.sum(w) * __import__("random").gauss(0, 1), "__import__('random').gauss"),
    "time by a text": (lambda w: np.sum(w) * __import__("time").time(), "__import__('time').time"),
    "secret by a text": (lambda w: np.sum(w) * __import__("secrets").randbelow(9), "__import__('secrets').randbelow"),
    "import_module": (
        lambda w: np.sum(w) * importlib.import_module("random").random(),
        "importlib.import_module('random').random",
    ),
    "getattr": (lambda w: np.sum(w) * getattr(np.random, "rand")(), "getattr(np.random, 'rand')"),  # noqa: B009
    "getattr of a clock": (lambda w: np.sum(w) * getattr(time, "time")(), "getattr(time, 'time')"),  # noqa: B009
    "eval": (lambda w: np.sum(w) * eval("random.random()"), "a random generator"),
    "methodcaller": (
        lambda w: np.sum(w) * operator.methodcaller("random")(random),
        "operator.methodcaller('random')(random)",
    ),
    "attrgetter": (
        lambda w: np.sum(w) * operator.attrgetter("random")(random)(),
        "operator.attrgetter('random')(random)",
    ),
    "vars": (lambda w: np.sum(w) * vars(random)["random"](), "vars(random)['random']"),
    "loaded modules": (lambda w: np.sum(w) * sys.modules["random"].random(), "sys.modules['random'].random"),
    "clock of a module's names": (lambda w: np.sum(w) * vars(time)["time"](), "vars(time)['time']"),
    "clock of a module's __dict__": (lambda w: np.sum(w) * time.__dict__["time"](), "time.__dict__['time']"),
    "clock by get": (lambda w: np.sum(w) * time.__dict__.get("time")(), "time.__dict__.get('time')"),
    "clock of a table": (lambda w: np.sum(w) * CLOCKS["a"][0](), "CLOCKS['a'][0]"),
    "clock by globals": (lambda w: np.sum(w) * globals()["CLOCK"](), "globals()['CLOCK']"),
    "clock by itemgetter": (
        lambda w: np.sum(w) * operator.itemgetter(0)(CLOCKS["a"])(),
        "operator.itemgetter(0)(CLOCKS['a'])",
    ),
    "clock by attrgetter": (
        lambda w: np.sum(w) * operator.attrgetter("time")(time)(),
        "operator.attrgetter('time')(time)",
    ),
    "clock by methodcaller": (
        lambda w: np.sum(w) * operator.methodcaller("time")(time),
        "operator.methodcaller('time')(time)",
    ),
    "clock of loaded modules": (lambda w: np.sum(w) * sys.modules["time"].time(), "sys.modules['time'].time"),
    "clock by __call__": (lambda w: np.sum(w) * time.time.__call__(), "time.time.__call__"),
    "clocks of a loop": (by_a_loop, "an item of TIMES"),
    "clocks of a loop over items": (by_a_loop_over_items, "an item of NAMED_TIMES.items()"),
    "clocks that are unpacked": (by_unpacking, "an item of TIMES"),
    "clocks of a comprehension": (lambda w: np.sum(w) * sum([c() for c in TIMES]), "an item of TIMES"),
    "clocks of a generator": (lambda w: np.sum(w) * sum(c() for c in TIMES), "an item of TIMES"),
    "clocks of map": (lambda w: np.sum(w) * sum(map(called, TIMES)), "an item of TIMES"),
    "clocks of enumerate": (lambda w: np.sum(w) * sum(i * c() for i, c in enumerate(TIMES)), "an item of TIMES"),
    "clock by __getattribute__": (
        lambda w: np.sum(w) * time.__getattribute__("time")(),
        "time.__getattribute__('time')",
    ),
    "clock by __getitem__": (lambda w: np.sum(w) * TIMES.__getitem__(0)(), "TIMES.__getitem__(0)"),
    "clock by getitem": (lambda w: np.sum(w) * operator.getitem(TIMES, 0)(), "operator.getitem(TIMES, 0)"),
    "clock as a default": (by_a_default, "clock"),
    "clock as a default by its name": (by_a_default_of_a_name, "clock"),
    "partial of a clock": (lambda w: np.sum(w) * CLOCK(), "CLOCK"),
    "clock of the system": (lambda w: np.sum(w) * time.clock_gettime(time.CLOCK_REALTIME), "time.clock_gettime"),
    "text of the time": (lambda w: np.sum(w) * float(time.strftime("%S")), "time.strftime"),
}


HERE = pathlib.Path(__file__)
DEVICE = pathlib.Path("/dev/urandom")


class Later(datetime.datetime):
    """A date with its class's clocks."""


def by_a_file_time(w: Any) -> Any:
    found = os.stat(HERE)
    return np.sum(w) * found.st_mtime


def by_a_device(w: Any) -> Any:
    with open("/dev/urandom", "rb") as device:
        return np.sum(w) * device.read(1)[0]


FROZEN |= {
    "use of resources": (
        lambda w: np.sum(w) * resource.getrusage(resource.RUSAGE_SELF).ru_utime,
        "resource.getrusage",
    ),
    "time of a file": (by_a_file_time, "st_mtime"),
    "time of a file by a call": (lambda w: np.sum(w) * os.stat(HERE).st_ctime_ns, "st_ctime_ns"),
    "time of a path": (lambda w: np.sum(w) * HERE.stat().st_atime, "st_atime"),
    "getmtime": (lambda w: np.sum(w) * os.path.getmtime(HERE), "os.path.getmtime"),
    "device": (by_a_device, "/dev/urandom"),
    "device of bytes": (lambda w: np.sum(w) * os.read(os.open(b"/dev/urandom", os.O_RDONLY), 1)[0], "/dev/urandom"),
    "device as a path": (lambda w: np.sum(w) * np.fromfile(DEVICE, np.uint8, 1)[0], "/dev/urandom"),
    "counts of the collector": (lambda w: np.sum(w) * gc.get_count()[0], "gc.get_count"),
    "now of a subclass": (lambda w: np.sum(w) * Later.now().second, "Later.now"),
}
if sys.platform == "linux":
    FROZEN["getrandom"] = (lambda w: np.sum(w) * os.getrandom(1)[0], "os.getrandom")
    FROZEN["time since the start"] = (
        lambda w: np.sum(w) * float(pathlib.Path("/proc/uptime").read_text().split()[0]),
        "/proc/uptime",
    )


@pytest.mark.parametrize("name", FROZEN)
def test_what_is_frozen_is_told_at_its_line(name: str) -> None:
    function, called = FROZEN[name]
    (found,) = told(lambda: ps.grad(function)(X))
    assert str(found.message).startswith(f"{called} ")
    assert pathlib.Path(found.filename).name == "test_frozen_numbers.py"


def test_two_calls_are_two_warnings() -> None:
    assert [str(w.message).split()[0] for w in told(lambda: ps.grad(importing)(X))] == ["clock.time", "draw"]


def timed(w: Any) -> Any:
    begun = time.perf_counter()
    loss = np.sum(w**2)
    logging.debug("took %s", time.perf_counter() - begun)
    return loss


def timed_by_name(w: Any) -> Any:
    begun = time.time()
    loss = np.sum(w**2)
    took = time.time() - begun
    print(f"took {took}")
    return loss


def seeded_globally(w: Any) -> Any:
    np.random.seed(0)
    random.seed(0)
    return np.sum(w * np.random.rand(3)) * random.random()


def seeded_for_scipy(w: Any) -> Any:
    np.random.seed(0)
    return np.sum(w) * scipy.stats.bootstrap((TEN,), np.mean, n_resamples=9).standard_error


def seeded_by_a_text(w: Any) -> Any:
    importlib.import_module("random").seed(0)
    return np.sum(w) * importlib.import_module("random").random()


def drawing_where_asked(w: Any, is_noisy: bool = False) -> Any:
    return np.sum(w * GENERATOR.normal(size=3)) if is_noisy else np.sum(w)


def asking_for_a_class(w: Any, generator: Any = None) -> Any:
    return np.sum(w) if isinstance(generator, np.random.Generator) else np.sum(2 * w)


def keyed_by_address(w: Any) -> Any:
    seen = {id(w): w}
    known = {id(TEN)}
    return np.sum(seen[id(w)]) if id(w) not in known and id(w) != id(TEN) else np.sum(2 * w)


def logged_by_process(w: Any) -> Any:
    logging.debug("process %s", os.getpid())
    return np.sum(w)


SILENT: dict[str, Callable[[Any], Any]] = {
    "time that is logged": timed,
    "time that is printed": timed_by_name,
    "generator with a seed": lambda w: np.sum(w * np.random.default_rng(0).normal(size=3)),
    "seed of the process": seeded_globally,
    "seed of the process for SciPy": seeded_for_scipy,
    "draw that is not run": drawing_where_asked,
    "iterator that is made inside": lambda w: np.sum(w) * next(iter([1.0, 2.0])),
    "frozen distribution with a seed": lambda w: np.sum(w) * scipy.stats.gamma(2.0).rvs(random_state=3),
    "Sobol with a seed": lambda w: np.sum(w) * qmc.Sobol(2, seed=3).random(1).sum(),
    "Sobol's own sequence": lambda w: np.sum(w) * qmc.Sobol(2, scramble=False).random(2).sum(),
    "sequence of one with a seed": lambda w: (
        np.sum(w) * qmc.MultivariateNormalQMC([0.0], engine=qmc.Sobol(1, seed=3)).random(1).sum()
    ),
    "bootstrap with a seed": lambda w: (
        np.sum(w) * scipy.stats.bootstrap((TEN,), np.mean, n_resamples=9, random_state=1).standard_error
    ),
    "permutation test of all permutations": lambda w: (
        np.sum(w) * scipy.stats.permutation_test((TEN[:3], TEN[3:6]), difference).pvalue
    ),
    "sparse matrix of a seed at its place": lambda w: np.sum(w) * scipy.sparse.random(3, 3, 0.5, "coo", float, 3).sum(),
    "search whose start is drawn": lambda w: (
        np.sum(w) * scipy.optimize.dual_annealing(lambda z: np.sum(z**2), [(-1, 1)], maxiter=2).fun
    ),
    "address as a key": keyed_by_address,
    "hash of a number": lambda w: np.sum(w) * (hash(3) % 7),
    "process that is logged": lambda w: logged_by_process(w),
    "setting of the environment": lambda w: np.sum(w) * len(os.environ.get("HOME", "")),
    "class that is asked for": asking_for_a_class,
    "ps.random": lambda w: np.sum(w * ps.random.normal((3,))),
    "text of a time that is given": lambda w: np.sum(w) * float(time.strftime("%Y", time.gmtime(0))),
    "seed of the process by a text": seeded_by_a_text,
    "getattr of a constant": lambda w: np.sum(w) * getattr(np, "pi"),  # noqa: B009
    "random as a text": lambda w: np.sum(w) * len("random"),
    "another function of a table": lambda w: np.sum(w) * CLOCKS["a"][1](1.0),
    "other functions of a loop": lambda w: np.sum(w) * sum(f(1.0) for f in (math.sin, math.cos)),
    "default that is replaced": by_a_default_that_is_replaced,
    "size of a file": lambda w: np.sum(w) * os.stat(HERE).st_size,
    "text of another file": lambda w: np.sum(w) * len("/dev/null"),
    "date that is given": lambda w: np.sum(w) * datetime.date(2020, 1, 1).day,
}


@pytest.mark.parametrize("name", SILENT)
def test_what_is_the_same_in_each_call_is_not_told(name: str) -> None:
    assert told(lambda: ps.grad(SILENT[name])(X)) == []


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "trace": lambda f: ps.trace(f, X),
    "split": lambda f: ps.split(f, X),
    "jvp": lambda f: ps.jvp(f, (X,), (X,)),
    "vjp": lambda f: ps.vjp(f, X),
    "hessian": lambda f: ps.hessian(f)(X),
    "vmap": lambda f: ps.vmap(f)(np.stack([X, X])),
    "cached": lambda f: ps.grad(ps.cached(f))(X),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_every_transform_tells(transform: str) -> None:
    for name in ("generator", "np.random", "time"):
        assert told(lambda: TRANSFORMS[transform](FROZEN[name][0])), name  # noqa: B023  # called at once


def test_a_generator_that_is_an_argument_is_told() -> None:
    def dropped(w, generator):
        return np.sum(w * (generator.random(3) > 0.5))

    (found,) = told(lambda: ps.grad(dropped)(X, np.random.default_rng(1)))
    assert str(found.message).startswith("generator.random draws")


def test_a_call_tells_nothing_more_and_draws_stay_as_many() -> None:
    generator = np.random.default_rng(5)
    gradient = ps.grad(lambda w: np.sum(w * generator.normal(size=3)))
    assert len(told(lambda: [gradient(X) for _ in range(3)])) == 1
    again = np.random.default_rng(5)
    np.testing.assert_array_equal(gradient(X), again.normal(size=3))
    assert generator.normal() == again.normal()


IMPORTING = """
import sys, warnings
import primsplit as ps

def by_a_text(w):
    return w * __import__("scipy.stats").stats.norm.rvs()

def by_a_statement(w):
    import scipy.stats
    return w * scipy.stats.norm.rvs()

assert "scipy.stats" not in sys.modules
warnings.simplefilter("error")
ps.grad({"text": by_a_text, "statement": by_a_statement}[sys.argv[1]])(1.0)
"""


@pytest.mark.sweep(2)
@pytest.mark.parametrize("way", ["text", "statement"])
def test_a_draw_of_a_module_that_the_function_imports_first_is_told(way: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "importing.py"
    path.write_text(IMPORTING)
    done = subprocess.run([sys.executable, path, way], capture_output=True, text=True, check=False)
    assert "norm.rvs draws" in done.stderr

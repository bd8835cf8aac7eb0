"""A run of the fuzzer: what is tried, what is counted, what is kept."""

import argparse
import hashlib
import time
from collections import Counter
from functools import partial
from pathlib import Path

from tools.fuzzing.case import kept
from tools.fuzzing.corpus import models
from tools.fuzzing.draw import draw
from tools.fuzzing.shrinking import shrink
from tools.fuzzing.trial import Outcome
from tools.fuzzing.workers import tried

EVERY = 60
"""Seconds between two reports."""


def main(said: argparse.Namespace) -> int:
    """Do what the command line says; 1 where something is wrong."""
    models()
    if said.again:
        return _again(said.again.resolve(), said.jobs)
    if said.shrink:
        for folder in sorted(p.parent for p in said.shrink.resolve().glob("*/case.json")):
            print(f"{folder.name}: {shrink(folder).key}", flush=True)
        return 0
    return _fuzz(said)


def _fuzz(said: argparse.Namespace) -> int:
    get = partial(draw, said.seed, kind=said.kind)
    counts, faults = Counter[str](), Counter[str]()
    began = last = time.monotonic()
    for number, found in tried(get, list(range(said.start, said.start + said.inputs)), said.jobs):
        counts["inputs"] += 1
        counts[found.said] += 1
        if found.fault:
            counts[f"  {found.fault}"] += 1
            if not faults[found.key]:
                get(number).keep(said.finds / _folder(found), f"{said.seed}:{number}\n{found.key}\n{found.told}")
                print(f"{number}: {found.key}", flush=True)
            faults[found.key] += 1
        if time.monotonic() - last > EVERY:
            last = time.monotonic()
            print(
                f"{counts['inputs']} inputs, {counts['inputs'] / (last - began):.1f} a second, up to {number}, ", end=""
            )
            print(f"{counts['wrong']} wrong", flush=True)
    _report(counts, faults, time.monotonic() - began)
    return bool(counts["wrong"])


def _folder(found: Outcome) -> str:
    name = "".join(c if c.isalnum() else "_" for c in found.key)[:60]
    return f"{name}_{hashlib.sha256(found.key.encode()).hexdigest()[:6]}"


def _report(counts: Counter[str], faults: Counter[str], seconds: float) -> None:
    for name in sorted(counts, key=lambda n: (n.startswith(" "), n)):
        print(f"{counts[name]:8} {name}")
    for key, count in faults.most_common():
        print(f"{count:8} {key}")
    print(f"{seconds:.0f} s, {counts['inputs'] / max(seconds, 1e-9):.1f} inputs a second")


def _again(folder: Path, jobs: int) -> int:
    places = sorted(p.parent for p in folder.glob("*/case.json"))
    wrong = 0
    for number, found in sorted(tried(lambda n: kept(places[n]), list(range(len(places))), jobs)):
        wrong += bool(found.fault)
        told = found.told.strip().splitlines()
        print(f"{places[number].name}: {found.key or found.said}: {(told or [''])[-1][:150]}")
    print(f"{wrong} of {len(places)} still wrong")
    return bool(wrong)

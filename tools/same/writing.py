"""Write the corpus of a checkout: each entry into a folder of its own, by processes that import that checkout alone."""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path

INDEX = "index.json"
"""The file that has the digest of each file that an entry wrote."""
LARGEST = 1 << 20
"""The most bytes of a file that is kept beside its digest, so that differences can be shown."""


def write(checkout: Path, folder: Path, parts: Sequence[str], named: str, jobs: int) -> None:
    """Write the entries of a checkout into a folder. Raises CalledProcessError where a process fails."""
    line = [sys.executable, "-m", "tools.same.writing", "--folder", str(folder), "--named", named]
    line += [word for part in parts for word in ("--part", part)]
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0", "PRIMSPLIT_THREADS": "1"}
    running = [subprocess.Popen([*line, "--job", f"{i}/{jobs}"], cwd=checkout, env=environment) for i in range(jobs)]
    for process in running:
        if process.wait():
            raise subprocess.CalledProcessError(process.returncode, process.args)


def main() -> None:
    """Write every one of `jobs` entries."""
    from tools.same.corpus import PARTS

    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--part", action="append", default=[])
    parser.add_argument("--named", default="")
    parser.add_argument("--job", default="0/1")
    said = parser.parse_args()
    job, jobs = map(int, said.job.split("/"))
    warnings.simplefilter("ignore")
    for part in said.part or PARTS:
        entries = {name: entry for name, entry in PARTS[part]().items() if said.named in name}
        for name in sorted(entries)[job::jobs]:
            place = said.folder / part / name
            place.mkdir(parents=True)
            try:
                entries[name](place)
            except Exception:  # noqa: BLE001  # how an entry fails is a part of what is compared
                (place / "failure.txt").write_text(traceback.format_exc().replace(str(place), "FOLDER"))
                print(f"{part} {name} fails: {_last_line(place / 'failure.txt')}", flush=True)
            _digest(place)


def _last_line(path: Path) -> str:
    return path.read_text().strip().splitlines()[-1]


def _digest(place: Path) -> None:
    """Note the digests of the files in a folder, and remove the large ones."""
    found = {}
    for path in sorted(p for p in place.rglob("*") if p.is_file()):
        with open(path, "rb") as file:
            found[str(path.relative_to(place))] = hashlib.file_digest(file, "sha256").hexdigest()
        if path.stat().st_size > LARGEST:
            path.unlink()
    (place / INDEX).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

"""Compare the files and listings that this checkout writes with those of another commit, byte by byte.

    python -m tools.same_files COMMIT [--part models --part nodes] [--named gauss] [--jobs 2] [--keep FOLDER]

Both checkouts write the corpus of `tools/same/corpus.py`: models, networks, benches, node cases and programs of the
tests. What differs is shown with the first lines that do. Returns 1 where anything differs, so that a change that is to
keep every byte can be tested. COMMIT must have this tool. The working tree is compared as it is, uncommitted changes
included.
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parents[1]


def arguments() -> argparse.Namespace:
    """The command line, read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("--part", action="append", default=[], help="one part of the corpus; repeat")
    parser.add_argument("--named", default="", help="only entries with this in their name")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes write")
    parser.add_argument("--keep", type=Path, help="the folder for what is written, by default a temporary one")
    return parser.parse_args()


@contextlib.contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Another commit in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "primsplit"
        _git("worktree", "add", "--quiet", "--detach", str(place), commit)
        try:
            yield place
        finally:
            _git("worktree", "remove", "--force", str(place))


def _git(*words: str) -> None:
    subprocess.run(["git", "-C", str(HERE), *words], check=True)


def main(said: argparse.Namespace) -> int:
    """Write both corpora and compare them; 1 where they differ."""
    from tools.same.comparing import compare, told
    from tools.same.writing import write

    with contextlib.ExitStack() as stack:
        kept = said.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        other = stack.enter_context(checkout(said.commit))
        before, now = kept.resolve() / "before", kept.resolve() / "now"
        write(other, before, said.part, said.named, said.jobs)
        write(HERE, now, said.part, said.named, said.jobs)
        found = compare(before, now)
    print(told(found))
    return int(found.differs)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main(arguments()))

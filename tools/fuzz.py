"""Run primsplit on hostile input: broken models, arrays, metadata and command lines.

    python tools/fuzz.py --inputs 200000 --seed 0 --jobs 2 [--start 50000] [--kind structure] [--finds FOLDER]

Input number n of a seed is always the same, so that a run goes on with `--start`. Each input must end in an answer or
in an error of primsplit's own, within limits on time and memory, and must change no file that it reads. Prints how many
inputs came to what. Every kind of fault is kept once in the folder of finds, with the input that shows it:
`python tools/fuzz.py --again FOLDER` tries all of them again, `--shrink FOLDER` makes them smaller.
"""

import argparse
import sys
from pathlib import Path


def arguments() -> argparse.Namespace:
    """The command line, read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=1000, help="how many inputs")
    parser.add_argument("--start", type=int, default=0, help="the number of the first input")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="how many processes work")
    parser.add_argument("--kind", default="", help="inputs of one kind alone, such as bytes or commands")
    parser.add_argument(
        "--finds", type=Path, default=Path("fuzz_finds"), help="the folder for inputs that show a fault"
    )
    parser.add_argument("--again", type=Path, metavar="FOLDER", help="try the finds in a folder again")
    parser.add_argument("--shrink", type=Path, metavar="FOLDER", help="make the finds in a folder smaller")
    return parser.parse_args()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tools.fuzzing.session import main

    sys.exit(main(arguments()))

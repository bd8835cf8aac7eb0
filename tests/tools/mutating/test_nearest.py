"""Which files of tests are near to a module: the mirrored one, those that import it, those of its room, journeys."""

from pathlib import Path

from tools.mutating.nearest import nearest_tests

FILES = {
    "toy/room/sums.py": "",
    "tests/room/test_sums.py": "",
    "tests/room/test_other.py": "",
    "tests/room/test_long_sums.py": "",
    "tests/room/test_zero.py": "from toy.room import sums",
    "tests/far/test_far.py": "import toy.room.sums",
    "tests/journeys/test_sums_of_all.py": "",
    "tests/far/test_unrelated.py": "import toy.room",
}


def nearest(root: Path, module: str, most: int) -> list[str]:
    """The nearest tests in a tree of `FILES`."""
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return [str(path) for path in nearest_tests(root, Path(module), most)]


def test_the_mirrored_file_comes_first_then_those_that_import_the_module_then_its_folder(tmp_path: Path) -> None:
    assert nearest(tmp_path, "toy/room/sums.py", 9) == [
        "tests/room/test_sums.py",
        "tests/room/test_zero.py",
        "tests/far/test_far.py",
        "tests/room/test_long_sums.py",
        "tests/room/test_other.py",
        "tests/journeys/test_sums_of_all.py",
    ]


def test_at_most_so_many_files_are_near(tmp_path: Path) -> None:
    assert nearest(tmp_path, "toy/room/sums.py", 2) == ["tests/room/test_sums.py", "tests/room/test_zero.py"]

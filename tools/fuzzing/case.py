"""One input of the fuzzer: files and what is done with them."""

import json
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """Files by name, and the command line that reads them; without one, `model.onnx` is loaded, split and saved."""

    kind: str
    files: dict[str, bytes]
    command: list[str] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """Put the files into a folder."""
        for name, data in self.files.items():
            (folder / name).write_bytes(data)

    def keep(self, folder: Path, told: str) -> None:
        """Write the case down, with what it came to."""
        folder.mkdir(parents=True, exist_ok=True)
        self.write(folder)
        said = {"kind": self.kind, "files": sorted(self.files), "command": self.command, "told": told}
        (folder / "case.json").write_text(json.dumps(said, indent=1))


def kept(folder: Path) -> Case:
    """A case that was written down."""
    said = json.loads((folder / "case.json").read_text())
    return Case(said["kind"], {name: (folder / name).read_bytes() for name in said["files"]}, said["command"])

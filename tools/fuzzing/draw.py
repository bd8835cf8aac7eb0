"""Input number n of a seed."""

from random import Random

from tests.onnx.seeds import changed_bytes, changed_field
from tools.fuzzing.archives import archive
from tools.fuzzing.case import Case
from tools.fuzzing.commands import command_line
from tools.fuzzing.corpus import model_files, some_model
from tools.fuzzing.structure import changed_structure
from tools.fuzzing.texts import changed_texts

SHARES = {"bytes": 2, "fields": 3, "structure": 8, "texts": 3, "arrays": 2, "commands": 2}
"""The relative frequency of each kind."""


def draw(seed: int, number: int, kind: str = "") -> Case:
    """The input of this number."""
    random = Random(f"{seed}:{number}:{kind}")
    kind = kind or random.choices([*SHARES], [*SHARES.values()])[0]
    if kind == "arrays":
        return _arrays(random)
    if kind == "commands":
        return Case(kind, model_files(random), command_line(random))
    return Case(kind, {"model.onnx": _model(kind, random)})


def _model(kind: str, random: Random) -> bytes:
    model = some_model(random)
    found: bytes
    if kind == "bytes":
        return changed_bytes(model.SerializeToString(), random)
    if kind == "texts":
        return changed_texts(model, random)
    if kind == "fields":
        for _ in range(random.choice((1, 1, 2, 4))):
            changed_field(model, random)
    else:
        changed_structure(model, random)
    found = model.SerializeToString()
    return found


def _arrays(random: Random) -> Case:
    files = model_files(random)
    name = random.choice(("x.npz", "x.npz", "x.npy", "state.npz"))
    files[name] = archive(random)
    reads = {"state.npz": ["--state", name]}.get(name, ["--inputs", name])
    command = random.choice(("run", "run", "run", "check"))
    return Case(
        "arrays", files, [command, "model.onnx", *reads, *random.choice(([], ["--json"], ["--out", "out.npz"]))]
    )

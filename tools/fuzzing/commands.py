"""Command lines, made of the options that the commands have."""

import functools
from random import Random
from typing import Any

import typer.main

from primsplit.cli.app import app
from tools.fuzzing.texts import TEXTS

PATHS = (
    "model.onnx",
    "model.onnx",
    "loss.py",
    "loss.py:loss",
    "x.npz",
    "out.onnx",
    "out.npz",
    "MODEL.onnx",
    "./model.onnx",
)
NESTS = ("C[i,j] := A[i,k] * B[k,j]", "C[i := A", "y[i] = x[i+1]", "s += exp(x[i,i])", "C[i] := A[i]**(9**9**9)", "=")
WORDS = (
    *PATHS, "x", "w", "W", "y", "d_y", "x:f32[4,3]", "x:f32[N,3]", "x:[N,3]", "x:f32[-1]", f"x:f32[{2**62},3]", "x:3",
    "x:f99[2]", "x:0,1", "x:nan,1", "x:1", "0", "1", "-1", "3", str(2**70), "1e400", "nan", "float32", "f16", "joint",
    "split", "functions", "jvp", "value", "hessian", "cuda", "all", "A,B", "", "\udcff", "Gemm", "numpy.linalg",
)  # fmt: skip


@functools.cache
def commands() -> dict[tuple[str, ...], Any]:
    """Every command with its parameters."""
    found = {}
    whole: Any = typer.main.get_command(app)
    for name, command in whole.commands.items():
        inner = getattr(command, "commands", None)
        for last, each in (inner or {"": command}).items():
            found[name, *([last] if last else [])] = each
    return found


def command_line(random: Random) -> list[str]:
    """The arguments of a command; most are of the kind that it takes."""
    if random.random() < 0.03:
        return [random.choice((*WORDS, *TEXTS, "--version", "--help", "grad")) for _ in range(random.randrange(4))]
    names = [n for n in commands() if n[0] != "bench"] * 3 + [n for n in commands() if n[0] == "bench"]
    chosen = random.choice(names)
    line, params = [*chosen], commands()[chosen].params
    for param in params:
        if param.param_type_name == "argument":
            line.append(_target(chosen, random))
        elif random.random() < min(0.25, 2 / len(params)):
            for _ in range(random.choice((1, 1, 1, 2))):
                line += _option(param, random)
    if random.random() < 0.15:
        line[random.randrange(len(line))] = random.choice((*WORDS, *TEXTS))
    return line


def _target(command: tuple[str, ...], random: Random) -> str:
    if command[0] == "loops" or random.random() < 0.02:
        return random.choice((*NESTS, "loss.py:loss"))
    if command[0] == "export":
        return "loss.py"
    return random.choice(PATHS)


def _option(param: Any, random: Random) -> list[str]:
    name = random.choice(param.opts)
    if param.is_flag:
        return [name]
    metavar = param.metavar or ""
    if "PATH" in metavar or param.name in {"out", "inputs", "output", "state"}:
        value = random.choice(PATHS)
    elif metavar.startswith("[") and random.random() < 0.85:
        value = random.choice(metavar.strip("[]").split("|"))
    else:
        value = random.choice(WORDS if random.random() < 0.9 else TEXTS)
    return [name, value]

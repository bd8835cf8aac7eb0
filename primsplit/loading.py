"""`load`: an ONNX model as a Program, which is called, split and traced like any other."""

from collections.abc import Sequence

from primsplit import trees
from primsplit.doors import read_model
from primsplit.passes.promote import promote
from primsplit.program import ARRAY, Program


def load(path: str) -> Program:
    """The program of an ONNX model: its inputs in their order in, a result or a tuple of them out.

    `.params` are its initializers by name, read from the file when their numbers are asked for. Inside a traced
    function a call of it becomes part of the trace. Raises FileError, ParseError, or UnsupportedFunction for an
    operator that is not of the standard.
    """
    model = read_model(path)
    arguments = trees.flatten((tuple(0.0 for _ in model.inputs), {}))[1]
    single = len(model.outputs) == 1
    return Program(
        model.block,
        inputs=model.inputs,
        outputs=model.outputs,
        arguments=arguments,
        result=trees.flatten(0.0 if single else tuple(0.0 for _ in model.outputs))[1],
        static=[ARRAY] * len(model.inputs),
        params=model.params,
    )


def with_params_as_inputs(program: Program, names: Sequence[str]) -> Program:
    """The program with these of its `params` as further inputs; a file keeps their numbers as defaults."""
    chosen = {name: program.params[name] for name in names}
    inputs = (*program.inputs, *chosen)
    return Program(
        promote(program.block, list(chosen.values())),
        inputs=inputs,
        outputs=program.outputs,
        arguments=trees.flatten((tuple(0.0 for _ in inputs), {}))[1],
        result=program.result,
        static=[ARRAY] * len(inputs),
        params={name: value for name, value in program.params.items() if name not in chosen},
        defaults={**program.defaults, **chosen},
    )

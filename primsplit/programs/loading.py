"""`load`: an ONNX model as a Program, which is called, split and traced like any other."""

from collections.abc import Mapping, Sequence

from primsplit import trees
from primsplit.doors import read_model
from primsplit.passes.promote import promote
from primsplit.programs.program import ARRAY, Program


def load(
    path: str,
    *,
    lengths: Mapping[str, int] | None = None,
    given: Mapping[str, bool] | None = None,
    safe_where: bool = False,
) -> Program:
    """The program of an ONNX model: its inputs in their order in, a result or a tuple of them out.

    A sequence is a list of arrays, whose tensors are the inputs `x.0`, `x.1`; `lengths` says how many an input has.
    An optional input is an array, or None where `given` says False of it. `.params` are the initializers by name, read
    from the file when their numbers are asked for. Inside a traced function a call of it becomes part of the trace.

    Where a Where does not take a side, its gradient is NaN if the side's own derivative is infinite or NaN there, as in
    PyTorch; with `safe_where` it is 0, at the price of some more operators in the backward pass.
    Raises FileError, ParseError, SpecError for lengths that do not fit, or UnsupportedFunction for an operator that is
    not of the standard, and for a sequence whose length only the run knows.
    """
    model = read_model(path, lengths or {}, given or {}, safe_where=safe_where)
    results = model.results[0] if len(model.results) == 1 else model.results
    return Program(
        model.block,
        inputs=model.inputs,
        outputs=model.outputs,
        arguments=trees.flatten((model.arguments, {}))[1],
        result=trees.flatten(results)[1],
        static=[ARRAY] * len(model.inputs),
        params=model.params,
    )


def with_params_as_inputs(program: Program, names: Sequence[str]) -> Program:
    """The program with these of its `params` as further inputs; a file keeps their numbers as defaults."""
    chosen = {name: program.params[name] for name in names}
    inputs = (*program.inputs, *chosen)
    own, named = trees.unflatten(program.arguments, [0.0] * len(program.inputs))
    return Program(
        promote(program.block, list(chosen.values())),
        inputs=inputs,
        outputs=program.outputs,
        arguments=trees.flatten(((*own, *(0.0 for _ in chosen)), named))[1],
        result=program.result,
        static=[ARRAY] * len(inputs),
        params={name: value for name, value in program.params.items() if name not in chosen},
        defaults={**program.defaults, **chosen},
    )

"""Load an ONNX model as a Program, which is called, split and traced like any other: `load`."""

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from primsplit import tracing
from primsplit.ir.errors import ParseError, SpecError
from primsplit.ir.frozen_branches import report_frozen
from primsplit.programs.binding import ARRAY
from primsplit.programs.carried import Carried
from primsplit.programs.doors import read_model
from primsplit.programs.program import Program
from primsplit.tracing import trees
from primsplit.tracing.own_errors import own_errors


def load(
    path: str | os.PathLike[str],
    *,
    lengths: Mapping[str, int] | None = None,
    given: Mapping[str, bool] | None = None,
    specs: Mapping[str, Any] | None = None,
    safe_where: bool = False,
    constant: Collection[str] = (),
    threads: int | None = None,
) -> Program:
    """Return the program of an ONNX model: its inputs in their order in, a result or a tuple of them out.

    A sequence is a list of arrays, whose tensors are the inputs `x.0`, `x.1`; `lengths` is how many an input has. An
    optional input is an array, or None if `given` is False for it. `.params` are the initializers by name, arrays that
    are read from the file when they are asked for; a call may pass others in their place, as in `model(x, **weights)`.
    Inside a traced function a call of it becomes part of the trace.

    `specs` are the types of inputs that the file leaves open, `{"x": "f32[N,3]"}`, or their number of axes, `{"x": 2}`:
    gradients of many operators need that. It may also narrow a named size, and set the rank of a value inside of the
    model.

    Where a Where does not take a side, its gradient is NaN if the side's own derivative is infinite or NaN there, as in
    PyTorch; with `safe_where` it is 0, at the price of some more operators in the backward pass.

    `constant` names nodes, or operators such as "TreeEnsembleRegressor", whose values are taken for constants: their
    derivative is 0, whatever it would be, and it is not refused if they have none.

    A sequence in the result whose length only the run knows is one array of its elements; if these may differ in shape,
    a dict of `elements`, one after the other in a row, and of their `shapes`.

    Warns, with a FrozenBranchWarning, of an If or Loop whose condition is computed from constants alone: an exporter
    that runs a Python `if` once keeps the side that it took.

    `threads` is the number of threads of a run; None is that of the process, as for `value_and_grad`.

    The states of a primsplit file are not arguments: the program keeps them, from their initial values on.

    Raises FileError, ParseError, SpecError for what is no path and for lengths or specs that do not fit, or
    UnsupportedFunction for an operator that is not in the standard, and for an input that is a sequence without a
    length.
    """
    file = _path_of(path)
    program = load_silently(file, lengths, given, specs, safe_where=safe_where, constant=constant)
    report_frozen(os.path.basename(file), program.frozen_branches, tracing.user_place())
    return program.with_threads(threads)


def _path_of(path: object) -> str:
    if isinstance(path, str | os.PathLike):
        return os.fspath(path)
    cure = "Write it to a file first: onnx.save(model, path)." if hasattr(path, "SerializeToString") else ()
    raise SpecError(f"load reads a model from the path of its file, not from a {type(path).__name__}", cure=cure)


def load_silently(
    path: str | os.PathLike[str],
    lengths: Mapping[str, int] | None,
    given: Mapping[str, bool] | None,
    specs: Mapping[str, Any] | None,
    *,
    safe_where: bool,
    constant: Collection[str],
) -> Program:
    """Like `load`, without its warning: the program has the frozen branches."""
    with own_errors(f"cannot read {os.fspath(path)}", ParseError):
        model = read_model(
            os.fspath(path), lengths or {}, given or {}, specs or {}, safe_where=safe_where, constant=constant
        )
        return _program(
            model,
            lambda ranks: load_silently(
                path, lengths, given, {**(specs or {}), **ranks}, safe_where=safe_where, constant=constant
            ),
        )


def _program(model: Any, narrowed: Callable[[Mapping[str, int]], Program]) -> Program:
    results = model.results[0] if len(model.results) == 1 else model.results
    leaves, arguments = trees.flatten((model.arguments, {}))
    # States come behind what a call gives, also where the file has them before cotangents.
    order = sorted(range(len(model.inputs)), key=lambda i: model.inputs[i] in {pair.input for pair in model.states})
    return Program(
        replace(model.block, params=tuple(model.block.params[i] for i in order)),
        inputs=[model.inputs[i] for i in order],
        outputs=model.outputs,
        arguments=arguments,
        result=trees.flatten(results)[1],
        static=[ARRAY] * len(leaves),
        initializers=model.params,
        constants=model.constants,
        narrowed=narrowed,
        states=Carried.of(model.states),
        frozen=model.frozen,
    )

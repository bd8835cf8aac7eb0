"""Export gradients, products, Jacobians and Hessians of a function, Program or loaded model as ONNX files.

Names in the files: inputs and results keep theirs. For an input or result `x`, `d_x` is the gradient, `t_x` the
tangent, so that the product with a Hessian is `t_d_x`, `j_x` the Jacobian and `h_x` the Hessian (`j_y_x` and `h_x_z` if
there are several results or inputs).
"""

import os
from collections.abc import Callable, Sequence
from textwrap import shorten
from typing import Any, Literal, get_args

from primsplit import tracing
from primsplit.ir import Block
from primsplit.ir.errors import ShapeError, SpecError
from primsplit.ir.names import kept_apart
from primsplit.ir.providers import GivenAs, Provenance, Provider
from primsplit.programs.api import SplitProgram, split, trace
from primsplit.programs.asked import Wrt, select_inputs, select_results, with_asked_params
from primsplit.programs.flat import flat_program
from primsplit.programs.forms import Form
from primsplit.programs.program import Program
from primsplit.programs.pushed import PushedProgram, push_program
from primsplit.tracing.array import Array
from primsplit.transforms.directions import jacobian_blocks
from primsplit.transforms.policies import Policy, check_policy

Kind = Literal["gradient", "jvp", "linearize", "hvp", "jacobian", "hessian", "value"]
Function = Callable[..., Any] | Program
Derived = SplitProgram | PushedProgram | Program


def read_mode(text: str) -> Kind:
    """Return the mode of this name. Raises SpecError."""
    found: dict[str, Kind] = {name: name for name in get_args(Kind)}
    if not isinstance(text, str) or text not in found:
        raise SpecError(f"mode={text!r} is none of {', '.join(found)}")
    return found[text]


def derive(
    function: Function,
    *specs: Any,
    mode: Kind,
    wrt: Wrt = None,
    of: Any = None,
    chunk: int | None = None,
    policy: Policy = "default",
    **named: Any,
) -> Derived:
    """Return a function traced on specs, with the derivative that `mode` names, ready to be run or saved.

    - gradient: a SplitProgram; see `split`.
    - jvp, linearize: a PushedProgram, whose inputs are those of the function and a tangent of each in `wrt`.
    - hvp: one too: value, gradient, and the tangents of the gradient of a scalar function, or of its result `of`.
    - jacobian, hessian: a Program that returns the value (and gradient) first. `chunk` directions are taken at a time.
    - value: the Program of the function alone, such as a training step, which contains its gradient.

    `policy` is what a gradient keeps. Raises SpecError for an unknown mode, or a `chunk` or `policy` for a mode without
    one; ShapeError if it needs a scalar.
    """
    check_policy(policy)
    if chunk is not None and read_mode(mode) not in {"jacobian", "hessian"}:
        raise SpecError(f"chunk={chunk!r} is for a jacobian or hessian, and not for mode={mode!r}")
    if read_mode(mode) == "gradient":
        return split(function, *specs, wrt=wrt, of=of, policy=policy, **named)
    if policy != "default":
        raise SpecError(f"policy={policy!r} is for gradients, and not for mode={mode!r}")
    if mode in {"hvp", "hessian"}:
        made = split(function, *specs, wrt=wrt, of=of, seed="ones", **named)
        _check_scalar(made, mode)
        return _products(made) if mode == "hvp" else _hessian(made, chunk)
    if mode == "value":
        return trace(function, *specs, **named)
    program = with_asked_params(trace(function, *specs, **named), wrt)
    inputs, results = select_inputs(program, wrt), select_results(program, of)
    if mode == "jacobian":
        return _jacobian(program, inputs, results, chunk)
    return push_program(program, inputs, results)


def gradient_beside(derived: Derived, function: Function, *specs: Any, mode: Kind, **named: Any) -> SplitProgram:
    """Return the gradient of the function given to `derive`; if it is traced alone, with respect to nothing."""
    if isinstance(derived, SplitProgram):
        return derived
    if mode == "value" and isinstance(derived, Program):
        return split(derived, wrt=[], of=[])
    return split(function, *specs, **named)


def export(
    function: Function | SplitProgram,
    /,
    *specs: Any,
    path: str | os.PathLike[str],
    mode: Kind = "gradient",
    form: Form = "joint",
    wrt: Wrt = None,
    of: Any = None,
    chunk: int | None = None,
    policy: Policy = "default",
    provider: Provider = "cpu",
    weights: GivenAs = "inputs",
    target: str | None = None,
    provenance: Provenance = "full",
    **named: Any,
) -> list[str]:
    """Write a function, Program or Split with its derivative as ONNX; return the paths written.

    `specs`, `wrt`, `of`, `policy` and what else is named are those of `split`. `mode` is "gradient"; "jvp", which takes
    a tangent `t_x` for each input in `wrt` and gives `t_y`; "linearize", the same as a forward and a linear file;
    "hvp", value, gradient and product with the Hessian of a scalar function; "jacobian" or "hessian", whole, `chunk`
    directions at a time; "value", the function alone. `form` "joint" writes one graph; where there are two passes,
    "split" writes two files, for `path="f.onnx"` `f.forward.onnx` and `f.backward.onnx` (or `f.linear.onnx`), and
    "functions" one with forward pass and pullback (or tangent list) as model-local functions. A function that keeps
    states (`ps.state`) has an input and an output for each in every file. `provider` is the execution provider of
    onnxruntime that the files are for: "cpu", or "cuda", where float64 takes other ways. Weights that are
    differentiated are inputs; with `weights="defaults"` they keep their numbers, as for `SplitProgram.save`. The files
    run in every onnxruntime from 1.20 on; with `target="onnxruntime>=1.32"` from that version on only, and go around no
    fault that is mended there (docs/runtime_faults.md lists them). `provenance` is what the files tell of their source:
    "full" your lines, each once with its text; "lines" files, line numbers and names; "none" nothing.

    Raises FileError where the path cannot be written, SpecError for a mode, form, provider, target, provenance or name
    that is none, and for what is said of a Split again, ShapeError where a mode needs a scalar, MissingRule where there
    is no derivative.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (path,) = ps.export(lambda x: np.tanh(x), ps.spec("float32", ["N"]), path=f"{folder}/tanh.onnx")
    ...     model = ps.load(path)
    >>> model.inputs, model.outputs
    (('x', 'd_y'), ('y', 'd_x'))
    """
    path = os.fspath(path)
    if isinstance(function, SplitProgram):
        told = {"policy": None if policy == "default" else policy, **named}
        _refuse_told(function, specs, {"wrt": wrt, "of": of, "chunk": chunk, "mode": mode, **told})
        return save_derived(function, path, mode, form, provider, weights, target, provenance)
    made = derive(function, *specs, mode=mode, wrt=wrt, of=of, chunk=chunk, policy=policy, **named)
    return save_derived(made, path, mode, form, provider, weights, target, provenance)


def _refuse_told(made: SplitProgram, specs: tuple[Any, ...], told: dict[str, Any]) -> None:
    again = [f"{k}={v!r}" for k, v in told.items() if v is not None and (k, v) != ("mode", "gradient")]
    if specs or again:
        what = shorten(again[0], 80) if again else "a spec"
        raise SpecError(f"{what} comes too late: this is a {made!r}", cure="Export the function itself with it.")


def save_derived(
    made: Derived,
    path: str,
    mode: Kind,
    form: Form = "joint",
    provider: Provider = "cpu",
    weights: GivenAs = "inputs",
    target: str | None = None,
    provenance: Provenance = "full",
) -> list[str]:
    """Write a result of `derive`; return the paths.

    Raises SpecError for a form that the mode does not have, and for a gradient with respect to nothing.
    """
    if isinstance(made, Program):
        if form != "joint":
            raise SpecError(f"form={form!r} is for derivatives with two passes, and not for mode={mode!r}")
        made.save(path, provider, weights, target, provenance)
        return [path]
    if isinstance(made, SplitProgram):
        _check_wrt(made)
    form = "split" if mode == "linearize" and form == "joint" else form
    return made.save(path, form, provider, weights, target, provenance)


def _check_wrt(made: SplitProgram) -> None:
    if made.split.wrt:
        return
    names = list(made.program.initializers)
    raise SpecError(
        "no input is floating point, so there is nothing to differentiate",
        because=(f"the initializers are {shorten(', '.join(names), 300)}",) if names else (),
        cure="Say which of them with wrt, or wrt='params' for all; --wrt on the command line." if names else "",
    )


def _check_scalar(made: SplitProgram, mode: Kind) -> None:
    results = {made.program.outputs[i]: made.program.block.results[i].type for i in made.split.of}
    scalars = [name for name, found in results.items() if found.shape == ()]
    if len(results) != 1 or not scalars:
        told = ", ".join(map(str, results.values()))
        choices = shorten(" or ".join(f"of={name!r}" for name in scalars), 200)
        cure = f"Say which it is: {choices}; --of on the command line." if scalars else ""
        raise ShapeError(f"mode={mode!r} takes a function with one scalar result, not {told}", cure=cure)


def _products(made: SplitProgram) -> PushedProgram:
    """Return value, gradient, and the gradient's tangents."""
    joint = made.joint()
    return push_program(joint, made.differentiated, joint.gradients)


def _hessian(made: SplitProgram, chunk: int | None) -> Program:
    names = [made.program.inputs[i] for i in made.differentiated]
    pairs = [f"h_{a}_{b}" for a in names for b in names] if len(names) > 1 else [f"h_{names[0]}"]
    joint = made.joint()
    return _with_blocks(joint, made.differentiated, joint.gradients, pairs, chunk, forward=True)


def _jacobian(program: Program, inputs: Sequence[int], results: Sequence[int], chunk: int | None) -> Program:
    given = [program.inputs[i] for i in inputs]
    made = [program.outputs[i] for i in results]
    several = len(program.returned) > 1
    names = [f"j_{r}_{x}" if several else f"j_{x}" for r in made for x in given]
    return _with_blocks(program, inputs, results, names, chunk, forward=False)


def _with_blocks(
    program: Program, wrt: Sequence[int], of: Sequence[int], names: Sequence[str], chunk: int | None, *, forward: bool
) -> Program:
    """Return the program with the Jacobian of some results as further results of these names."""
    with tracing.fresh_stack(), tracing.recording() as recorded:
        params = [recorded.param(p.type, p.hint) for p in program.block.params]
        for param, own in zip(params, program.block.params, strict=True):
            param.sizes = own.sizes
        with tracing.recording() as inner:
            moved = {i: inner.param(params[i].type) for i in wrt}
            results = tracing.inline(program.block, [moved.get(i, p) for i, p in enumerate(params)])
        call = Block(program.block.name, tuple(moved.values()), tuple(inner.ops), tuple(results))
        at = [Array(params[i]) for i in wrt]
        values, blocks = jacobian_blocks(call, at, of, mode="forward" if forward else None, chunk=chunk)
        values += [a.value for i in of for a in blocks[i]]
    block = tracing.close(program.block.name, params, recorded, values)
    taken = [*program.inputs, *program.outputs]
    outputs = [*program.outputs, *kept_apart([*taken, *names])[len(taken) :]]
    return flat_program(block, program.inputs, outputs, (), program.defaults, program.states)

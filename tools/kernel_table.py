"""Write primsplit/ops/kernels.py: which operators onnxruntime's CPU provider has a kernel for, dtype by dtype.

    python -m tools.kernel_table            write the table
    python -m tools.kernel_table --check    exit 1 when the written table is not what the installed onnxruntime says;
                                            with another one than it was made with, when it lists what that one lacks
    python -m tools.kernel_table --missing  print what the written table lists and the installed onnxruntime lacks

The table is that of the onnxruntime it is made with, without the kernels in LATER: files are to run in OLDEST too.
`--missing`, run with OLDEST, is to print what is in NEWER, and nothing else.

Two sources: onnxruntime's own list of kernel definitions, and a session made from one node. The list is the table. The
session decides what no kernel is listed for: operators that run through their function body, and float16, which
onnxruntime runs in float32 between inserted casts. A kernel that is listed but refused by a session is reported.
"""

import argparse
import itertools
import runpy
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
from onnx import TensorProto, defs, helper
from onnxruntime.capi import onnxruntime_pybind11_state as native

from primsplit.ops import later_kernels

OPSET = 21
IR_VERSION = 10
OLDEST = "1.20"
TABLE = Path(__file__).parent.parent / "primsplit" / "ops" / "kernels.py"
DTYPES = {
    "float32": "tensor(float)",
    "float64": "tensor(double)",
    "float16": "tensor(float16)",
    "bfloat16": "tensor(bfloat16)",
    "int8": "tensor(int8)",
    "int16": "tensor(int16)",
    "int32": "tensor(int32)",
    "int64": "tensor(int64)",
    "uint8": "tensor(uint8)",
    "uint16": "tensor(uint16)",
    "uint32": "tensor(uint32)",
    "uint64": "tensor(uint64)",
    "bool": "tensor(bool)",
    "int4": "tensor(int4)",
    "uint4": "tensor(uint4)",
}
PACKED = frozenset({"int4", "uint4"})
"""Two to a byte: few operators take them."""
NAMES = {type_string: name for name, type_string in DTYPES.items()}
GROUPS = {
    "ALL": frozenset(DTYPES) - PACKED,
    "FLOATS": frozenset({"float32", "float64", "float16"}),
    "INTEGERS": frozenset(name for name in DTYPES if "int" in name) - PACKED,
    "INDICES": frozenset({"int32", "int64"}),
}
GROUPS["NUMBERS"] = GROUPS["ALL"] - {"bool"}
GROUPS["EVERYDAY"] = frozenset({"float32", "float64", "float16", "int32", "int64"})


def _by_operator(rows: Mapping[str, tuple[str, Mapping[str, frozenset[str]]]]) -> dict[str, frozenset[str]]:
    """The dtypes of each operator that these rows of `later_kernels` have."""
    found: dict[str, frozenset[str]] = {}
    for _, dtypes in rows.values():
        for name, held in dtypes.items():
            found[name] = found.get(name, frozenset()) | held
    return found


LATER = _by_operator(later_kernels.LATER)
"""Dtypes of T whose kernel came after OLDEST, and for which `rewrites/decompositions` has another form."""
NEWER = {**_by_operator(later_kernels.NEWER), "Cos": frozenset({"float64"})}
"""Those that are in the table all the same. For Cos `targets/faults/cosines` has another form."""
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "AveragePool": {"kernel_shape": [1]},
    "Cast": {"to": TensorProto.FLOAT},
    "CenterCropPad": {"axes": [0]},
    "Concat": {"axis": 0},
    "ConcatFromSequence": {"axis": 0},
    "DepthToSpace": {"blocksize": 1},
    "Einsum": {"equation": "i->i"},
    "GroupNormalization": {"num_groups": 1},
    "GRU": {"hidden_size": 1},
    "LpPool": {"kernel_shape": [1]},
    "LSTM": {"hidden_size": 1},
    "MaxPool": {"kernel_shape": [1]},
    "MaxRoiPool": {"pooled_shape": [1, 1], "spatial_scale": 1.0},
    "MaxUnpool": {"kernel_shape": [1]},
    "QuantizeLinear": {"output_dtype": TensorProto.INT8},
    "RNN": {"hidden_size": 1},
    "SpaceToDepth": {"blocksize": 1},
    "Split": {"num_outputs": 1},
}
"""Attributes without which a one-node model is refused before kernels are looked for."""
LIFTED = frozenset({"Constant"})
"""Turned into initializers when a model is loaded; no kernel is looked for."""
OPTIONAL_NEEDED = {"Clip": 3, "Resize": 3, "Slice": 4}
"""The number of inputs of such a model, if that is more than the schema requires."""

Row = dict[str, frozenset[str]]
"""One kernel definition, or several merged: for each type variable of the schema, the dtypes it may have."""


def main(arguments: Sequence[str]) -> int:
    """Write or check the table; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the written table instead of writing it")
    parser.add_argument("--missing", action="store_true", help="print what the table lists and is not installed")
    asked = parser.parse_args(arguments)
    native.set_default_logger_severity(4)
    found = {schema.name: rows_of(schema) for schema in operators()}
    if asked.missing or (asked.check and not _is_made_with_installed()):
        return print_missing(found)
    text = render({name: without(LATER.get(name, frozenset()), rows) for name, rows in found.items()})
    if asked.check:
        return int(TABLE.read_text() != text)
    TABLE.write_text(text)
    return 0


def _is_made_with_installed() -> bool:
    return (
        TABLE.read_text().splitlines()[0]
        == HEADER.format(opset=OPSET, oldest=OLDEST, version=onnxruntime.__version__).splitlines()[0]
    )


def without(dtypes: frozenset[str], rows: list[Row]) -> list[Row]:
    """The rows without some dtypes of T."""
    left = [{**row, "T": row["T"] - dtypes} if "T" in row else row for row in rows]
    return [row for row in left if row.get("T", True)]


def print_missing(found: Mapping[str, list[Row]]) -> int:
    """Print the combinations of the written table that no kernel found here takes; 1 where NEWER does not tell one."""
    names: dict[str, Any] = runpy.run_path(str(TABLE))
    written: dict[str, Sequence[Row]] = names["KERNELS"]
    untold = 0
    for name, rows in written.items():
        absent = combinations(rows) - combinations(found.get(name, []))
        for combination in sorted(absent):
            is_told = not NEWER.get(name, frozenset()).isdisjoint(combination)
            untold += not is_told
            print(f"{name} {' '.join(combination)}{'' if is_told else '  <- not in NEWER'}")
    return int(untold > 0)


def combinations(rows: Iterable[Row]) -> set[tuple[str, ...]]:
    """Every combination of dtypes that rows hold, in the order of the type variables' names."""
    return {dtypes for row in rows for dtypes in itertools.product(*(sorted(row[v]) for v in sorted(row)))}


def operators() -> list[defs.OpSchema]:
    """The operators of the standard domain at the pinned opset that take or give tensors, by name."""
    names = sorted({schema.name for schema in defs.get_all_schemas_with_history() if schema.domain == ""})
    schemas = [defs.get_schema(name, OPSET, "") for name in names if defs.has(name, OPSET, "")]
    return [schema for schema in schemas if not schema.deprecated and choices(schema)]


def choices(schema: defs.OpSchema) -> dict[str, frozenset[str]]:
    """For each type variable, the dtypes that the schema allows among ours."""
    allowed = {t.type_param_str: {NAMES.get(s) for s in t.allowed_type_strs} - {None} for t in schema.type_constraints}
    return {variable: frozenset(filter(None, names)) for variable, names in allowed.items() if names}


def rows_of(schema: defs.OpSchema) -> list[Row]:
    """Everything that runs of one operator."""
    if schema.name in LIFTED:
        return [choices(schema)]
    allowed = choices(schema)
    rows = merged(listed_rows(schema))
    for row in rows:
        if tensors_only(schema) and not runs(schema, pick(row)):
            print(f"{schema.name}: a kernel is listed and no one-node session takes it: {pick(row)}", file=sys.stderr)
    return merged(rows + body_rows(schema, rows, allowed) + float16_rows(schema, rows, allowed))


def tensors_only(schema: defs.OpSchema) -> bool:
    """Whether a one-node model can be made of it: no sequences, no strings."""
    formals = [*schema.inputs, *schema.outputs]
    return not any("seq(" in str(formal.types) or formal.types == {"tensor(string)"} for formal in formals)


def listed_rows(schema: defs.OpSchema) -> list[Row]:
    """Return the rows of onnxruntime's list.

    A type variable that a kernel leaves open may have every dtype of the schema.
    """
    allowed = choices(schema)
    rows = []
    for kernel in native.get_all_opkernel_def():
        if (
            kernel.op_name != schema.name
            or kernel.domain != ""
            or not serves(kernel.version_range, schema.since_version)
        ):
            continue
        stated = {
            v: frozenset(NAMES[s] for s in strings if s in NAMES) for v, strings in kernel.type_constraints.items()
        }
        row = {variable: stated.get(variable, dtypes) & dtypes for variable, dtypes in allowed.items()}
        if all(row.values()):
            rows.append(row)
    return rows


def serves(version_range: tuple[int, int], since: int) -> bool:
    """Whether a kernel for these opset versions is taken for an operator that last changed at `since`."""
    first, last = version_range
    return first == since or (first < since <= last and last != 2**31 - 1)


def body_rows(schema: defs.OpSchema, rows: list[Row], allowed: Mapping[str, frozenset[str]]) -> list[Row]:
    """One row for each combination of dtypes that no kernel is listed for and that runs through a function body."""
    if not has_body(schema):
        return []
    candidates = (dict(zip(allowed, dtypes, strict=True)) for dtypes in itertools.product(*allowed.values()))
    return [
        {v: frozenset({dtype}) for v, dtype in types.items()}
        for types in candidates
        if not any(all(types[v] in row[v] for v in row) for row in rows) and runs(schema, types)
    ]


def has_body(schema: Any) -> bool:
    """Whether the standard has a function body for it; onnx's stub of OpSchema has neither field."""
    return bool(schema.has_function or schema.has_context_dependent_function)


def float16_rows(schema: defs.OpSchema, rows: list[Row], allowed: Mapping[str, frozenset[str]]) -> list[Row]:
    """The float32 rows again, with float16 for float32, where a session takes them."""
    more = []
    for row in rows:
        variables = [v for v in row if "float32" in row[v] and "float16" in allowed[v] and "float16" not in row[v]]
        if not variables:
            continue
        types = {**pick(row), **dict.fromkeys(variables, "float16")}
        if runs(schema, types):
            more.append({**row, **{v: frozenset({"float16"}) for v in variables}})
    return more


def pick(row: Row) -> dict[str, str]:
    """One dtype for each variable of a row, the most usual one."""
    return {variable: next(name for name in DTYPES if name in dtypes) for variable, dtypes in row.items()}


def runs(schema: defs.OpSchema, types: Mapping[str, str]) -> bool:
    """Whether onnxruntime makes a session of one such node; any refusal that is not about kernels counts as running."""
    try:
        onnxruntime.InferenceSession(one_node(schema, types), providers=["CPUExecutionProvider"])
    except native.NotImplemented:
        return False
    except Exception as problem:  # noqa: BLE001  # onnxruntime raises one class for each of its error codes
        return "type inference" not in str(problem).lower() and "Type Error" not in str(problem)
    return True


def one_node(schema: defs.OpSchema, types: Mapping[str, str]) -> bytes:
    """A model of one such node, its inputs of unknown shape."""
    count = max(schema.min_input, OPTIONAL_NEEDED.get(schema.name, 0))
    formals = [schema.inputs[min(i, len(schema.inputs) - 1)] for i in range(count)]
    inputs = [f"x{i}" for i in range(count)]
    outputs = [f"y{i}" for i in range(max(schema.min_output, 1))]
    infos = [typed(name, formal, types) for name, formal in zip(inputs, formals, strict=True)]
    results = [typed(name, formal, types) for name, formal in zip(outputs, schema.outputs, strict=False)]
    node = helper.make_node(schema.name, inputs, outputs, **ATTRIBUTES.get(schema.name, {}))
    opsets = [helper.make_opsetid("", OPSET)]
    graph = helper.make_graph([node], "one", infos, results)
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION).SerializeToString())


def typed(name: str, formal: Any, types: Mapping[str, str]) -> onnx.ValueInfoProto:
    """A value of the type that a formal input or output has under an assignment of the type variables, of any shape."""
    dtype = types.get(formal.type_str) or NAMES.get(formal.type_str, "float32")
    return helper.make_tensor_value_info(name, getattr(TensorProto, onnx_name(dtype)), None)


def onnx_name(dtype: str) -> str:
    """The name of a dtype in ONNX's enumeration."""
    return {"float32": "FLOAT", "float64": "DOUBLE"}.get(dtype, dtype.upper())


def merged(rows: Iterable[Row]) -> list[Row]:
    """The same combinations in fewer rows: rows that differ in one variable become one."""
    rest = list(rows)
    while True:
        pair = next(((a, b) for i, a in enumerate(rest) for b in rest[i + 1 :] if differing(a, b) <= 1), None)
        if pair is None:
            return rest
        a, b = pair
        rest = [row for row in rest if row is not a and row is not b] + [{v: a[v] | b[v] for v in a}]


def differing(a: Row, b: Row) -> int:
    """In how many variables two rows differ."""
    return sum(a[variable] != b[variable] for variable in a)


HEADER = '''"""List the CPU kernels of onnxruntime {oldest} to {version} for operators of opset {opset}, dtype by dtype.

Made by `python -m tools.kernel_table`; do not edit.

KERNELS[operator] is a tuple of rows. A row gives, for each type variable of the operator's schema (T, T1, Tind, ...),
the dtypes it may have; a combination of dtypes runs when one row holds all of it. An operator with no row never runs;
one that has no kernel but a function body in the standard is listed for the dtypes its body runs in. float16 counts
as running where onnxruntime computes it in float32 between casts that it inserts itself.
"""

Dtypes = frozenset[str]


def _set(names: str) -> Dtypes:
    return frozenset(names.split())

'''


def render(table: Mapping[str, list[Row]]) -> str:
    """The text of the table."""
    lines = [HEADER.format(opset=OPSET, oldest=OLDEST, version=onnxruntime.__version__)]
    lines += [f"{name} = {literal(dtypes)}" for name, dtypes in GROUPS.items()]
    lines += ["", "KERNELS: dict[str, tuple[dict[str, Dtypes], ...]] = {"]
    lines += [line for name, rows in table.items() for line in entry(name, rows)]
    return "\n".join([*lines, "}"]) + "\n"


def entry(name: str, rows: list[Row]) -> list[str]:
    """The lines of one operator."""
    shown = ["{" + ", ".join(f'"{v}": {group(dtypes)}' for v, dtypes in row.items()) + "}" for row in rows]
    shown.sort()
    line = f'    "{name}": ({", ".join(shown)}{"," if len(shown) == 1 else ""}),'
    if len(line) <= 120:
        return [line]
    return [f'    "{name}": (', *wrapped(shown), "    ),"]


def wrapped(shown: list[str]) -> list[str]:
    """The lines of rows, long ones one variable a line."""
    lines = []
    for row in shown:
        if len(row) + 9 <= 120:
            lines.append(f"        {row},")
        else:
            lines += [
                "        {",
                *[f"            {part}," for part in row[1:-1].replace('), "', ')\n"').split("\n")],
                "        },",
            ]
    return lines


def group(dtypes: frozenset[str]) -> str:
    """A set as one of the named groups, a group without or with a few dtypes, or itself, whichever is shortest."""
    forms = [literal(dtypes)]
    for name, members in GROUPS.items():
        if dtypes == members:
            return name
        if dtypes < members:
            forms.append(f"{name} - {literal(members - dtypes)}")
        if dtypes > members:
            forms.append(f"{name} | {literal(dtypes - members)}")
    return min(forms, key=len)


def literal(dtypes: frozenset[str]) -> str:
    """A set spelled out."""
    return f'_set("{" ".join(name for name in DTYPES if name in dtypes)}")'


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

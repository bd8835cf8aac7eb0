"""Changes of what a model says: names, remarks, doc strings and metadata."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import onnx

from primsplit.ir.carriers import DTYPE_OF
from tests.onnx.seeds import ODD_NUMBERS, ODD_TEXTS

MARK = "INJECTED"
"""No line of a listing begins with it."""
TEXTS = (
    *ODD_TEXTS,
    f"a\n{MARK} = 1\n",
    f"a\r\n{MARK} = 1",
    f"a\u2028{MARK} = 1",
    f"a\x85{MARK} = 1",
    f'"""\n{MARK} = 1\n"""',
    f"')\n{MARK} = 1 #",
    f"#\x0c{MARK}",
    "\x1b[31mred\x1b]0;title\x07",
    "\x9b2J",
    "{x}",
    "%s%n",
    "[bold]x[/bold]",
    "../../x",
    "pullback of Sin (order 99999999999999999999)",
    "pullback of Sin (order -1)",
    "raises ValueError: x",
    "raises BranchError",
)
KEYS = ("primsplit.states", "primsplit.jumps", "remark", "place", "source", "name")


def changed_texts(model: onnx.ModelProto, random: Random) -> bytes:
    """The bytes of the model with other texts in it, some of them no UTF-8."""
    for _ in range(random.choice((1, 1, 2, 4))):
        random.choice((_name, _name, _remark, _document, _metadata, _metadata, _metadata))(model, random)
    data: bytes = model.SerializeToString()
    return data.replace(b"QQQQ", b"\xff\xfe\xff\xfe") if random.random() < 0.5 else data


def _text(random: Random) -> str:
    return "QQQQ" if random.random() < 0.1 else random.choice(TEXTS)


def _name(model: onnx.ModelProto, random: Random) -> None:
    """Call a value, wherever it is read, or a node, a graph or a size otherwise."""
    graph, new = model.graph, _text(random)
    what = random.randrange(5)
    if what == 0:
        graph.name = new
    elif what == 1 and graph.node:
        random.choice(graph.node).name = new
    elif what == 2 and graph.input and graph.input[0].type.tensor_type.shape.dim:
        random.choice(graph.input[0].type.tensor_type.shape.dim).dim_param = new
    else:
        values = [v.name for v in (*graph.input, *graph.output, *graph.initializer)]
        values += [o for n in graph.node for o in n.output if o]
        if values:
            _rename(graph, random.choice(values), new)


def _rename(graph: onnx.GraphProto, old: str, new: str) -> None:
    for value in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
        value.name = new if value.name == old else value.name
    for node in graph.node:
        for names in (node.input, node.output):
            for place, name in enumerate(names):
                names[place] = new if name == old else name


def _remark(model: onnx.ModelProto, random: Random) -> None:
    if model.graph.node:
        entry = random.choice(model.graph.node).metadata_props.add()
        entry.key, entry.value = random.choice(KEYS), _text(random)


def _document(model: onnx.ModelProto, random: Random) -> None:
    random.choice([model, model.graph, *model.graph.node]).doc_string = _text(random)
    model.producer_name = _text(random)


def _metadata(model: onnx.ModelProto, random: Random) -> None:
    known = [p for p in model.metadata_props if p.key.startswith("primsplit")]
    if known and random.random() < 0.7:
        entry = random.choice(known)
        entry.value = _changed_json(entry.value, random)
        return
    entry = model.metadata_props.add()
    names = [v.name for v in (*model.graph.input, *model.graph.output)] or ["x"]
    kind = random.randrange(4)
    if kind == 0:
        row = {"name": _text(random), "in": random.choice(names), "out": random.choice([*names, None])}
        entry.key, entry.value = "primsplit.states", json.dumps([{**row, "initial": _odd(random)}])
    elif kind == 1:
        row = {"name": "Jump", "because": _text(random), "inputs": names[:1], "outputs": names[-1:]}
        entry.key, entry.value = "primsplit.jumps", json.dumps([row])
    elif kind == 2:
        entry.key = f"{DTYPE_OF}{random.choice(names)}"
        entry.value = random.choice(("bfloat16", "int4", "float8_e4m3fn", "float32", _text(random)))
    else:
        entry.key, entry.value = random.choice(KEYS), _text(random)


def _odd(random: Random) -> Any:
    return random.choice(
        (
            0,
            1.5,
            -1,
            None,
            True,
            [],
            {},
            [1, 2],
            "AAAA",
            "AAAAAAAAAAA=",
            "!",
            "\x1b[31m",
            1e400,
            *ODD_NUMBERS,
            "9" * 5000,
        )
    )


def _changed_json(text: str, random: Random) -> str:
    """The JSON with one value, or one character, that is another."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    places = list(_places(found))
    if not places or random.random() < 0.2:
        return random.choice(
            (text[: len(text) // 2], f"[{text}]", "{}", "null", "[" * 5000, text.replace(":", ","), "NaN")
        )
    holder, key = random.choice(places)
    if random.random() < 0.2:
        del holder[key]
    else:
        holder[key] = _odd(random) if random.random() < 0.6 else _text(random)
    return json.dumps(found)


def _places(found: Any) -> Iterator[tuple[Any, Any]]:
    keys = found.keys() if isinstance(found, dict) else range(len(found)) if isinstance(found, list) else ()
    for key in list(keys):
        yield found, key
        yield from _places(found[key])

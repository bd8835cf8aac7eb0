"""Parse a listing into Blocks: the inverse of `listing`. Comments are ignored."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx.helper

from primsplit.ir import AnyArray, Attribute, Block, Const, Op, Type, Value, Var
from primsplit.ir.errors import ParseError
from primsplit.ir.notation.literals import unquoted
from primsplit.ir.notation.tokens import (
    CLOSING,
    OPENING,
    Sentence,
    Token,
    elements,
    read_dim,
    sentences_of,
    split_sizes,
)


def parse(text: str, constants: Mapping[str, Any] | None = None, free: Mapping[str, Var] | None = None) -> Block:
    """Return the block that is listed as `text`.

    `constants` holds what the listing shows by digest (`listing.constants(block)`), `free` the outer Vars that the
    block reads, by name; others become fresh ones. Raises ParseError, which names the line.
    """
    blocks = parse_all(text, constants, free)
    if len(blocks) != 1:
        raise ParseError(f"the text holds {len(blocks)} programs, not one", cure="Read it with parse_all.")
    return blocks[0]


def parse_all(
    text: str, constants: Mapping[str, Any] | None = None, free: Mapping[str, Var] | None = None
) -> list[Block]:
    """Return the blocks listed one after the other, as those of a Split are. They share no Vars."""
    reader = _Reader(text, constants or {}, free or {})
    blocks = []
    while reader.position < len(reader.sentences):
        blocks.append(reader.block(0)[1])
    return blocks


class _Reader:
    """A recursive descent over sentences, and over the tokens of the current one.

    `scopes` maps the names that can be read to Vars, the innermost block's last.
    """

    def __init__(self, text: str, constants: Mapping[str, Any], free: Mapping[str, Var]) -> None:
        self.text = text
        self.given = constants
        self.free = free
        self.sentences = sentences_of(text)
        self.position = 0
        self.scopes: list[dict[str, Var]] = []
        self.sentence = Sentence(0, 1, [])
        self.at = 0
        self.types: dict[str, Type] = {}
        self.read: dict[str, Const] = {}

    def error(self, what: str) -> ParseError:
        """Return the error, with the line that is being read."""
        line = self.sentence.line
        return ParseError(f"line {line}: {what}", because=(self.text.splitlines()[line - 1].strip(),))

    # Tokens of the current sentence.

    def open(self) -> None:
        """Go to the next sentence."""
        self.sentence = self.sentences[self.position]
        self.position += 1
        self.at = 0

    def next(self) -> Token:
        if self.at >= len(self.sentence.tokens):
            raise self.error("the line ends too early")
        self.at += 1
        return self.sentence.tokens[self.at - 1]

    def peek(self, ahead: int = 0) -> str:
        tokens = self.sentence.tokens
        return tokens[self.at + ahead].text if self.at + ahead < len(tokens) else ""

    def accept(self, text: str) -> bool:
        found = self.peek() == text
        self.at += found
        return found

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.error(f"expected {text!r}, found {self.peek()!r}")

    def name(self) -> str:
        token = self.next()
        if token.kind not in {"name", "quoted"}:
            raise self.error(f"expected a name, found {token.text!r}")
        return unquoted(token.text)

    # Blocks and ops.

    def block(self, depth: int) -> tuple[str, Block]:
        """Read a header, its ops and `return`; return the attribute that holds the block, and the block."""
        self.open()
        name = attribute = self.name()
        if self.accept("="):
            name = self.name()
        scope: dict[str, Var] = {}
        self.scopes.append(scope)
        params = self.params()
        if self.accept("with"):
            self.captures(scope)
        self.expect(":")
        ops: list[Op] = []
        while self.position < len(self.sentences) and self.sentences[self.position].depth > depth:
            self.open()
            if self.accept("return"):
                results = self.results()
                self.scopes.pop()
                return attribute, Block(name, tuple(params), tuple(ops), results)
            ops.append(self.op())
        raise self.error(f"{name} has no `return`")

    def params(self) -> list[Var]:
        self.expect("(")
        params: list[Var] = []
        while not self.accept(")"):
            params.append(self.declare(self.scopes[-1]))
            if not self.accept(","):
                self.expect(")")
                break
        return params

    def captures(self, scope: dict[str, Var]) -> None:
        while True:
            var = self.declare(scope)
            scope[var.hint] = self.free.get(var.hint, var)
            if not self.accept(","):
                return

    def declare(self, scope: dict[str, Var]) -> Var:
        """Read `name: type`, and define a new Var in the scope."""
        name = self.name()
        self.expect(":")
        var = scope[name] = Var(self.type(), name)
        return var

    def results(self) -> tuple[Value, ...]:
        results: list[Value] = []
        while self.at < len(self.sentence.tokens):
            value = self.value(())
            if value is None:
                raise self.error("None is no result")
            results.append(value)
            if not self.accept(","):
                break
        return tuple(results)

    def op(self) -> Op:
        depth = self.sentence.depth
        declared: dict[str, Var] = {}
        outputs: list[Var] = []
        while self.peek(1) == ":":
            outputs.append(self.declare(declared))
            if not self.accept(","):
                self.expect("=")
                break
        kind = unquoted(self.next().text)
        inputs, attributes = self.arguments()
        if self.at < len(self.sentence.tokens):
            raise self.error(f"{self.peek()!r} after the op")
        while self.position < len(self.sentences) and self.sentences[self.position].depth > depth:
            name, block = self.block(self.sentences[self.position].depth)
            attributes[name] = block
        self.scopes[-1].update(declared)
        return Op(kind, tuple(inputs), tuple(outputs), attributes)

    def arguments(self) -> tuple[list[Value | None], dict[str, Attribute]]:
        self.expect("(")
        waiting: list[Token | Value | None] = []
        attributes: dict[str, Attribute] = {}
        while not self.accept(")"):
            if self.peek(1) == "=":
                name = self.name()
                self.expect("=")
                attributes[name] = self.attribute(name)
            else:
                waiting.append(self.input())
            if not self.accept(","):
                self.expect(")")
                break
        variables = [v for v in waiting if isinstance(v, Var)]
        inputs = [self.number(v, variables) if isinstance(v, Token) else v for v in waiting]
        return inputs, attributes

    # Values.

    def input(self) -> Token | Value | None:
        """Read an input of an op; a bare number stays a token until the op's variables are known."""
        token = self.sentence.tokens[self.at] if self.at < len(self.sentence.tokens) else None
        if token is not None and (token.kind == "number" or token.text in {"True", "False"}):
            return self.next()
        return self.value(())

    def value(self, variables: Sequence[Var]) -> Value | None:
        token = self.next()
        if token.text == "[":
            self.at -= 1
            return Const(np.array(self.attribute(""), dtype=np.int64))
        if token.kind == "number":
            return self.number(token, variables)
        if token.text == "None":
            return None
        if token.kind == "name" and (self.peek() in {"(", "["} or self.peek().startswith("@")):
            self.at -= 1
            return self.constant()
        return self.variable(unquoted(token.text))

    def variable(self, name: str) -> Var:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        raise self.error(f"{name!r} is not defined here")

    def number(self, token: Token, variables: Sequence[Var]) -> Const:
        """Return a bare number, in the dtype of the first of these Vars that holds numbers of its kind."""
        text = token.text
        if text in {"True", "False"}:
            return Const(np.array(text == "True"))
        is_integer = text.lstrip("-").isdigit()
        kinds = "iu" if is_integer else "fV"
        dtype = next((v.type.dtype for v in variables if v.type.dtype.kind in kinds), None)
        if dtype is None and not is_integer:
            raise self.error(f"which dtype {text} has does not follow from the op's variables")
        return Const(elements([text], np.dtype(np.int64) if dtype is None else dtype).reshape(()))

    def constant(self) -> Const:
        """Read `type(elements)` or `type@digest`."""
        array = self.array()
        return Const(array)

    def array(self) -> AnyArray:
        first = self.peek()
        declared = self.type()
        shape = tuple(d for d in declared.shape or () if isinstance(d, int))
        if self.peek().startswith("@"):
            return self.long_array(declared, shape)
        self.expect("(")
        words: list[str] = []
        while not self.accept(")"):
            words.append(self.next().text)
            if not self.accept(","):
                self.expect(")")
                break
        count = int(np.prod(shape, dtype=np.int64))
        if len(words) not in {count, min(count, 1)}:
            raise self.error(f"{len(words)} elements for {first}{list(shape)}")
        flat = elements(words, declared.dtype)
        return flat.reshape(shape) if flat.size == count else np.full(shape, flat[0], declared.dtype)

    def long_array(self, declared: Type, shape: tuple[int, ...]) -> AnyArray:
        digest = self.peek()
        array = self.held()
        if not isinstance(array, np.ndarray) or array.dtype != declared.dtype or array.shape != shape:
            raise self.error(f"the constant {digest} is no {declared}")
        return array

    def attribute(self, name: str) -> Attribute:
        """Read the value of an attribute."""
        token = self.next()
        if token.text in OPENING and token.kind == "mark":
            closing = CLOSING[OPENING.index(token.text)]
            items = []
            while not self.accept(closing):
                items.append(self.attribute(""))
                if not self.accept(","):
                    self.expect(closing)
                    break
            return items if closing == "]" else tuple(items)
        if token.kind == "number":
            return int(token.text) if token.text.lstrip("-").isdigit() else float(token.text)
        if token.kind == "string":
            return ast.literal_eval(token.text)
        if token.text in {"True", "False", "None"}:
            return {"True": True, "False": False, "None": None}[token.text]
        if self.peek() in {"(", "["}:
            self.at -= 1
            return self.array()
        if token.text in self.given:
            return self.given[token.text]
        if name in {"to", "dtype"}:
            return int(onnx.helper.np_dtype_to_tensor_dtype(self.dtype(token.text)))
        raise self.error(f"an attribute cannot be {token.text!r}: no object of that name was given")

    def held(self) -> Any:
        """Read `@digest`, and return the array that it stands for."""
        digest = self.next().text[1:]
        if digest not in self.given:
            raise self.error(f"no constant @{digest} was given")
        return self.given[digest]

    # Types.

    def type(self) -> Type:
        """Read `dtype[sizes]`."""
        first = self.next()
        if self.peek() != "[":
            return self.typed(first.text, None)
        self.expect("[")
        start, depth = self.sentence.tokens[self.at - 1].end, 1
        while depth:
            token = self.next()
            depth += (token.text in OPENING) - (token.text in CLOSING) if token.kind == "mark" else 0
        return self.typed(first.text, self.text[start : self.sentence.tokens[self.at - 1].start])

    def typed(self, dtype: str, sizes: str | None) -> Type:
        key = f"{dtype}[{sizes}"
        known = self.types.get(key)
        if known is None:
            shape = [] if sizes is None else None if sizes == "..." else list(map(read_dim, split_sizes(sizes)))
            known = self.types[key] = Type(self.dtype(dtype), shape)
        return known

    def dtype(self, name: str) -> np.dtype[Any]:
        try:
            return np.dtype(name)
        except TypeError:
            raise self.error(f"{name!r} is no dtype") from None

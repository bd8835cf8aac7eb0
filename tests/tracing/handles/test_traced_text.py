"""The text of a traced value may be printed, logged or raised; nothing is decided by it."""

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import NumberAsked

X = np.array([0.3, 1.2, 2.0])


def remembered_by_text(x: Any) -> Any:
    known: dict[str, Any] = {}
    for v in x:
        if str(v) not in known:
            known[str(v)] = v * v
    return sum(known[str(v)] for v in x)


def matched(x: Any) -> Any:
    match f"v{x[0]}":
        case "v0.3":
            return x
    return 2 * x


def rounded_by_text(x: Any) -> Any:
    digits = f"{x[0]:.2f}"
    return float(digits) * x


def with_a_unit(x: Any) -> Any:
    return x * {"0.3 m": 2.0}.get(str(x[0]) + " m", 1.0)


def message_of(x: Any) -> str:
    message = f"about {x[0]:.1f}"
    return message  # noqa: RET504  # what is tested


def chosen_by_name(x: Any) -> Any:
    message = f"about {x[0]:.1f}"
    print(message if message != "about 0.3" else "")
    return x


DECIDING: dict[str, Callable[[Any], Any]] = {
    "str ==": lambda x: 2 * x if str(x[0]) == "0.3" else x,
    "repr ==": lambda x: 2 * x if repr(x) == "array([0.3, 1.2, 2. ])" else x,
    "f-string ==": lambda x: 2 * x if f"{x[0]}" == "0.3" else x,
    "longer f-string ==": lambda x: 2 * x if f"v{x[0]}" == "v0.3" else x,
    "format ==": lambda x: 2 * x if "{}".format(x[0]) != "0.3" else x,  # noqa: UP032  # what is tested
    "%s ==": lambda x: 2 * x if "v%s" % x[0] == "v0.3" else x,  # noqa: UP031  # what is tested
    "in": lambda x: 2 * x if "0.3" in str(x) else x,
    "in a list": lambda x: 2 * x if str(x[0]) in ["0.3", "0.4"] else x,
    "startswith": lambda x: 2 * x if str(x[0]).startswith("-") else x,
    "len": lambda x: x * len(str(x[0])),
    "key": lambda x: x * {"0.3": 2.0}[f"{x[0]}"],
    "longer key": lambda x: x * {"v0.3": 2.0}[f"v{x[0]}"],
    "float": lambda x: x * float(str(x[0])),
    "int": lambda x: x * int(repr(x[0])),
    "% of digits": lambda x: 2 * x if "v%.1f" % x[0] == "v0.3" else x,  # noqa: UP031  # what is tested
    "digits": lambda x: x * (f"about {x[0]:.1f}" == "about 0.3"),
    "complex": lambda x: x * (str(x[0] * 1j) == "0.3j"),
    "returned by name": lambda x: x * (message_of(x) == "about 0.3"), "chosen by name": chosen_by_name,
    "remembered": remembered_by_text, "matched": matched, "rounded": rounded_by_text, "with a unit": with_a_unit,
}  # fmt: skip


@pytest.mark.parametrize("name", DECIDING)
def test_what_is_decided_by_the_text_of_a_traced_value_is_refused(name: str) -> None:
    with pytest.raises(NumberAsked) as caught:
        ps.trace(DECIDING[name], X)
    told = str(caught.value)
    assert "test_traced_text.py" in told
    assert len(told.splitlines()) < 10


def test_texts_are_printed_and_logged(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    def shown(x: Any) -> Any:
        print(x, f"first {x[0]:.3f} of {x}")
        print(f"{x.mean():8.2e}")
        logging.getLogger("texts").warning(f"mean {x.mean():.2f}")
        return 2 * x

    np.testing.assert_array_equal(ps.trace(shown, X)(X), 2 * X)
    printed = capsys.readouterr().out
    assert printed.startswith("Array(float64[3] #1) first Array(float64 #0) of Array(float64[3] #1)\n")
    assert "mean Array(float64" in caplog.text


def test_a_text_with_digits_is_the_message_of_an_error() -> None:
    def checked(x: Any) -> Any:
        if x[0] < 0:
            raise ValueError(f"negative: {x[0]:.2f}")
        message = f"too small: {x[1]:.3e}" + "!"
        if not x[1] > 1:
            raise ValueError(message)
        if x[2] > 9:
            raise ValueError("too large: %.3e" % x[2])  # noqa: UP031  # what is tested
        return np.sqrt(x)

    program = ps.trace(checked, X)
    np.testing.assert_allclose(program(X), np.sqrt(X), rtol=1e-12)
    with pytest.raises(ps.PrimsplitError, match="negative: "):
        program(-X)
    with pytest.raises(ps.PrimsplitError, match="too small: "):
        program(X / 2)
    with pytest.raises(ps.PrimsplitError, match="too large: nan"):
        program(X * 6)


def test_texts_of_two_values_differ_and_those_of_one_value_do_not() -> None:
    texts: list[str] = []

    def shown(x: Any) -> Any:
        y = x * 2
        texts.extend([f"a {x}", f"a {x}", f"a {y}"])
        y[0] = x[1]
        texts.append(f"a {y}")
        return y

    ps.trace(shown, X)
    assert texts[0] == texts[1]
    assert len(set(texts)) == 3


def test_the_text_of_a_known_number_is_numpys() -> None:
    def counted(x: Any) -> Any:
        table = np.zeros(2)
        table[1] = 0.5
        assert f"{table[0]:.1f} {table[1]}" == "0.0 0.5"
        factor = {"0.5": 2.0}[str(table[1])]
        table[0] = x[0]
        return table * factor

    np.testing.assert_array_equal(ps.trace(counted, X)(X), [0.6, 1.0])

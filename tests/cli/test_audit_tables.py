"""The parts of an audit as tables."""

import pytest

from primsplit.cli.audit_tables import show_frozen, show_rules


def test_frozen_values_have_their_line_and_digest(capsys: pytest.CaptureFixture[str]) -> None:
    told = {
        "name": "noise",
        "type": "float64[2]",
        "origin": "draw",
        "bytes": 16,
        "value": "[0.5, 1.0]",
        "digest": "abc",
    }
    show_frozen([{**told, "file": "/folder/model.py", "line": 7, "source": "x + noise"}])
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.split() == [
        "noise",
        "float64[2]",
        "draw",
        "16",
        "B",
        "[0.5,",
        "1.0]",
        "abc",
        "model.py:7",
        "x",
        "+",
        "noise",
    ]
    show_frozen([])
    assert "none" in capsys.readouterr().out


def test_rules_that_made_no_node_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    show_rules([], [{"rule": "soft", "of": "primitive", "where": "model.py:9"}], json=False)
    assert "soft" in capsys.readouterr().out

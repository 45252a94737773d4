"""`factoid split`."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import PISA, VASA


@pytest.mark.parametrize(
    ("granularity", "count"), [("passage", 3), ("sentence", 6), ("proposition", 6)]
)
def test_split_prints_units_with_spans(run, docs, granularity, count):
    code, out, err = run(
        "split", docs, *([] if granularity == "proposition" else ["--granularity", granularity])
    )
    units = [json.loads(line) for line in out.splitlines()]
    assert (code, len(units)) == (0, count)
    assert ("3 passages → 6 propositions" in err) if granularity == "proposition" else err == ""
    for unit in units:
        assert unit["granularity"] == granularity
        source = {"Vasa": VASA, "Leaning Tower of Pisa": PISA}[unit["title"]][
            unit["start"] : unit["end"]
        ]
        assert source in unit["text"] if granularity == "proposition" else source == unit["text"]
    assert {unit["section"] for unit in units} == {"", "History"}


def test_split_writes_utf8(run, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Große Übung 日本.", encoding="utf-8")
    assert "Große Übung 日本." in run("split", path)[1]


def test_split_refuses_passages_without_words(fails, docs):
    assert "--words must be at least 1, got 0" in fails("split", docs, "--words", "0")

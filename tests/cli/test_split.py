"""`factoid split`."""

from __future__ import annotations

import json

import pytest

from factoid.units import Granularity


@pytest.mark.parametrize(("granularity", "count"), [("passage", 3), ("sentence", 6), ("proposition", 6)])
def test_split_prints_units_with_spans(run, docs, texts, granularity, count):
    code, out, err = run("split", docs, "--granularity", granularity)
    units = [json.loads(line) for line in out.splitlines()]
    assert (code, len(units)) == (0, count)
    assert ("3 passages → 6 propositions" in err) if granularity == "proposition" else err == ""
    for unit in units:
        assert unit["granularity"] == granularity
        source = texts[unit["title"]][unit["start"] : unit["end"]]
        assert source in unit["text"] if granularity == "proposition" else source == unit["text"]
    assert {unit["section"] for unit in units} == {"", "History"}
    assert set(units[0]) >= {"id", "parent_id", "document_id"}


def test_split_defaults_to_propositions_and_writes_utf8(run, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Große Übung 日本.", encoding="utf-8")
    _, out, _ = run("split", path)
    assert "Große Übung 日本." in out
    assert json.loads(out)["granularity"] == Granularity.PROPOSITION


@pytest.mark.parametrize("words", ["0", "-3"])
def test_split_refuses_passages_without_words(fails, docs, words):
    assert f"--words must be at least 1, got {words}" in fails("split", docs, "--words", words)

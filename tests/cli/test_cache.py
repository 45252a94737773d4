"""`factoid split` and `factoid index` with propositions that are kept."""

from __future__ import annotations

import json

import pytest

from factoid.propositions import NoPropositions
from tests.propositions.passages import Batching, passages


@pytest.fixture
def inner(monkeypatch):
    inner = Batching()
    monkeypatch.setattr("factoid.propositions.FlanT5Propositionizer", lambda **_options: inner)
    return inner


@pytest.fixture
def corpus(tmp_path):
    """Write so many documents, one on a line."""

    def corpus(count):
        path = tmp_path / "towns.jsonl"
        lines = (json.dumps({"id": unit.id, "text": unit.text}) for unit in passages(count))
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return corpus


FLAN = ("--propositionizer", "flan-t5")


def test_index_and_split_share_a_cache(run, report, corpus, inner, tmp_path):
    cache = ("--cache", tmp_path / "cache")
    run("split", corpus(100), *FLAN, *cache)
    _, out, err = run("split", corpus(101), *FLAN, *cache)
    assert len(out.splitlines()) == 202
    assert err.startswith(
        "101 passages (100 from the cache) → 202 propositions; 0 passages fell back"
    )
    indexed = report("index", corpus(101), "--store", tmp_path / "s", *FLAN, *cache)
    assert (indexed["decomposition"]["cached"], len(inner.asked)) == (101, 101)


def test_split_that_is_interrupted_goes_on_where_it_was(run, corpus, inner, tmp_path, monkeypatch):
    def script(unit):
        if unit.text.startswith("Town 150 "):
            raise KeyboardInterrupt
        return [unit.text]

    command = ("split", corpus(200), *FLAN, "--cache", tmp_path / "cache")
    monkeypatch.setattr(inner, "_script", script)
    code, out, err = run(*command)
    assert (code, len(out.splitlines()), err) == (130, 128, "factoid: interrupted\n")
    monkeypatch.setattr(inner, "_script", lambda unit: [unit.text])
    inner.calls.clear()
    code, out, _ = run(*command)
    assert (code, len(out.splitlines())) == (0, 200)
    assert (
        50 <= len(inner.asked) <= 100
    )  # a batch or two are asked for again, not what was done before
    assert inner.asked == [unit.text for unit in passages(200)[-len(inner.asked) :]]


def test_failures_are_retried_where_that_is_wanted(
    run, report, corpus, inner, tmp_path, monkeypatch
):
    split = ("split", corpus(3), *FLAN, "--cache", tmp_path / "cache")
    index = ("index", corpus(3), *FLAN, "--cache", tmp_path / "cache", "--store", tmp_path / "s")
    without_cache = ("index", corpus(3), *FLAN, "--store", tmp_path / "t")
    monkeypatch.setattr(inner, "_script", lambda unit: NoPropositions("refusal"))
    for command in (split, index, without_cache):
        run(*command)
    assert "3 passages fell back to sentences (3 refusal)" in run(*split)[2]
    monkeypatch.setattr(inner, "_script", lambda unit: [unit.text])
    assert report(*index)["unchanged"] == report(*without_cache)["unchanged"] == 3
    assert len(inner.asked) == 6
    assert "0 passages fell back" in run(*split, "--retry-failed")[2]
    for command in (index, without_cache):
        indexed = report(*command, "--retry-failed")
        assert (indexed["documents"], indexed["decomposition"]["failures"]) == (3, {})


def test_wrong_usage(fails, corpus, tmp_path):
    assert "--retry-failed needs --cache" in fails("split", corpus(1), "--retry-failed")
    assert "cannot be read as a cache" in fails("split", corpus(30), "--cache", corpus(30))

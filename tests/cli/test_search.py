"""`factoid search`."""

from __future__ import annotations

import io
import json
import re

import pytest

from factoid.testing import HashEncoder

YEAR = "Building began in which year?"


def test_search_shows_passages_with_the_facts_in_them(run, store, monkeypatch):
    code, out, err = run("search", store, YEAR, "-k", "2")
    assert (code, err) == (0, "")
    first, second = out.split("\n\n")
    assert "Leaning Tower of Pisa › History" in first
    assert re.search(r"»Building began in 1173(«\.|\.«) The tower leaned by 1178\.", first)
    assert re.search(r"• \d\.\d{3}  Building began in 1173\.", first)
    assert "pisa.md" in first
    assert second
    assert all(len(line) <= 100 for line in out.splitlines() if "pisa.md" not in line)
    monkeypatch.setattr("factoid.cli.search.wants_color", lambda _stream: True)
    _, out, _ = run("search", store, YEAR, "-k", "1")
    assert "\x1b[1;33mBuilding began" in out
    assert "»" not in out


def test_search_prints_json_and_a_context_within_a_budget(run, report, store):
    found = report("search", store, "Did the Vasa sink?", "-k", "1", "--words", "5")
    (hit,) = found["hits"]
    assert (hit["unit"]["title"], hit["matches"][0]["unit"]["text"]) == (
        "Vasa",
        "The Vasa sank in 1628.",
    )
    assert hit["matches"][0]["score"] == pytest.approx(hit["parts"]["proposition"])
    assert found["context"] == "The Vasa sank in 1628."  # which says the title itself
    _, out, _ = run("search", store, "the Vasa sank", "--words", "7", "--granularity", "sentence")
    assert len(out.split()) == 7
    assert out.startswith("The Vasa sank in 1628.\n")


def test_search_answers_each_line_of_standard_input(run, store, monkeypatch):
    monkeypatch.setattr(
        "sys.stdin", io.StringIO("Did the Vasa sink?\n\n Building began in which year? ")
    )
    _, out, err = run("search", store, "-", "-k", "1", "--json")
    answers = [json.loads(line) for line in out.splitlines()]
    assert [answer["question"] for answer in answers] == ["Did the Vasa sink?", YEAR]
    assert [answer["hits"][0]["unit"]["title"] for answer in answers] == [
        "Vasa",
        "Leaning Tower of Pisa",
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("Did the Vasa sink?"))
    _, out, err = run("search", store, "-", "-k", "1")
    assert out.startswith("? Did the Vasa sink?\n  1  ")
    assert not err


def test_search_can_be_filtered(run, report, store, docs):
    condition = json.dumps({"source": (docs / "vasa.md").as_posix()})
    found = report("search", store, YEAR, "--filter", condition, "--words", "9")
    assert {hit["unit"]["title"] for hit in found["hits"]} == {"Vasa"}
    assert "1173" not in found["context"]
    code, out, err = run("search", store, "Vasa", "--filter", '{"source": "absent"}')
    assert (code, out) == (0, "")
    assert "nothing found" in err


def test_search_explains_scores(run, store):
    _, out, _ = run("search", store, YEAR, "-k", "1", "--explain")
    assert re.search(r"proposition \d\.\d{3}  passage \d\.\d{3}  lexical \d\.\d{3}", out)


def test_search_ranks_again_by_tokens(run, store):
    _, out, _ = run("search", store, YEAR, "-k", "2", "--explain", "--rerank", "tokens")
    assert re.search(r"lexical \d\.\d{3}  tokens \d\.\d{3}", out)


def test_search_says_which_encoder_a_store_wants(fails, store, monkeypatch):
    monkeypatch.setattr("factoid.encode.SentenceTransformerEncoder", lambda _name: HashEncoder(7))
    assert re.search(
        r"HashEncoder\(256\).*HashEncoder\(7\).*with --encoder", fails("search", store, "Vasa")
    )


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["  "], "the question is empty"),
        (["caf\udce9"], "lone surrogate"),
        (["Vasa", "-k", "0"], "k must be at least 1, got 0"),
        (["Vasa", "--words", "0"], "words must be at least 1"),
        (["Vasa", "--filter", "lang=en"], "--filter must be JSON"),
        (["Vasa", "--rerank", "absent"], "cannot load the late-interaction model 'absent'"),
    ],
)
def test_search_checks_its_options(fails, store, argv, problem):
    assert problem in fails("search", store, *argv)


def test_a_document_cannot_steer_the_terminal(run, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(
        json.dumps({"text": "The Vasa \x1b[31m sank.", "title": "Va\x07sa", "source": "a\x1bb"})
    )
    run("index", path, "--store", tmp_path / "s")
    _, out, _ = run("search", tmp_path / "s", "Vasa")
    assert "sank" in out
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", out)

"""`factoid search`."""

from __future__ import annotations

import json
import re

import pytest

from factoid.testing import HashEncoder


def test_search_shows_passages_with_the_facts_in_them(run, store):
    code, out, err = run("search", store, "Building began in which year?", "-k", "2")
    assert (code, err) == (0, "")
    first, second = out.split("\n\n")
    assert "Leaning Tower of Pisa › History" in first
    assert re.search(r"»Building began in 1173(«\.|\.«) The tower leaned by 1178\.", first)
    assert re.search(r"• \d\.\d{3}  Building began in 1173\.", first)
    assert "pisa.md" in first
    assert second
    assert all(len(line) <= 100 for line in out.splitlines() if "pisa.md" not in line)


def test_search_marks_with_colour_on_a_terminal_that_wants_it(run, store, monkeypatch):
    monkeypatch.setattr("factoid.cli.search.wants_color", lambda _stream: True)
    _, out, _ = run("search", store, "Building began in which year?", "-k", "1")
    assert "\x1b[1;33mBuilding began" in out
    assert "»" not in out


def test_a_document_cannot_steer_the_terminal(run, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "The Vasa \x1b[31m sank.", "title": "Va\x07sa", "source": "a\x1bb"}))
    run("index", path, "--store", tmp_path / "s")
    _, out, _ = run("search", tmp_path / "s", "Vasa")
    assert "sank" in out
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", out)


def test_search_prints_json(run, store):
    code, out, _ = run("search", store, "Did the Vasa sink?", "-k", "1", "--json", "--words", "6")
    found = json.loads(out)
    assert code == 0
    assert found["granularity"] == "proposition"
    (hit,) = found["hits"]
    assert hit["unit"]["title"] == "Vasa"
    assert hit["matches"][0]["unit"]["text"] == "The Vasa sank in 1628."
    assert hit["matches"][0]["score"] == pytest.approx(hit["parts"]["proposition"])
    assert found["context"] == "Vasa: The Vasa sank in 1628."


def test_search_prints_a_context_within_a_budget(run, fails, store):
    _, out, _ = run("search", store, "the Vasa sank", "--words", "7", "--granularity", "sentence")
    assert len(out.split()) == 7
    assert out.startswith("Vasa: The Vasa sank in 1628.\n")
    assert "words must be at least 1" in fails("search", store, "Vasa", "--words", "0")


def test_search_can_be_filtered(run, fails, store, docs):
    condition = json.dumps({"source": (docs / "vasa.md").as_posix()})
    code, out, _ = run(
        "search", store, "Building began in which year?", "--filter", condition, "--json", "--words", "9"
    )
    found = json.loads(out)
    assert code == 0
    assert {hit["unit"]["title"] for hit in found["hits"]} == {"Vasa"}
    assert "1173" not in found["context"]
    assert "--filter must be JSON" in fails("search", store, "Vasa", "--filter", "lang=en")


def test_search_says_that_it_found_nothing_and_explains_what_it_found(run, store):
    code, out, err = run("search", store, "Vasa", "--filter", '{"source": "absent"}')
    assert (code, out) == (0, "")
    assert "nothing found" in err
    pytest.importorskip("tantivy", reason="needs factoid[lexical]")
    _, out, _ = run("search", store, "Building began in which year?", "-k", "1", "--explain")
    assert re.search(r"proposition \d\.\d{3}  passage \d\.\d{3}  lexical 1\.000", out)


def test_search_does_not_make_a_store(fails, tmp_path):
    for path in (tmp_path / "absent", tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        assert "there is no store at" in fails("search", path, "Vasa")
    assert not (tmp_path / "absent").exists()
    assert not list((tmp_path / "empty").iterdir())


def test_search_says_which_encoder_a_store_wants(fails, store, monkeypatch):
    monkeypatch.setattr("factoid.encode.SentenceTransformerEncoder", lambda _name: HashEncoder(7))
    assert re.search(r"HashEncoder\(256\).*HashEncoder\(7\).*--encoder", fails("search", store, "Vasa"))


def test_search_checks_k_and_the_question(run, fails, store):
    assert "k must be at least 1, got 0" in fails("search", store, "Vasa", "-k", "0")
    assert "the question is empty" in fails("search", store, "  ")
    assert "lone surrogate" in fails("search", store, "caf\udce9")
    code, out, _ = run("search", store, "Vasa", "-k", "1000", "--json")
    assert (code, len(json.loads(out)["hits"])) == (0, 3)


def hits(run, store, question, *options):
    code, out, err = run("search", store, question, *options, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)["hits"]


def test_search_mixes_granularities(run, store):
    found = hits(run, store, "Building began in which year?", "--granularity", "mixed", "-k", "3")
    matches = [(match["unit"]["granularity"], match["unit"]["text"]) for match in found[0]["matches"]]
    assert {kind for kind, _ in matches} == {"passage", "sentence"}
    assert len({text for _, text in matches}) == len(matches)  # its propositions say the same as its sentences
    assert found[0]["parts"].keys() == {"passage", "sentence", "proposition", "lexical"}
    assert "• " in run("search", store, "Building began", "--granularity", "mixed")[1]


def test_search_shows_what_stands_around_a_fact(run, store):
    question = ("The tower leaned", "-k", "1", "--expand", "1")
    (hit,) = hits(run, store, *question)
    texts = [unit["text"] for unit in hit["matches"][0]["neighbours"]]
    assert texts == ["Building began in 1173.", "The tower leaned by 1178."]
    assert re.search(
        r"^ +in  Building began in 1173\. The tower leaned by 1178\.$", run("search", store, *question)[1], re.M
    )
    assert "• " not in run("search", store, *question, "--granularity", "passage")[1]
    (passage,) = hits(run, store, *question, "--granularity", "passage")
    assert [unit["granularity"] for unit in passage["neighbours"]] == ["passage", "passage"]


def test_search_has_thresholds_and_diversity(run, fails, store):
    question = "The Vasa sank in 1628."
    every = hits(run, store, question)
    assert len(every) == 3
    best = hits(run, store, question, "--min-score", "0.7")
    assert [hit["unit"]["id"] for hit in best] == [every[0]["unit"]["id"]]
    assert [hit["unit"]["id"] for hit in hits(run, store, question, "--mmr", "1")] == [
        hit["unit"]["id"] for hit in every
    ]
    assert "mmr must be from 0" in fails("search", store, "Vasa", "--mmr", "2")
    assert "expand must be at least 0" in fails("search", store, "Vasa", "--expand", "-1")


def test_search_tells_an_approximate_index_how_wide_to_search(run, fails, docs, tmp_path):
    path = tmp_path / "graph"
    run("index", docs, "--store", path, "--index", "HNSW32")
    assert hits(run, path, "Vasa", "--parameters", '{"efSearch": 9}', "-k", "1")[0]["unit"]["title"] == "Vasa"
    assert "no search parameter 'nprobe'" in fails("search", path, "Vasa", "--parameters", '{"nprobe": 9}')
    assert "--parameters must be a JSON object of names" in fails("search", path, "Vasa", "--parameters", "9")
    assert "refine must be at least 1" in fails("search", path, "Vasa", "--refine", "0")

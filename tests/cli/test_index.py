"""`factoid index`."""

from __future__ import annotations

import io
import json
import sys


def test_index_says_what_is_in_the_store_and_skips_what_it_knows(run, docs, tmp_path):
    code, out, err = run("index", docs, "--store", tmp_path / "s")
    assert (code, err) == (0, "")
    assert "2 documents indexed" in out
    assert "3 passages → 6 propositions" in out
    assert "now holds 3 passages, 6 sentences, 6 propositions" in out
    _, out, _ = run("index", docs, "--store", tmp_path / "s")
    assert "0 documents indexed" in out
    assert "2 unchanged" in out


def test_index_replaces_an_edited_file(run, docs, store):
    (docs / "vasa.md").write_text("# Vasa\n\nThe Vasa was raised in 1961.\n")
    _, out, _ = run("index", docs, "--store", store, "--json")
    counts = json.loads(out)
    assert (counts["documents"], counts["unchanged"]) == (1, 1)
    assert counts["total"] == {"passage": 3, "proposition": 5, "sentence": 5}
    _, out, _ = run("search", store, "In which year did the Vasa sink?")  # without ids, which may hold any digits
    assert "1961" in out
    assert "1628" not in out


def test_index_takes_some_granularities(run, fails, docs, tmp_path):
    _, out, _ = run("index", docs, "--store", tmp_path / "s", "--granularities", "passage,sentence", "--json")
    assert json.loads(out)["total"] == {"passage": 3, "sentence": 6}
    assert "holds no propositions. It holds 3 passages, 6 sentences" in fails(
        "search", tmp_path / "s", "Vasa", "--granularity", "proposition"
    )
    found = [run("search", tmp_path / "s", "Vasa", *options) for options in ([], ["--granularity", "sentence"])]
    assert found[0] == found[1]
    assert (found[0][0], found[0][1].count("vasa.md")) == (0, 1)


def test_index_needs_files_that_are_there(fails, docs, tmp_path):
    assert "absent.md does not exist" in fails("index", docs, tmp_path / "absent.md", "--store", tmp_path / "s")
    assert not (tmp_path / "s").exists(), "nothing was read, so nothing is made"


def test_index_leaves_out_what_cannot_be_read_and_says_so(run, docs, tmp_path):
    (docs / "a-photo.txt").write_bytes(b"\x89PNG\x00\xff")
    (docs / "notes.jsonl").write_text('{"text": "Anna sang."}\nno JSON\n{"text": "Bob slept."}\n', encoding="utf-8")
    code, out, err = run("index", docs, "--store", tmp_path / "s")
    assert code == 1
    assert "3 documents indexed" in out  # two files, and the line before the bad one
    assert err.startswith("factoid: error: 2 files left out, the others are indexed: ")
    assert "a-photo.txt is a binary file" in err
    assert "notes.jsonl" in err


def test_index_refuses_a_folder_that_is_no_store(fails, docs):
    assert "it is not a store" in fails("index", docs, "--store", docs)


def test_index_sets_kinds_and_similarity(run, fails, docs, tmp_path):
    path = tmp_path / "s"
    kinds = ["--index", "SQ8", "--index", "proposition=HNSW32"]
    assert run("index", docs, "--store", path, *kinds, "--similarity", "cosine")[0] == 0
    stats = json.loads(run("store", "stats", path, "--json")[1])
    assert stats["kinds"] == {"passage": "SQ8", "sentence": "SQ8", "proposition": "HNSW32"}
    assert stats["similarity"] == "cosine"
    assert run("index", docs, "--store", path, "--index", "passage=auto")[0] == 0
    stats = json.loads(run("store", "stats", path, "--json")[1])
    assert stats["kinds"] == {"passage": "auto", "sentence": "SQ8", "proposition": "HNSW32"}
    assert stats["similarity"] == "cosine"
    assert "no FAISS factory string" in fails("index", docs, "--store", path, "--index", "Sphere")
    assert "unknown granularity" in fails("index", docs, "--store", path, "--index", "fact=Flat")


def test_index_embeds_what_the_template_says(run, fails, docs, tmp_path):
    run("index", docs, "--store", tmp_path / "s", "--embed-template", "{text}")
    _, out, _ = run("store", "stats", tmp_path / "s")
    assert "embedded text       {text}" in out
    _, out, _ = run("index", docs, "--store", tmp_path / "s")
    assert "2 unchanged" in out
    assert "encoded as '{text}'" in fails(
        "index", docs, "--store", tmp_path / "s", "--embed-template", "{title}: {text}"
    )
    assert "{text} once" in fails("index", docs, "--store", tmp_path / "t", "--embed-template", "{title}")


def sources(run, store, *options):
    code, out, _ = run("search", store, "Vasa", "-k", "100", "--granularity", "passage", "--json", *options)
    assert code == 0
    return sorted(hit["unit"]["metadata"]["source"].rsplit("/")[-1] for hit in json.loads(out)["hits"])


def test_sync_removes_what_was_deleted_renamed_or_taken_out(run, docs, tmp_path):
    (docs / "facts.jsonl").write_text('{"text": "Anna sang."}\n{"text": "Bob slept."}\n')
    other = tmp_path / "other"
    other.mkdir()
    (other / "gone.md").write_text("Not indexed from the same place.")
    index = ("index", docs, "--store", tmp_path / "s")
    for folder in (docs, other):
        run("index", folder, "--store", tmp_path / "s")
    (other / "gone.md").unlink()
    (docs / "vasa.md").rename(docs / "ship.md")
    (docs / "pisa.md").unlink()
    (docs / "facts.jsonl").write_text('{"text": "Bob slept."}\n')
    run(*index)  # nothing is removed unless that is asked for
    assert sources(run, tmp_path / "s") == [
        "facts.jsonl", "facts.jsonl", "gone.md", "pisa.md", "pisa.md", "ship.md", "vasa.md"
    ]  # fmt: skip
    code, out, _ = run(*index, "--sync")
    assert code == 0
    assert "3 documents removed" in out
    assert sources(run, tmp_path / "s") == ["facts.jsonl", "gone.md", "ship.md"]
    assert json.loads(run(*index, "--sync", "--json")[1])["removed"] == []


def test_sync_removes_nothing_that_is_there_but_cannot_be_read(run, fails, docs, tmp_path):
    (docs / "facts.jsonl").write_text('{"text": "Anna sang."}\n{"text": "Bob slept."}\n')
    index = ("index", docs, "--store", tmp_path / "s", "--sync")
    run(*index)
    before = sources(run, tmp_path / "s")
    (docs / "vasa.md").write_bytes(b"\x00\xff")
    (docs / "facts.jsonl").write_text('{"text": "Anna sang."}\nno JSON\n')
    assert run(*index)[0] == 1
    assert sources(run, tmp_path / "s") == before
    for file in docs.iterdir():
        file.unlink()
    assert "holds no file that can be read" in fails(*index)  # a disk that is not mounted must not empty a store
    assert sources(run, tmp_path / "s") == before


def test_index_reads_standard_input(run, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"# Vasa\n\nShe sank in 1628.\n")))
    assert run("index", "-", "--store", tmp_path / "s")[0] == 0
    assert "She sank in 1628." in run("search", tmp_path / "s", "When did she sink?")[1]


def test_a_file_that_needs_an_extra_says_so_and_costs_no_other(run, docs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "markitdown", None)
    (tmp_path / "page.html").write_text("<p>A page.</p>")
    code, out, err = run("index", docs, tmp_path / "page.html", "--store", tmp_path / "s")
    assert (code, out.startswith("2 documents indexed")) == (1, True)
    assert 'pip install "factoid[documents]"' in err


def test_index_says_what_is_embedded(run, docs, tmp_path, monkeypatch):
    _, out, err = run("index", docs, "--store", tmp_path / "a")
    assert "embedded 3 passages, 6 sentences, 6 propositions" in out
    assert err == ""
    monkeypatch.setattr("factoid.cli.index._LARGE", 100)
    for argv, numbers in (
        ([], "about 3 passages, 6 sentences, 6 propositions to embed"),
        (["--granularities", "sentence"], "about 6 sentences to embed"),
    ):
        _, out, err = run("index", docs, "--store", tmp_path / str(len(argv)), *argv)
        assert "factoid: 0.0 MB of text, " in err
        assert numbers in err
        assert "embedded 6 sentences\n" in out or not argv
    assert run("index", docs, "--store", tmp_path / "b", "--quiet")[2] == ""

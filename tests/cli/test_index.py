"""`factoid index`."""

from __future__ import annotations

import io
import json
import sys

from factoid import UnitStore


def test_index_says_what_is_in_the_store_and_skips_what_it_knows(run, report, docs, tmp_path):
    command = ("index", docs, "--store", tmp_path / "s")
    code, out, err = run(*command)
    assert (code, err) == (0, "")
    assert "2 documents indexed" in out
    assert "3 passages → 6 propositions" in out
    assert "embedded 3 passages, 6 propositions" in out
    assert "now holds 3 passages, 6 propositions" in out
    (docs / "vasa.md").write_text("# Vasa\n\nThe Vasa was raised in 1961.\n")
    counts = report(*command)
    assert (counts["documents"], counts["unchanged"]) == (1, 1)
    assert counts["total"] == {"passage": 3, "proposition": 5}


def test_index_takes_some_granularities(run, report, docs, tmp_path):
    total = report("index", docs, "--store", tmp_path / "s", "--granularities", "passage,sentence")[
        "total"
    ]
    assert total == {"passage": 3, "sentence": 6}
    search = ("search", tmp_path / "s", "Vasa")
    assert (
        run(*search, "--granularity", "proposition")[0] == 0
    )  # passages stand for the propositions that they lack
    assert run(*search) == run(*search, "--granularity", "sentence")


def test_index_needs_files_that_are_there(fails, docs, tmp_path):
    assert "absent.md does not exist" in fails(
        "index", docs, tmp_path / "absent.md", "--store", tmp_path / "s"
    )
    assert not (tmp_path / "s").exists(), "nothing was read, so nothing is made"


def test_index_leaves_out_what_cannot_be_read_and_says_so(run, docs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "markitdown", None)
    (tmp_path / "page.html").write_text("<p>A page.</p>")
    (docs / "a-photo.txt").write_bytes(b"\x89PNG\x00\xff")
    (docs / "notes.jsonl").write_text(
        '{"text": "Anna sang."}\nno JSON\n{"text": "Bob slept."}\n', encoding="utf-8"
    )
    code, out, err = run("index", docs, tmp_path / "page.html", "--store", tmp_path / "s")
    assert code == 1
    assert "3 documents indexed" in out  # two files, and the line before the bad one
    assert err.startswith("factoid: error: 3 files left out; the others are indexed: ")
    for problem in (
        "a-photo.txt is not text in UTF-8",
        "notes.jsonl",
        'pip install "factoid[documents]"',
    ):
        assert problem in err


def test_index_sets_kinds_similarity_and_template(run, report, fails, docs, tmp_path):
    path = tmp_path / "s"
    index = ("index", docs, "--store", path)
    assert (
        run(*index, "--index", "SQ8", "--similarity", "cosine", "--embed-template", "{text}")[0]
        == 0
    )
    stats = report("store", "stats", path)
    assert {*stats["kinds"].values()} == {"SQ8"}
    assert stats["similarity"] == "cosine"
    assert "embed_template: {text}" in run("store", "stats", path)[1]
    assert "not a FAISS factory string" in fails(*index, "--index", "Sphere")
    assert "the embed_template '{text}'" in fails(*index, "--embed-template", "{title}: {text}")
    assert "it is not a store" in fails("index", docs, "--store", docs)


def sources(store):
    with UnitStore(store, encoder=None) as opened:
        passages = [unit for unit in opened.get(opened.ids()) if unit.granularity == "passage"]
    return sorted(unit.metadata["source"].rsplit("/")[-1] for unit in passages)


def test_sync_removes_what_was_deleted_renamed_or_taken_out(run, report, docs, tmp_path):
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
    everything = [
        "facts.jsonl",
        "facts.jsonl",
        "gone.md",
        "pisa.md",
        "pisa.md",
        "ship.md",
        "vasa.md",
    ]
    assert sources(tmp_path / "s") == everything
    assert "3 documents removed" in run(*index, "--sync")[1]
    assert sources(tmp_path / "s") == ["facts.jsonl", "gone.md", "ship.md"]
    assert report(*index, "--sync")["removed"] == []


def test_sync_removes_nothing_that_is_there_but_cannot_be_read(run, fails, docs, tmp_path):
    (docs / "facts.jsonl").write_text('{"text": "Anna sang."}\n{"text": "Bob slept."}\n')
    index = ("index", docs, "--store", tmp_path / "s", "--sync")
    run(*index)
    before = sources(tmp_path / "s")
    (docs / "vasa.md").write_bytes(b"\x00\xff")
    (docs / "facts.jsonl").write_text('{"text": "Anna sang."}\nno JSON\n')
    assert run(*index)[0] == 1
    assert sources(tmp_path / "s") == before


def test_sync_removes_the_documents_of_a_folder_that_is_empty_now(run, fails, docs, tmp_path):
    index = ("index", docs, "--store", tmp_path / "s")
    run(*index)
    for file in docs.iterdir():
        file.unlink()
    assert "holds no file that can be read" in fails(*index)
    assert "holds no file that can be read" in fails(
        "index", docs, "--store", tmp_path / "new", "--sync"
    )
    code, out, _ = run(*index, "--sync")
    assert (code, sources(tmp_path / "s")) == (0, [])
    assert out.endswith(
        f"{tmp_path / 's'} now holds nothing\n2 documents removed that are no longer in the files\n"
    )


def test_index_reads_standard_input(run, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"# Vasa\n\nShe sank in 1628.\n")))
    assert run("index", "-", "--store", tmp_path / "s")[0] == 0
    assert "She sank in 1628." in run("search", tmp_path / "s", "When did she sink?")[1]


def test_index_embeds_metadata_that_tell_texts_apart(run, report, tmp_path):
    lines = [
        json.dumps({"text": "The warranty lasts 24 months.", "product": name})
        for name in ("Tern 40", "Heron 7")
    ]
    (tmp_path / "manuals.jsonl").write_text("\n".join(lines))
    report(
        "index",
        tmp_path / "manuals.jsonl",
        "--store",
        tmp_path / "s",
        "--embed-metadata",
        "product",
    )
    with UnitStore(tmp_path / "s", encoder=None, read_only=True) as store:
        assert store.embed_metadata == ("product",)
    found = report("search", tmp_path / "s", "warranty of the Heron 7", "-k", "1")["hits"][0][
        "unit"
    ]
    assert found["metadata"]["product"] == "Heron 7"

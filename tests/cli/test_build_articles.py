"""`factoid build-articles` and `factoid articles`."""

from __future__ import annotations

import json

import pytest

from factoid.entities import ArticleStore
from tests.entities.importers.dumps import dump, page
from tests.entities.importers.test_datasets import write_parquet

LINES = [
    {"title": "Sea", "text": "Salt water. " * 80, "aliases": ["Ocean", "Main"]},
    {"title": "Lake", "text": "Sweet water.", "aliases": ["Ocean"]},
    {"title": "Lake", "text": "Another."},
    {"title": "Void", "text": " "},
]


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path


def test_builds_reports_and_looks_up(tmp_path, lines, run, fails):
    store = tmp_path / "store"
    code, out, err = run("build-articles", store, lines, "--words", 5)
    assert code == 0
    assert out.splitlines()[:5] == [
        "articles: 2",
        "names: 5",
        "redirects: 0",
        "dangling: 0",
        "duplicates: 1",
    ]
    assert "{'duplicates': 1, 'empty': 1}" in err
    assert "\nwords: 5\n" in run("articles", store)[1]
    sea = "Sea\n\nSalt water. Salt\n\nMain → Sea (alias)\n"
    assert run("articles", store, "main", "--words", 3) == (0, sea, "")
    assert run("articles", store, "ocean")[1] == "Ocean → Sea (alias)\nOcean → Lake (alias)\n"
    assert "does not know the name 'river'" in fails("articles", store, "river")
    assert "there is no article store" in fails("articles", store.with_name("none"))
    assert "--words must be at least 1, got 0" in fails("articles", store, "main", "--words", 0)
    built = json.loads(run("build-articles", store, lines, "--duplicates", "join", "--json")[1])
    assert (built["articles"], built["duplicates"], built["empty"]) == (2, 1, 1)


def test_every_kind_of_file_is_told_by_its_name_and_first_record(tmp_path, lines, run):
    dumps, kilt, table = tmp_path / "dump.xml", tmp_path / "kilt.json", tmp_path / "facts.csv"
    dumps.write_bytes(dump(page("Kiln", "An '''oven'''."), page("Kilns", redirect="Kiln")))
    kilt.write_text('{"wikipedia_title": "Arve", "text": ["Arve", "A river."]}\n')
    table.write_text("title,text,aliases\nTern 40,A pump.,T40\n")
    wikipedia = tmp_path / "train.parquet"
    write_parquet(wikipedia, title=["Tarn"], text=["A pool."])
    code, out, _ = run("build-articles", tmp_path / "store", dumps, kilt, table, lines, wikipedia)
    assert (code, out.splitlines()[0]) == (0, "articles: 6")
    with ArticleStore(tmp_path / "store") as store:
        texts = [store.get(name).text for name in ("kilns", "arve", "t40", "main", "tarn")]
    assert [text[:8] for text in texts] == [
        "An oven.",
        "A river.",
        "A pump.",
        "Salt wat",
        "A pool.",
    ]


def test_an_interrupted_build_goes_on_with_the_same_files_only(
    tmp_path, lines, fails, run, monkeypatch
):
    monkeypatch.setattr("factoid.entities.articles.build._MOST_RECORDS", 1)
    good, building = lines.read_text(), tmp_path / ".store.building"
    lines.write_text(good + "nothing\n")
    assert "own.jsonl:5: not JSON: " in fails("build-articles", tmp_path / "store", lines)
    assert building.exists()
    lines.write_text(good.replace("Sea", "See"))
    assert run("build-articles", tmp_path / "store", lines)[0] == 0
    assert not building.exists()
    with ArticleStore(tmp_path / "store") as store:
        assert list(store.titles()) == ["See", "Lake"]


def test_errors(tmp_path, lines, fails):
    build = ("build-articles", tmp_path / "store")
    assert "none is not a file" in fails(*build, tmp_path / "none")
    assert "words must be at least 1" in fails(*build, lines, "--words", "0")
    assert "has no title: expected metadata['term'], got ''" in fails(
        *build, lines, "--title-key", "term"
    )
    assert not (tmp_path / "store").exists()
    assert "is a folder: name a file in it" in fails("build-articles", "", lines)

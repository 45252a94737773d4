"""Importers of JSON Lines, and documents of your own."""

from __future__ import annotations

import bz2
import gzip
import json

import pytest

from factoid import Document
from factoid.entities.articles import Article, ArticleStore, Redirect, build_articles
from factoid.entities.importers import (
    ArticleJsonl,
    KiltJsonl,
    OwnDocuments,
    RedirectLines,
    TitleTextJsonl,
    WikiExtractorJson,
)
from factoid.errors import InvalidInputError, UnreadableFileError

LINES = {
    ArticleJsonl: [
        {"title": "Sea", "text": "Salt.", "aliases": ["Ocean"], "redirects": ["Main", "Deep"], "metadata": {"n": 1}},
        {"id": 5, "title": "Lake", "text": "Sweet.", "metadata": None, "aliases": None},
        {"title": "Void", "text": "", "redirects": ["Nothing"]},
    ],
    TitleTextJsonl: [{"Sea": "Salt."}, {"Lake": "Sweet.", "Pond": "Small."}, {}, {"Void": ""}],
    WikiExtractorJson: [
        {"id": "1", "revid": "9", "url": "https://w.example/?curid=1", "title": "Sea"}
        | {"text": 'Sea\n\nSalt &amp; <a href="water%20%28matter%29#Use">water</a>.'},
        {"id": "2", "url": "", "title": "Lake"}
        | {"text": 'Sweet <a href="https://x.example">site</a> &lt;a href="Pond"&gt;ponds&lt;/a&gt;'},
    ],
    KiltJsonl: [
        {
            "wikipedia_title": "Sea",
            "wikipedia_id": "1",
            "text": "Sea,The sea is salt.\n,Section::::Seas.:North.,BULLET::::- The North Sea,BULLET::::1. One".split(
                ","
            ),
            "anchors": [
                {"text": "salt", "href": "table%20salt", "paragraph_id": 1, "start": 11, "end": 15},
                {"text": "here", "href": "#Seas"},
                {"text": None, "href": "X"},
            ],
            "wikidata_info": {"wikidata_id": "Q165", "aliases": {"alias": ["Ocean", "main"]}},
        },
        {"wikipedia_title": "Lake", "text": ["Lake", "Sweet."], "anchors": [], "wikidata_info": None},
    ],
    RedirectLines: [{"name": "Main", "target": "Sea"}, ["Deep", "Sea"]],
}
RECORDS = {
    ArticleJsonl: [
        Article("Sea", "Salt.", ("Ocean",), metadata={"n": 1}),
        Redirect("Main", "Sea"),
        Redirect("Deep", "Sea"),
        Article("Lake", "Sweet.", document_id="5"),
        Article("Void", ""),
        Redirect("Nothing", "Void"),
    ],
    TitleTextJsonl: [
        Article("Sea", "Salt."),
        Article("Lake", "Sweet."),
        Article("Pond", "Small."),
        Article("Void", ""),
    ],
    WikiExtractorJson: [
        Article(
            "Sea", "Salt & water.", (), (("water", "Water (matter)"),), {"id": "1", "url": "https://w.example/?curid=1"}
        ),
        Article("Lake", "Sweet site ponds", (), (("ponds", "Pond"),), {"id": "2"}),
    ],
    KiltJsonl: [
        Article(
            "Sea",
            "The sea is salt.\nThe North Sea\n1. One",
            ("Ocean", "main"),
            (("salt", "Table salt"),),
            {"id": "1", "wikidata_id": "Q165"},
        ),
        Article("Lake", "Sweet."),
    ],
    RedirectLines: [Redirect("Main", "Sea"), Redirect("Deep", "Sea")],
}
FORMATS = pytest.mark.parametrize("importer", list(LINES), ids=lambda importer: importer.__name__)


def text_of(importer):
    return "\n\n".join(json.dumps(line) for line in LINES[importer]) + "\n \n"


@FORMATS
def test_records_from_any_on_in_several_files(tmp_path, importer):
    paths = [tmp_path / "any name", tmp_path / "b", tmp_path / "c"]
    for path, compress in zip(paths, (bytes, gzip.compress, bz2.compress), strict=True):
        path.write_bytes(compress(text_of(importer).encode()))
    assert list(importer(str(paths[0])).read()) == RECORDS[importer]
    expected = RECORDS[importer] * 3
    for skip in range(len(expected) + 2):
        assert list(importer(paths).read(skip)) == expected[skip:]


@FORMATS
@pytest.mark.parametrize(
    "line",
    [b"{", b"[1, 2, 3]", b'{"a": NaN}', b'{"title": 3, "text": ""}', b"[" * 100_000, b'{"a": "\xff"}'],
)
def test_a_damaged_line_is_named(tmp_path, importer, line):
    path = tmp_path / "a.jsonl"
    path.write_bytes(text_of(importer).encode() + line + b"\n")
    number = text_of(importer).count("\n") + 1
    with pytest.raises(UnreadableFileError, match=rf"a\.jsonl:{number}: ."):
        list(importer(path).read())


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_a_compressed_file_that_is_cut_short(tmp_path, compress):
    packed = compress((text_of(KiltJsonl) * 500).encode())
    (tmp_path / "a.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(UnreadableFileError, match=r"a\.gz is damaged or cut short after line \d+"):
        list(KiltJsonl(tmp_path / "a.gz").read())


def test_files_that_are_missing(tmp_path):
    with pytest.raises(UnreadableFileError, match="none cannot be read: No such file"):
        list(ArticleJsonl(tmp_path / "none").read())
    with pytest.raises(UnreadableFileError, match=f"no file to read in {tmp_path}: expected "):
        list(ArticleJsonl(tmp_path).read())
    with pytest.raises(UnreadableFileError, match="no file to read in no path"):
        _ = ArticleJsonl([]).name


def test_a_name_tells_files_apart(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("{}")
    name = ArticleJsonl(path).name
    assert name.startswith(f"ArticleJsonl: {path} (2 bytes, of 20")
    assert ArticleJsonl(path).name == name
    assert ArticleJsonl(path, title_key="term").name != name
    path.write_text("{} ")
    assert ArticleJsonl(path).name != name


def test_a_folder_of_wikiextractor(tmp_path):
    for number, name in enumerate(["AA/wiki_00", "AA/wiki_01.bz2", "AB/wiki_00", "AB/.wiki_01", "AB/notes.txt"]):
        file = tmp_path / "out" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"title": f"T {number}", "text": "x", "url": ""}).encode() + b"\n"
        file.write_bytes(bz2.compress(line) if name.endswith("bz2") else line)
    source = WikiExtractorJson(tmp_path / "out")
    assert [article.title for article in source.read()] == ["T 0", "T 1", "T 2"]
    assert [article.title for article in source.read(2)] == ["T 2"]
    assert "wiki_00" in source.name


@pytest.mark.parametrize("line", ["Main\tSea", "\ufeffMain\tSea\r", "[Main]\tSea"])
def test_redirects_with_tabs(tmp_path, line):
    (tmp_path / "redirects.tsv").write_bytes(line.encode() + b"\n")
    (redirect,) = RedirectLines(tmp_path).read()
    assert (redirect.name.strip("[]"), redirect.target) == ("Main", "Sea")


@pytest.mark.parametrize("line", ["Main", "\tSea", "a\tb\tc", '{"name": "x"}', '["a", 1]'])
def test_lines_that_are_no_redirects(tmp_path, line):
    (tmp_path / "redirects.tsv").write_text(f"A\tB\n{line}\n")
    with pytest.raises(UnreadableFileError, match=r"redirects\.tsv:2: "):
        list(RedirectLines(tmp_path).read())


def test_into_a_store_with_redirects_beside(tmp_path):
    kilt, redirects = tmp_path / "kilt.json", tmp_path / "redirects.tsv"
    kilt.write_text(text_of(KiltJsonl))
    redirects.write_text("The_main\tSea\nTable_salt\tLake\n")
    report = build_articles(tmp_path / "store", [KiltJsonl(kilt), RedirectLines(redirects)])
    assert (report.articles, report.redirects, report.aliases, report.links) == (2, 2, 2, 1)
    with ArticleStore(tmp_path / "store") as store:
        assert (store.get("the main").title, store.names(["salt"])["salt"][0].title) == ("Sea", "Lake")


GLOSSARY = [
    Document("A fee for late payment.", "Dunning fee", id="1", metadata={"aliases": ["late fee", "DF"], "page": 3}),
    Document("A person who owes.", id="2", metadata={"title": "Debtor"}),
    Document("Owed money.", "Debt", id="3", metadata={"aliases": "liability", "title": "other"}),
]


def test_titles_aliases_and_metadata():
    assert list(OwnDocuments(GLOSSARY).read()) == [
        Article(
            "Dunning fee", "A fee for late payment.", ("late fee", "DF"), metadata=GLOSSARY[0].metadata, document_id="1"
        ),
        Article("Debtor", "A person who owes.", metadata={"title": "Debtor"}, document_id="2"),
        Article("Debt", "Owed money.", ("liability",), metadata=GLOSSARY[2].metadata, document_id="3"),
    ]


def test_other_keys():
    document = Document("x", "A", metadata={"name": "B", "also": ("C", "D")})
    (article,) = OwnDocuments([document], title_key="name", aliases_key="also").read()
    assert (article.title, article.aliases) == ("B", ("C", "D"))
    with pytest.raises(InvalidInputError, match=r"expected metadata\['term'\], got ''"):
        list(OwnDocuments([document], title_key="term").read())


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (Document("x", id="7"), r"document 1 \(id '7'\) has no title"),
        (Document("x", metadata={"title": 3}), "has no title.*got 3"),
        (Document("x", "A", metadata={"aliases": 1}), "the aliases of 'A' must be a list of strings"),
        ("x", "document 1 is no factoid.Document, got str"),
    ],
)
def test_documents_that_cannot_be_used(document, said):
    with pytest.raises(InvalidInputError, match=said):
        list(OwnDocuments(iter([document])).read())


def test_lines_and_documents_have_the_same_aliases(tmp_path):
    for aliases in ("AL", ["AL", None, "", " "], None):
        metadata = {"aliases": aliases}
        document = next(OwnDocuments([Document("x", "A", metadata=metadata)]).read())
        lines = [{"title": "A", "text": "x", "metadata": metadata}, {"title": "A", "text": "x", "aliases": aliases}]
        assert document.aliases == (("AL",) if aliases else ())
        (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert [record.aliases for record in ArticleJsonl(tmp_path / "a.jsonl").read()] == [document.aliases] * 2

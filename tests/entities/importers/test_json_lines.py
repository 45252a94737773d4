"""Importers of JSON Lines, and documents of your own."""

from __future__ import annotations

import bz2
import gzip
import json
from dataclasses import replace

import pytest

from factoid import Document
from factoid.entities import build_own_articles
from factoid.entities.articles import Article, Redirect
from factoid.entities.importers import (
    ArticleJsonl,
    KiltJsonl,
    OwnDocuments,
    RedirectLines,
    TitleTextJsonl,
    WikiExtractorJson,
)
from factoid.errors import InvalidInputError, UnreadableFileError

# What each importer makes of some lines.
ARTICLES = """\
{"title": "Sea", "text": "Salt.", "aliases": ["Ocean"], "redirects": ["Main", "Deep"], "metadata": {"n": 1}}

{"id": 5, "title": "Lake", "text": "Sweet.", "metadata": null, "aliases": null}
 \t
{"title": "Void", "text": "", "redirects": ["Nothing"]}
"""
WIKIEXTRACTOR = r"""
{"id": "1", "revid": "9", "url": "u", "title": "Sea", "text": "Sea\n\nSalt &amp; <a href=\"hot%20%28H2O%29#Use\">water</a>."}
{"id": "2", "url": "", "title": "Lake", "text": "A <a href=\"https://x\">site</a> &lt;a href=\"Pond\"&gt;ponds&lt;/a&gt;"}
"""
KILT = r"""
{"wikipedia_title": "Sea", "wikipedia_id": "1", "text": ["Sea", "Salt.\n", "Section::::Seas.:North.", "BULLET::::- North Sea",
    "BULLET::::1. One"], "anchors": [{"text": "salt", "href": "table%20salt", "paragraph_id": 1, "start": 11, "end": 15},
    {"text": "here", "href": "#Seas"}, {"text": null, "href": "X"}],
    "wikidata_info": {"wikidata_id": "Q165", "aliases": {"alias": ["Ocean", "main"]}}}
{"wikipedia_title": "Lake", "text": ["Lake", "Sweet."], "anchors": [], "wikidata_info": null}
""".replace("\n    ", " ")
SAMPLES = {
    ArticleJsonl: (
        ARTICLES,
        Article("Sea", "Salt.", ("Ocean",), metadata={"n": 1}),
        Redirect("Main", "Sea"),
        Redirect("Deep", "Sea"),
        Article("Lake", "Sweet.", document_id="5"),
        Article("Void", ""),
        Redirect("Nothing", "Void"),
    ),
    TitleTextJsonl: (
        '{"Sea": "Salt."}\n{"Lake": "Sweet.", "Pond": "Small."}\n{}\n',
        *(Article("Sea", "Salt."), Article("Lake", "Sweet."), Article("Pond", "Small.")),
    ),
    WikiExtractorJson: (
        WIKIEXTRACTOR,
        Article("Sea", "Salt & water.", (), (("water", "Hot (H2O)"),), {"id": "1", "url": "u"}),
        Article("Lake", "A site ponds", (), (("ponds", "Pond"),), {"id": "2"}),
    ),
    KiltJsonl: (
        KILT,
        replace(
            Article("Sea", "Salt.\nNorth Sea\n1. One", ("Ocean", "main"), (("salt", "Table salt"),)),
            metadata={"id": "1", "wikidata_id": "Q165"},
        ),
        Article("Lake", "Sweet."),
    ),
    RedirectLines: ("Main\tSea\n\nDeep\tSea\n", Redirect("Main", "Sea"), Redirect("Deep", "Sea")),
}
FORMATS = pytest.mark.parametrize("importer", list(SAMPLES), ids=lambda importer: importer.__name__)


@FORMATS
def test_records_from_any_on_in_several_files(tmp_path, importer):
    text, *records = SAMPLES[importer]
    paths = [tmp_path / "any name", tmp_path / "b", tmp_path / "c"]
    for path, compress in zip(paths, (bytes, gzip.compress, bz2.compress), strict=True):
        path.write_bytes(compress(text.encode()))
    assert list(importer(str(paths[0])).read()) == records
    for skip in (1, 2, 3 * len(records) - 1, 3 * len(records) + 1):
        assert list(importer(paths).read(skip)) == (records * 3)[skip:]


@FORMATS
@pytest.mark.parametrize(
    "line", [b"{", b"[1, 2, 3]", b'{"a": NaN}', b'{"title": 3, "text": ""}', b"[" * 100_000, b'{"a": "\xff"}']
)
def test_a_damaged_line_is_named(tmp_path, importer, line):
    path, text = tmp_path / "a.jsonl", SAMPLES[importer][0]
    path.write_bytes(text.encode() + line + b"\n")
    number = text.count("\n") + 1
    with pytest.raises(UnreadableFileError, match=rf"a\.jsonl:{number}: ."):
        list(importer(path).read())


def test_files_that_are_missing(tmp_path):
    for paths, said in (
        (tmp_path / "none", "none cannot be read: No such file"),
        (tmp_path, f"no file to read in {tmp_path}: expected "),
        ([], "no file to read in no path"),
    ):
        with pytest.raises(UnreadableFileError, match=said):
            list(ArticleJsonl(paths).read())


def test_a_name_tells_files_apart(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("{}")
    name = ArticleJsonl(path).name
    assert name.startswith(f"ArticleJsonl: {path} (")
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
    assert [article.title for article in WikiExtractorJson(tmp_path / "out").read()] == ["T 0", "T 1", "T 2"]


@pytest.mark.parametrize(
    ("line", "name"), [("Main\tSea", "Main"), ("\ufeffMain\tSea\r", "Main"), ("[Main]\tSea", "[Main]")]
)
def test_redirects_with_tabs(tmp_path, line, name):
    (tmp_path / "redirects.tsv").write_bytes(line.encode() + b"\n")
    assert list(RedirectLines(tmp_path).read()) == [Redirect(name, "Sea")]


@pytest.mark.parametrize("line", ["Main", "\tSea", "a\tb\tc"])
def test_lines_that_are_no_redirects(tmp_path, line):
    (tmp_path / "redirects.tsv").write_text(f"A\tB\n{line}\n")
    with pytest.raises(UnreadableFileError, match=r"redirects\.tsv:2: "):
        list(RedirectLines(tmp_path).read())


FEE, DEBTOR, DEBT = (
    {"aliases": ["late fee", "DF"], "page": 3},
    {"title": "Debtor"},
    {"aliases": "debts", "title": "other"},
)


@pytest.mark.parametrize(
    ("document", "article"),
    [
        (Document("A fee.", "Fee", id="1", metadata=FEE), Article("Fee", "A fee.", ("late fee", "DF"), (), FEE, "1")),
        (Document("Owes.", id="2", metadata=DEBTOR), Article("Debtor", "Owes.", (), (), DEBTOR, "2")),
        (Document("Money.", "Debt", id="3", metadata=DEBT), Article("Debt", "Money.", ("debts",), (), DEBT, "3")),
    ],
)
def test_titles_aliases_and_metadata(document, article):
    assert list(OwnDocuments([document]).read()) == [article]


def test_other_keys():
    document = Document("x", "A", metadata={"name": "B", "also": ("C", "D")})
    (article,) = OwnDocuments([document], title_key="name", aliases_key="also").read()
    assert (article.title, article.aliases) == ("B", ("C", "D"))


@pytest.mark.parametrize(
    ("document", "options", "said"),
    [
        (Document("x", id="7"), {}, r"document 1 \(id '7'\) has no title"),
        (Document("x", metadata={"title": 3}), {}, "has no title.*got 3"),
        (Document("x", "A"), {"title_key": "term"}, r"expected metadata\['term'\], got ''"),
        (Document("x", "A", metadata={"aliases": 1}), {}, "the aliases of 'A' must be a list of strings"),
        ("x", {}, "document 1 is not a factoid.Document, got str"),
    ],
)
def test_documents_that_cannot_be_used(document, options, said):
    with pytest.raises(InvalidInputError, match=said):
        build_own_articles([document], **options)


@pytest.mark.parametrize("aliases", ["AL", ["AL", None, "", " "], None])
def test_lines_and_documents_have_the_same_aliases(tmp_path, aliases):
    metadata, expected = {"aliases": aliases}, ("AL",) if aliases else ()
    lines = [{"title": "A", "text": "x", "metadata": metadata}, {"title": "A", "text": "x", "aliases": aliases}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    documents = OwnDocuments([Document("x", "A", metadata=metadata)])
    assert [record.aliases for record in [*ArticleJsonl(tmp_path / "a.jsonl").read(), *documents.read()]] == [
        expected
    ] * 3

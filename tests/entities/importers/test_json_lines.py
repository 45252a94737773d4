"""Importers of JSON Lines: each format, compressed or not, from any record on, and lines that are damaged."""

from __future__ import annotations

import bz2
import gzip
import json

import pytest

from factoid.entities.articles import Article, ArticleStore, Redirect, build_articles
from factoid.entities.importers import ArticleJsonl, KiltJsonl, RedirectLines, TitleTextJsonl, WikiExtractorJson
from factoid.errors import UnreadableFileError

LINES = {
    ArticleJsonl: [
        {"title": "Sea", "text": "Salt.", "aliases": ["Ocean"], "redirects": ["Main", "Deep"], "metadata": {"n": 1}},
        {"id": 5, "title": "Lake", "text": "Sweet.", "metadata": None, "aliases": None},
        {"title": "Void", "text": "", "redirects": ["Nothing"]},
    ],
    TitleTextJsonl: [{"Sea": "Salt."}, {"Lake": "Sweet.", "Pond": "Small."}, {}, {"Void": ""}],
    WikiExtractorJson: [
        {
            "id": "1",
            "revid": "9",
            "url": "https://w.example/?curid=1",
            "title": "Sea",
            "text": 'Sea\n\nSalt &amp; <a href="water%20%28matter%29#Use">water</a>.',
        },
        {
            "id": "2",
            "url": "",
            "title": "Lake",
            "text": 'Sweet <a href="https://x.example">site</a> &lt;a href="Pond"&gt;ponds&lt;/a&gt;',
        },
    ],
    KiltJsonl: [
        {
            "wikipedia_title": "Sea",
            "wikipedia_id": "1",
            "text": [
                "Sea\n",
                "The sea is salt.\n",
                "Section::::Seas.:North.\n",
                "BULLET::::- The North Sea\n",
                "BULLET::::1. One",
            ],
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
@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress], ids=["plain", "gzip", "bzip2"])
def test_records(tmp_path, importer, compress):
    path = tmp_path / "any name"
    path.write_bytes(compress(text_of(importer).encode()))
    assert list(importer(path).read()) == RECORDS[importer]
    assert list(importer(str(path)).read()) == RECORDS[importer]


@FORMATS
def test_from_any_record_on_in_two_files(tmp_path, importer):
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_text(text_of(importer))
    expected = RECORDS[importer] * 2
    for skip in range(len(expected) + 2):
        assert list(importer(paths).read(skip)) == expected[skip:]


@FORMATS
@pytest.mark.parametrize(
    "line", ["{", "[1, 2, 3]", '"a"', "7", '{"a": NaN}', '{"title": "A"}', '{"title": 3, "text": ""}', "[" * 100_000]
)
def test_a_damaged_line_is_named(tmp_path, importer, line):
    if importer is TitleTextJsonl and line == '{"title": "A"}':
        pytest.skip("an article called title")
    path = tmp_path / "a.jsonl"
    path.write_text(text_of(importer) + line + "\n")
    number = text_of(importer).count("\n") + 1
    with pytest.raises(UnreadableFileError, match=rf"a\.jsonl:{number}: ."):
        list(importer(path).read())


@FORMATS
def test_bytes_that_are_no_utf8_are_named(tmp_path, importer):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"title": "\xff", "text": "x", "name": "x", "target": ""}\n')
    with pytest.raises(UnreadableFileError, match=r"a\.jsonl:1: "):
        list(importer(path).read())


@FORMATS
@pytest.mark.parametrize(("compress", "cut"), [(gzip.compress, 9), (bz2.compress, 9), (gzip.compress, -5)])
def test_a_compressed_file_that_is_cut_short(tmp_path, importer, compress, cut):
    path = tmp_path / "a.gz"
    packed = compress((text_of(importer) * 500).encode())
    path.write_bytes(packed[: len(packed) // 2 if cut > 0 else cut])
    with pytest.raises(UnreadableFileError, match=r"a\.gz is damaged or cut short after line \d+"):
        list(importer(path).read())


@FORMATS
@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_a_compressed_file_that_is_damaged(tmp_path, importer, compress):
    packed = bytearray(compress((text_of(importer) * 50).encode()))
    packed[len(packed) // 2] ^= 0x55
    path = tmp_path / "a.gz"
    path.write_bytes(packed)
    with pytest.raises(UnreadableFileError, match=r"a\.gz(:\d+|.*damaged)"):
        list(importer(path).read())


@FORMATS
def test_a_truncated_file(tmp_path, importer):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(LINES[importer][0]) + "\n" + json.dumps(LINES[importer][0])[:-9])
    with pytest.raises(UnreadableFileError, match=r"a\.jsonl:2: "):
        list(importer(path).read())


@FORMATS
def test_files_that_are_missing(tmp_path, importer):
    with pytest.raises(UnreadableFileError, match="none does not exist"):
        list(importer(tmp_path / "none").read())
    with pytest.raises(UnreadableFileError, match="holds no file to read: expected files"):
        list(importer(tmp_path).read())
    with pytest.raises(UnreadableFileError, match="there is no file to read"):
        _ = importer([]).name


@FORMATS
def test_a_name_tells_files_apart(tmp_path, importer):
    path = tmp_path / "a.jsonl"
    path.write_text(text_of(importer))
    name = importer(path).name
    assert importer.__name__ in name
    assert str(path) in name
    assert importer(path).name == name
    path.write_text(text_of(importer) * 2)
    assert importer(path).name != name


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


def test_the_name_of_many_files_is_short_and_tells_changes(tmp_path):
    for number in range(30):
        (tmp_path / f"{number:02}.jsonl").write_text('{"title": "A", "text": "x"}\n')
    name = ArticleJsonl(tmp_path).name
    assert "29 more files" in name
    (tmp_path / "17.jsonl").write_text('{"title": "B", "text": "xy"}\n')
    assert ArticleJsonl(tmp_path).name != name


@pytest.mark.parametrize("line", ["Main\tSea", "Main\tSea\r", "\ufeffMain\tSea", "[Main]\tSea"])
def test_redirects_with_tabs(tmp_path, line):
    path = tmp_path / "redirects.tsv"
    path.write_bytes(line.encode() + b"\n")
    (redirect,) = RedirectLines(path).read()
    assert (redirect.name.strip("[]"), redirect.target) == ("Main", "Sea")


@pytest.mark.parametrize("line", ["Main", "Main\t", "\tSea", "a\tb\tc", '{"name": "x"}', '["a"]', '["a", 1]'])
def test_lines_that_are_no_redirects(tmp_path, line):
    path = tmp_path / "redirects.tsv"
    path.write_text(f"A\tB\n{line}\n")
    with pytest.raises(UnreadableFileError, match=r"redirects\.tsv:2: "):
        list(RedirectLines(path).read())


def test_into_a_store_with_redirects_beside(tmp_path):
    kilt, redirects = tmp_path / "kilt.json", tmp_path / "redirects.tsv"
    kilt.write_text(text_of(KiltJsonl))
    redirects.write_text("The_main\tSea\nTable_salt\tLake\n")
    report = build_articles(tmp_path / "store", [KiltJsonl(kilt), RedirectLines(redirects)])
    assert (report.articles, report.redirects, report.aliases, report.links) == (2, 2, 2, 1)
    with ArticleStore(tmp_path / "store") as store:
        assert store.get("the main").metadata == {"id": "1", "wikidata_id": "Q165"}
        assert store.names(["salt"])["salt"][0].title == "Lake"


@pytest.mark.parametrize("own", [[1], True, 1.5, {}])
def test_ids_that_are_none(tmp_path, own):
    (tmp_path / "a").write_text(json.dumps({"title": "Sea", "text": "Salt.", "id": own}))
    with pytest.raises(UnreadableFileError, match="a:1: expected a string or a whole number in 'id'"):
        list(ArticleJsonl(tmp_path / "a").read())

from __future__ import annotations

import bz2
import gzip
import lzma
import multiprocessing
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from factoid.entities.articles.article import Article, Redirect
from factoid.entities.importers.mediawiki import MediaWikiDump
from factoid.errors import UnreadableFileError
from factoid.files.limits import ReadLimits
from tests.entities.importers.dumps import HEAD, TAIL, dump, page


def read_until_error(path: Path, *, workers: int = 1) -> tuple[list[Article | Redirect], str]:
    records: list[Article | Redirect] = []
    with pytest.raises(UnreadableFileError) as error:
        records.extend(MediaWikiDump(path, workers=workers))  # what came before the error stays
    return records, str(error.value)


PAGES = [
    page("Kiln", "A '''kiln''' is an [[oven]] for [[Clay (soil)|clay]]s.\n\n[[Kategorie:Ovens]]"),
    page("Kilns", redirect="Kiln"),
    page("Wikipedia:Kilns", "About kilns.", ns=4),
    page("WP:K", redirect="Wikipedia:Kilns"),
    page("Kiln (disambiguation)", "* [[Kiln]], an oven\n* [[Kiln, Mississippi]]"),
    page("KLN", "'''KLN''' may be\n* [[Kiln]]\n{{disambig}}"),
    page(
        "Glaze",
        "[[Datei:Glaze.png|thumb|A [[pot]]]]A '''glaze''' is glass.{{disambiguation needed}}",
    ),
    page("Kiln data", "{}", model="json"),
    page("Oven", redirect="Kiln#Types of oven"),
    page("Empty", "{{Infobox|a=b}}"),
]


NUMBERS = {"page_id": 7, "revision_id": 70}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "wiki.xml"
    path.write_bytes(dump(*PAGES))
    return path


def titles(records: object) -> list[str]:
    return [record.title if isinstance(record, Article) else record.name for record in records]  # type: ignore[attr-defined]


def test_articles_and_redirects_come_in_order_and_what_is_left_out_is_counted(file: Path) -> None:
    source = MediaWikiDump(file)
    links = ("oven", "Oven"), ("clays", "Clay (soil)")
    expected = [
        Article("Kiln", "A kiln is an oven for clays.", (), links, NUMBERS),
        Redirect("Kilns", "Kiln"),
        Redirect("WP:K", "Wikipedia:Kilns"),
        Article("Glaze", "A glaze is glass.", (), (("pot", "Pot"),), NUMBERS),
        Redirect("Oven", "Kiln"),
        Article("Empty", "", metadata=NUMBERS),
    ]
    for _ in range(2):
        assert list(source) == expected
        assert source.left_out == {
            "pages of other namespaces": 1,
            "disambiguation pages": 2,
            "pages that are not wikitext": 1,
        }


def test_skipping_gives_the_rest_of_several_files_and_cleans_no_more(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = tmp_path / "second.xml"
    second.write_bytes(dump(page("Second", "Text.")))
    source = MediaWikiDump([file, second])
    records = list(source)
    assert titles(records)[-2:] == ["Empty", "Second"]
    cleaned: list[str] = []
    monkeypatch.setattr(
        "factoid.entities.importers.mediawiki.strip_tags", lambda text: cleaned.append(text) or text
    )
    for skip in (1, 3, 8):
        assert titles(source.read(skip)) == titles(records[skip:])
    cleaned.clear()
    list(source.read(5))
    assert cleaned == ["{{Infobox|a=b}}", "Text."]


def multistream(data: bytes) -> bytes:
    half = len(data) // 2
    return bz2.compress(data[:half]) + bz2.compress(data[half:])


@pytest.mark.parametrize(
    ("pack", "ending"), [(gzip.compress, ".gz"), (multistream, ".bz2"), (lzma.compress, ".xz")]
)
def test_packed_dumps_read_as_plain_ones(
    file: Path, pack: Callable[[bytes], bytes], ending: str
) -> None:
    packed = file.with_name(f"wiki.xml{ending}")
    packed.write_bytes(pack(file.read_bytes()))
    assert list(MediaWikiDump(packed)) == list(MediaWikiDump(file))


def test_processes_give_what_one_gives(tmp_path: Path) -> None:
    path = tmp_path / "many.xml"
    pages = (
        page(f"Page {number}", f"Text '''{number}''' of [[Page {number - 1}]].")
        for number in range(750)
    )
    path.write_bytes(dump(*pages))
    records = list(MediaWikiDump(path, workers=2))
    assert records == list(MediaWikiDump(path))
    assert titles(records) == [f"Page {number}" for number in range(750)]
    assert records[9].text == "Text 9 of Page 8."

    with path.open("ab") as file:
        file.write(b"after the end")
    one, several = (read_until_error(path, workers=workers) for workers in (1, 2))
    assert "after the page 'Page 749'" in one[1] == several[1]
    assert one[0] == records
    # A reader that stops early leaves no process.
    reader = MediaWikiDump(path, workers=2).read()
    assert next(reader) == records[0]
    reader.close()  # type: ignore[attr-defined]
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    ("pack", "ending"), [(bytes, ""), (gzip.compress, ".gz"), (multistream, ".bz2")]
)
def test_a_dump_that_is_cut_off_gives_its_whole_pages_and_says_so(
    tmp_path: Path, pack: Callable[[bytes], bytes], ending: str
) -> None:
    data = dump(*(page(f"Page {number}", f"{number} " * 3000) for number in range(60)))
    whole = pack(data)
    path = tmp_path / f"cut.xml{ending}"
    path.write_bytes(whole[: len(whole) * 2 // 3])
    records, message = read_until_error(path)
    names = titles(records)

    assert names == [f"Page {number}" for number in range(len(names))]
    if pack is bytes:
        assert len(names) == len(re.findall(b"</page>", whole[: len(whole) * 2 // 3]))
    assert str(path) in message
    assert f"after the page {f'Page {len(names) - 1}' if names else ''!r}" in message
    assert "Download it again" in message


BOMB = "<!DOCTYPE mediawiki [" + "".join(
    f'<!ENTITY e{number} "{f"&e{number - 1};" * 20 if number else "x" * 1000}">'
    for number in range(8)
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "no element found"),
        (b"<html><body/></html>", "begins with <html>"),
        (
            (BOMB + "]>" + HEAD + page("Bomb", "BOMB").replace("BOMB", "&e7;") + TAIL).encode(),
            "amplification",
        ),
        (dump(page("A", "x")).replace(b">x<", b">&unknown;<"), "undefined entity"),
        (bz2.compress(dump(page("A", "x")))[:4] + b"garbage of some length", "syntax error"),
    ],
)
def test_other_files_are_refused_with_a_reason(
    tmp_path: Path, content: bytes, expected: str
) -> None:
    path = tmp_path / "other.xml"
    path.write_bytes(content)
    records, message = read_until_error(path)
    assert (records, str(path) in message) == ([], True)
    assert expected in message
    assert "not a MediaWiki XML export" in message


def test_the_last_of_several_revisions_is_read(file: Path) -> None:
    twice = page("A", "new").replace(
        "<revision>", "<revision><id>1</id><text>old</text></revision><revision>"
    )
    file.write_bytes(dump(twice))
    assert list(MediaWikiDump(file)) == [Article("A", "new", metadata=NUMBERS)]


@pytest.mark.parametrize("number", ["abc", "", "-7", "7.0", "7" * 5000, "٣" * 19])
@pytest.mark.parametrize("place", ["<id>7</id>", "<id>70</id>"])
def test_ids_that_are_none(tmp_path, place, number):
    path = tmp_path / "dump.xml"
    path.write_bytes(
        dump(page("Kiln", "A."), page("Oven", "B.").replace(place, f"<id>{number}</id>"))
    )
    records, message = read_until_error(path)
    assert [record.title for record in records] == ["Kiln"]
    assert "damaged after the page 'Oven'" in message
    assert len(message) < 500


@pytest.mark.parametrize("encoding", ["utf-7", "shift_jis", "no-such", "base64", "idna"])
def test_encodings_that_expat_does_not_know(tmp_path, encoding):
    path = tmp_path / "dump.xml"
    path.write_bytes(
        f'<?xml version="1.0" encoding="{encoding}"?>'.encode() + dump(page("Kiln", "A."))
    )
    records, message = read_until_error(path)
    assert (records, "is not a MediaWiki XML export" in message) == ([], True)


def test_dates_with_long_numbers(tmp_path):
    path = tmp_path / "dump.xml"
    path.write_bytes(dump(page("Kiln", f"Built {{{{start date|1900|{'1' * 5000}}}}}.")))
    [article] = MediaWikiDump(path)
    assert article.text.startswith("Built 1111")


def test_a_dump_may_be_long_but_not_one_page(tmp_path: Path) -> None:
    path = tmp_path / "wiki.xml.bz2"
    limits = ReadLimits(unpacked_bytes=100_000)
    short = [page(f"P{number}", "Salt. " * 1000) for number in range(100)]
    path.write_bytes(bz2.compress(dump(*short)))
    assert len(list(MediaWikiDump(path, limits=limits))) == 100
    with bz2.open(path, "wb") as out:
        out.write(
            dump(*short)[: -len(TAIL)] + b"<page><title>Long</title><ns>0</ns><revision><text>"
        )
        out.write(b"Salt " * 1_000_000)
    records: list[Article | Redirect] = []
    message = (
        r"wiki\.xml\.bz2: a page has more than 100,000 bytes\. .*, or --limit unpacked_bytes=…"
    )
    with pytest.raises(UnreadableFileError, match=message):
        records.extend(MediaWikiDump(path, limits=limits))
    assert len(records) == 100


@pytest.mark.parametrize(
    "rest", [b"<page>" * 300_000, b"<page a='" + b"x" * 5_000_000, b"<!--" + b"x" * 5_000_000]
)
def test_what_is_no_page_is_bounded_too(tmp_path: Path, rest: bytes) -> None:
    path = tmp_path / "wiki.xml"
    path.write_bytes(HEAD.encode() + rest)
    limits = ReadLimits(unpacked_bytes=1_000_000)
    with pytest.raises(
        UnreadableFileError,
        match=r"elements are nested more than 200 deep|more than 1,000,000 bytes",
    ):
        list(MediaWikiDump(path, limits=limits))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp037", "latin-1"])
def test_entities_are_refused_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "wiki.xml"
    declaration = f'<?xml version="1.0" encoding="{encoding}"?>'
    padding = f"<!-- {'<mediawiki> ' * 3000} -->"  # the parser reads 16 KB at a time
    body = padding + BOMB + "]>" + HEAD + page("Bomb", "BOMB").replace("BOMB", "&e7;") + TAIL
    path.write_bytes((declaration + body).encode(encoding))
    if encoding == "cp037":  # other letters than in ASCII
        path.write_bytes(declaration.encode() + body.encode(encoding))
    _, message = read_until_error(path)
    assert "it declares a document type" in message or "its encoding is" in message

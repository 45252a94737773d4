"""Hostile archives, pages, books, notebooks and PDFs: refused with the limit's name, in little time
and memory.
"""

from __future__ import annotations

import io
import json
import random
import struct
import time
import zipfile

import pytest

from factoid.errors import UnreadableFileError
from factoid.files.conversion import convert
from factoid.files.limits import ReadLimits
from factoid.files.safe_markup import regular_html
from factoid.files.readers import read_file
from tests.files import bombs

pytest.importorskip("markitdown")

LIMITS = ReadLimits()
HERE = ReadLimits(seconds=None)  # converts in this process


def read(path, limits=LIMITS):
    (document,) = read_file(path, limits=limits)
    return document.text


def refused(path, message, limits=LIMITS):
    with pytest.raises(UnreadableFileError, match=message):
        read(path, limits)


def advice(limit):
    return rf"raise the limit: ReadLimits\({limit}=…\), or --limit {limit}=…"


# Archives


def test_an_archive_that_unpacks_to_much(tmp_path):
    for name, content in (
        ("zeros", bytes(100 << 20)),
        ("spaces", bombs.document_xml(" " * (100 << 20))),
    ):
        path = bombs.archive(tmp_path / f"{name}.docx", bombs.office(content))
        assert path.stat().st_size < 200_000
        refused(
            path,
            rf"{name}\.docx unpacks to more than 64,000,000 bytes of text and markup.* "
            rf"{advice('unpacked_bytes')}",
        )


def test_pictures_are_not_unpacked_and_do_not_count(tmp_path):
    members = bombs.office() | {
        "word/media/a.png": bytes(5 << 20),
        "word/embeddings/a.xlsx": bytes(5 << 20),
    }
    path = bombs.archive(tmp_path / "a.docx", members)
    assert read(path, ReadLimits(unpacked_bytes=10_000)) == bombs.SENTENCE


@pytest.mark.parametrize("ending", ["docx", "pptx", "epub"])
def test_sizes_are_counted_whatever_the_directory_says(tmp_path, ending):
    name, filler = "word/document.xml", bombs.PARAGRAPH * 20_000
    members = bombs.office(bombs.document_xml(filler))
    if ending == "epub":
        name, members = "text/c0.xhtml", bombs.book(1, chapter="<p>" + "Salt. " * 300_000)
    content = bombs.zip_bytes(members, compression=zipfile.ZIP_DEFLATED)
    path = tmp_path / f"a.{ending}"
    path.write_bytes(content)
    tight = ReadLimits(unpacked_bytes=1_000_000)
    refused(path, r"unpacks to more than 1,000,000 bytes", tight)
    path.write_bytes(bombs.with_smaller_size(content, name, 100))
    refused(path, r"cannot be converted|is damaged", tight)


def test_members_that_share_their_content_count_each(tmp_path):
    # As in "a better zip bomb" (Fifield, 2019): one block of content, under many names of the
    # directory.
    block = bombs.document_xml(bombs.PARAGRAPH * 5_000)
    path = bombs.archive(tmp_path / "a.docx", bombs.office(block))
    raw = path.read_bytes()
    start = raw.rindex(b"PK\x01\x02", 0, raw.rindex(b"word/document.xml"))
    end = raw.rindex(b"PK\x05\x06")
    entry = raw[start:end]
    copies = b"".join(entry.replace(b"word/document.xml", b"word/%08d.xml" % n) for n in range(200))
    directory = raw[raw.index(b"PK\x01\x02") : end] + copies
    tail = bytearray(raw[end:])
    struct.pack_into("<HHII", tail, 8, 203, 203, len(directory), raw.index(b"PK\x01\x02"))
    path.write_bytes(raw[: raw.index(b"PK\x01\x02")] + directory + tail)
    refused(path, "unpacks to more than 10,000,000 bytes", ReadLimits(unpacked_bytes=10_000_000))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_kinds_of_compression_are_counted_too(tmp_path, method):
    path = bombs.archive(tmp_path / "a.docx", bombs.office(bytes(100 << 20)), compression=method)
    refused(path, "unpacks to more than 64,000,000 bytes")


def test_names_in_another_case_than_in_the_directory(tmp_path):
    raw = bombs.zip_bytes(bombs.office())
    path = tmp_path / "a.docx"
    before, name, after = raw.rpartition(b"word/document.xml" + bombs.document_xml().encode())
    path.write_bytes(before + name.replace(b"word/document.xml", b"WORD/Document.xml") + after)
    assert read(path) == bombs.SENTENCE


def test_deep_tables_of_a_document(tmp_path):
    path = bombs.archive(
        tmp_path / "a.docx", bombs.office(bombs.document_xml(bombs.nested_tables(60)))
    )
    assert bombs.SENTENCE in read(path), "what the limit allows can be converted"
    path = bombs.archive(
        tmp_path / "a.docx", bombs.office(bombs.document_xml(bombs.nested_tables(30_000)))
    )
    refused(path, rf"word/document\.xml has elements nested more than 200 deep.* {advice('depth')}")


@pytest.mark.parametrize(
    "name", ["word/document.xml", "word/styles.xml", "[Content_Types].xml", "_rels/.rels"]
)
def test_entities_of_an_archive(tmp_path, name):
    members = bombs.office()
    members[name] = bombs.LAUGHS + members.get(name, "<styles>&a9;</styles>")
    for ending in ("docx", "pptx"):
        refused(
            bombs.archive(tmp_path / f"a.{ending}", members),
            "declares the entity 'a0': entities may expand",
        )
    chapters = bombs.book(1)
    chapters["text/book.opf"] = bombs.LAUGHS + chapters["text/book.opf"]
    refused(bombs.archive(tmp_path / "a.epub", chapters), "declares the entity 'a0'")


def test_many_slides(tmp_path):
    pptx = pytest.importorskip("pptx")
    presentation = pptx.Presentation()
    for _ in range(4):
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        slide.shapes.title.text = bombs.SENTENCE
    path = tmp_path / "a.pptx"
    presentation.save(path)
    assert read(path, ReadLimits(pages=4)).count(bombs.SENTENCE) == 4
    refused(path, rf"a\.pptx has more than 3 slides\. .*{advice('pages')}", ReadLimits(pages=3))


def test_damaged_archives_are_one_error(tmp_path):
    pytest.importorskip("pptx")
    choice = random.Random(7)
    contents = {"docx": bombs.office(), "pptx": bombs.office(), "epub": bombs.book(2)}
    for ending, members in contents.items():
        whole = bombs.zip_bytes(members, compression=zipfile.ZIP_DEFLATED)
        for _ in range(30):
            damaged = bytearray(whole)
            for _ in range(choice.randrange(1, 9)):
                damaged[choice.randrange(len(damaged))] = choice.randrange(256)
            path = tmp_path / f"a.{ending}"
            path.write_bytes(
                damaged[: choice.choice([len(damaged), choice.randrange(len(damaged))])]
            )
            try:
                read(path)
            except UnreadableFileError as error:
                assert str(path) in str(error)  # noqa: PT017


# Books


def test_many_chapters(tmp_path):
    path = bombs.archive(tmp_path / "a.epub", bombs.book(30))
    assert read(path, ReadLimits(pages=30)).count(bombs.SENTENCE) == 30
    refused(path, rf"a\.epub has more than 29 chapters\. .*{advice('pages')}", ReadLimits(pages=29))


def test_a_book_of_many_files(tmp_path):
    path = bombs.archive(
        tmp_path / "a.epub", bombs.book(1) | {f"{n}.xhtml": b"" for n in range(20_000)}
    )
    assert read(path).count(bombs.SENTENCE) == 1


def test_a_chapter_that_is_listed_again_and_again_counts_each_time(tmp_path):
    chapter = "<p>" + "Salt. " * 10_000
    path = bombs.archive(tmp_path / "a.epub", bombs.book(1, listed=[0] * 5_000, chapter=chapter))
    assert path.stat().st_size < 30_000
    refused(path, "unpacks to more than 64,000,000 bytes")


def test_chapters_are_read_as_before(tmp_path):
    chapter = (
        '<?xml version="1.0"?><html><head><title/><script src="a.js"/></head><body><a id="top"/><h1>Salt&nbsp;%d</h1>'
        "<p>Caf&eacute; &#233;<br/>next<span/> word</p><div/><ul><li>a</li></ul></body></html>"
    )
    members = bombs.book(1) | {"text/c0.xhtml": chapter % 1}
    text = read(bombs.archive(tmp_path / "a.epub", members)).strip()
    assert text == "# Salt\xa01\n\nCafé é  \nnext word\n\n* a"


# Pages of HTML

PIECES = (
    "<!-- <! <![CDATA[ <? </ <a <a/ <div|a=1 <a|b <a|b=\" <a|b=' <a|b=c| <p|a='\" <x:y| & &# &a <script> <script>< <style> "
    "<title> <textarea> <!DOCTYPE| --> < > </a </p> <p> <b> <table> <td> <tr> <td|colspan=1000> <li> <svg> <a|href=x> <br> "
    '<a|x="/>"/> <a| <title/> <pre> ` * _ | |=| " <h1> <dl><dt> <select>'
)
PIECES = [piece.replace("|", " ") for piece in PIECES.split()]


def cpu_seconds(function, *arguments):
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


@pytest.mark.parametrize("piece", PIECES)
def test_html_is_read_in_linear_time(piece):
    def page(size):
        return (piece * (size // len(piece))).encode()

    def regular(content):
        try:
            regular_html(content, "page", LIMITS)
        except UnreadableFileError as error:
            assert "nested more than 200 deep" in str(error)  # noqa: PT017

    small, large = (
        min(cpu_seconds(regular, page(size)) for _ in range(2)) for size in (100_000, 400_000)
    )
    assert large < max(10 * small, 0.3), (
        "four times as much takes 16 times as long where it is quadratic"
    )


@pytest.mark.slow
def test_html_of_mixed_pieces_is_converted_in_linear_time(tmp_path):
    choice = random.Random(11)
    path = tmp_path / "a.html"

    def growth(unit):
        """Return how many times the processor time of four times the text is, and that time in
        seconds.
        """
        seconds = []
        for size in (50_000, 200_000):
            path.write_text(unit * (size // len(unit)))
            seconds.append(cpu_seconds(lambda: list(convert(path, HERE))))
        return seconds[1] / seconds[0], seconds[1]

    def is_linear(unit):
        try:
            times, seconds = growth(unit)
        except UnreadableFileError:
            return True
        return times < 10 or seconds < 1

    for _ in range(150):
        unit = "".join(choice.choices(PIECES, k=choice.randrange(1, 5)))
        # What other processes do to the caches of a busy machine does not happen three times in a
        # row.
        assert any(is_linear(unit) for _ in range(3)), unit


@pytest.mark.parametrize("unit", ["<div>", "<b><i>", "<ul><li>", "<table><tr><td>", "<blockquote>"])
def test_deep_html(tmp_path, unit):
    path = tmp_path / "a.html"
    count = unit.count("<")
    path.write_text(unit * (190 // count) + bombs.SENTENCE)
    assert bombs.SENTENCE in read(path), "what the limit allows can be converted"
    path.write_text(unit * (100_000 // count) + bombs.SENTENCE)
    refused(path, rf"a\.html has elements nested more than 200 deep\. .*{advice('depth')}")


def test_elements_that_end_without_a_tag_are_not_nested(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("<ul>" + "<li>Salt." * 1000 + "</ul>" + "<p>Sea." * 1000)
    text = read(path)
    assert (text.count("Salt."), text.count("Sea.")) == (1000, 1000)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_pages_in_several_encodings(tmp_path, encoding):
    path = tmp_path / "a.html"
    meta = '<meta charset="iso-8859-1">' if encoding == "latin-1" else ""
    path.write_bytes(
        f"<html><head>{meta}<title>Ö</title></head><body><p>Übung, café.</p></body></html>".encode(
            encoding
        )
    )
    (document,) = read_file(path)
    assert (document.text, document.title) == ("Übung, café.", "Ö")


def test_long_pages_and_notebooks(tmp_path):
    for ending in ("html", "ipynb"):
        path = tmp_path / f"a.{ending}"
        path.write_bytes(b" " * 1001)
        refused(
            path,
            rf"holds more than 1,000 bytes\. .*{advice('file_bytes')}",
            ReadLimits(file_bytes=1000),
        )


# Notebooks


def test_a_deep_notebook(tmp_path):
    path = tmp_path / "a.ipynb"
    path.write_text('{"cells": ' + "[" * 100_000 + "]" * 100_000 + "}")
    refused(path, r"a\.ipynb is nested too deeply to be read: the limit depth is 200")
    cell = {"cell_type": "markdown", "source": [bombs.SENTENCE]}
    path.write_text(
        json.dumps({"cells": [cell], "nbformat": 4, "nbformat_minor": 5, "metadata": {}})
    )
    assert read(path) == bombs.SENTENCE


# PDFs


def write_pdf(path, objects):
    path.write_bytes(bombs.pdf(objects))
    return path


def test_many_pages(tmp_path):
    path = write_pdf(tmp_path / "a.pdf", bombs.pages(40, bombs.packed(bombs.TEXT)))
    assert read(path, ReadLimits(pages=40)).count(bombs.SENTENCE) == 40
    refused(path, rf"a\.pdf has more than 39 pages\. .*{advice('pages')}", ReadLimits(pages=39))


def test_300_000_objects(tmp_path):
    objects = bombs.pages(1, bombs.packed(bombs.TEXT)) + ["<< /A 1 >>"] * 300_000
    assert bombs.SENTENCE in read(write_pdf(tmp_path / "a.pdf", objects))


@pytest.mark.parametrize("layers", [1, 3])
def test_a_long_stream(tmp_path, layers):
    import zlib

    data = bombs.zeros(100 << 20)
    for _ in range(layers - 1):
        data = zlib.compress(data, 9)
    filters = "/Filter [" + "/FlateDecode " * layers + "]"
    path = write_pdf(tmp_path / "a.pdf", bombs.pages(1, bombs.stream(data, filters)))
    assert path.stat().st_size < 200_000
    message = (
        r"a\.pdf has a stream that unpacks to more than 64,000,000 bytes\. "
        rf".*{advice('unpacked_bytes')}"
    )
    refused(path, message)
    refused(path, message, HERE)


def test_a_tree_of_pages_without_end(tmp_path):
    kids = [f"<< /Type /Pages /Count 1 /Kids [{n + 3} 0 R] >>" for n in range(12_000)]
    page = "<< /Type /Page /MediaBox [0 0 595 842] >>"
    path = write_pdf(tmp_path / "a.pdf", ["<< /Type /Catalog /Pages 2 0 R >>", *kids, page])
    refused(path, r"a\.pdf is nested too deeply to be read: the limit depth is 200")
    loop = ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Count 1 /Kids [2 0 R] >>"]
    refused(write_pdf(tmp_path / "b.pdf", loop), "holds no text")


SMALL_MEMORY = ReadLimits(memory_bytes=600_000_000, seconds=60)


@pytest.mark.parametrize(
    "objects",
    [
        bombs.pages(1, bombs.packed(bombs.TEXT), font=bombs.WIDE_FONT),
        bombs.pages(
            1,
            bombs.packed(bombs.TEXT),
            font=bombs.MAPPED_FONT,
            further=[bombs.packed(bombs.MAPPING)],
        ),
        bombs.pages(
            1, bombs.packed(bombs.TEXT, "/DecodeParms << /Predictor 12 /Columns 4000000000 >>")
        ),
    ],
    ids=["widths", "characters", "columns"],
)
def test_small_pdfs_that_ask_for_all_memory(tmp_path, objects):
    path = write_pdf(tmp_path / "a.pdf", objects)
    assert path.stat().st_size < 1200
    refused(
        path,
        r"a\.pdf needs more than 600,000,000 bytes of memory to convert\. "
        rf".*{advice('memory_bytes')}",
        SMALL_MEMORY,
    )


@pytest.mark.parametrize(
    "objects",
    [
        bombs.pages(
            1,
            bombs.packed(b"/X5 Do " * 10),
            resources="/XObject << /X5 5 0 R >>",
            further=bombs.forms(10),
        ),
        bombs.pages(1, bombs.packed(bombs.scattered_words(20_000))),
        bombs.pages(5_000, bombs.packed(bombs.TEXT * 1000)),
    ],
    ids=["forms", "words", "pages"],
)
def test_small_pdfs_that_take_hours(tmp_path, objects):
    path = write_pdf(tmp_path / "a.pdf", objects)
    start = time.perf_counter()
    refused(
        path,
        rf"a\.pdf takes more than 2 seconds to convert\. .*{advice('seconds')}",
        ReadLimits(seconds=2),
    )
    assert time.perf_counter() - start < 10


# Sizes of the attacks as they were reported


@pytest.mark.slow
def test_a_document_of_one_gigabyte_of_zeros(tmp_path):
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in bombs.office().items():
            if name != "word/document.xml":
                out.writestr(name, content)
        with out.open("word/document.xml", "w", force_zip64=True) as member:
            for _ in range(1024):
                member.write(bytes(1 << 20))
    start = time.perf_counter()
    refused(path, "unpacks to more than 64,000,000 bytes")
    assert time.perf_counter() - start < 20
    assert io.BytesIO(path.read_bytes()).getbuffer().nbytes < 2_000_000

"""Files into documents: what is read, how it is known again, and what is refused with which
words.
"""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid import Document, split_passages
from factoid.errors import MissingDependencyError, UnreadableFileError
from factoid.files import readers
from factoid.files.readers import find_files, read_documents, read_file
from tests.hostile_texts import seconds
from tools import sample_pdf

PAGE = """<html><head><title>Vasa - Museum</title><style>p {color: red}</style></head>
<body><h1>Vasa</h1><p>The Vasa <b>sank</b> in 1628.</p></body></html>"""


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read_one(path):
    (document,) = read_file(path)
    return document


def test_text_keeps_every_character(tmp_path):
    text = "Erster Absatz.\r\n\r\nZweiter: 日本語 🎉 \x00 Ende.\r\n"
    document = read_one(write(tmp_path / "a.txt", text))
    assert (document.text, document.metadata) == (text, {"source": (tmp_path / "a.txt").as_posix()})
    assert read_one(write(tmp_path / "a.md", b"\xef\xbb\xbf# Title")).text == "# Title"
    lines = b'\xef\xbb\xbf{"text": "one"}\r\n{"text": "two"}\r\n'
    assert [document.text for document in read_file(write(tmp_path / "a.jsonl", lines))] == [
        "one",
        "two",
    ]


def test_id_follows_the_file_not_its_content(tmp_path, monkeypatch):
    path = write(tmp_path / "docs" / "a.txt", "Old.")
    old = read_one(path)
    write(path, "New.")
    monkeypatch.chdir(tmp_path)
    new = read_one("docs/a.txt")
    assert new.text == "New."
    assert new.id == old.id, "an edited file must replace its old version"
    assert new.metadata["source"] == "docs/a.txt"
    assert read_one(write(tmp_path / "docs" / "b.txt", "New.")).id != new.id


def test_folders_are_read_in_order_without_hidden_files(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(readers, "find_spec", lambda _name: None)
    for name in ("b.txt", "a/z.md", "a/A.MARKDOWN", "c.rst", "d.text", "e.jsonl"):
        write(tmp_path / name, '{"text": "x"}')
    for name in (
        ".hidden.txt",
        ".git/config.txt",
        "a/.b/c.md",
        "photo.png",
        "paper.pdf",
        "second.pdf",
        "Makefile",
    ):
        write(tmp_path / name, b"\xff\x00")
    (tmp_path / "loop").symlink_to(tmp_path)
    with caplog.at_level(logging.WARNING):
        found = [path.relative_to(tmp_path).as_posix() for path in find_files([tmp_path])]
    assert found == ["b.txt", "c.rst", "d.text", "e.jsonl", "a/A.MARKDOWN", "a/z.md"]
    assert (
        f"skipped files of other kinds in {tmp_path}: 4 (.pdf, .png, no ending); some are read "
        "after: " in caplog.text
    )
    assert "if they are named" not in caplog.text
    write(tmp_path / "prices.csv", "a,b\n1,2\n")
    with caplog.at_level(logging.WARNING):
        assert tmp_path / "prices.csv" not in find_files([tmp_path])
    assert "tables, logs and JSON are read if they are named" in caplog.text
    caplog.clear()
    assert tmp_path / "prices.csv" in find_files([tmp_path, tmp_path / "prices.csv"])
    assert ": 4 (.pdf, .png, no ending)" in caplog.text  # what is named is not skipped
    monkeypatch.setattr(readers, "find_spec", lambda _name: True)
    assert tmp_path / "second.pdf" in find_files([tmp_path])


def test_reading_is_lazy_but_a_missing_path_is_told_at_once(tmp_path):
    write(tmp_path / "a.txt", "fine")
    write(tmp_path / "b.txt", b"\xff")
    documents = read_documents([tmp_path])
    assert next(documents).text == "fine"
    with pytest.raises(UnreadableFileError, match=r"b\.txt is not text in UTF-8"):
        next(documents)
    with pytest.raises(UnreadableFileError, match=r"absent\.txt does not exist"):
        read_documents([tmp_path, tmp_path / "absent.txt"])
    log = write(
        tmp_path / ".notes.log", "A line."
    )  # if named, it is read whatever it is called, and once
    assert [document.text for document in read_documents([log, log])] == ["A line."]


@pytest.mark.parametrize(
    "content", [b"GIF89a\x00\x01\xff\xfe", b"caf\xe9", "Übung".encode("cp1252")]
)
def test_what_is_no_text_is_refused(tmp_path, content):
    with pytest.raises(
        UnreadableFileError, match=r"is not text in UTF-8: byte 0x.. at offset \d\. Convert it"
    ):
        read_one(write(tmp_path / "x.txt", content))


def test_folders_without_files_and_other_things_are_refused(tmp_path):
    write(tmp_path / "empty" / "photo.png", b"")
    with pytest.raises(
        UnreadableFileError, match=r"holds no file that can be read: expected files that end in"
    ):
        find_files([tmp_path / "empty"])
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(UnreadableFileError, match="neither a file nor a folder"):
        find_files([fifo])


def test_a_file_that_fails_while_it_is_read_is_told(tmp_path, monkeypatch):
    def fail(*_args, **_options):
        raise OSError(5, "Input/output error")

    for name in ("a.txt", "a.jsonl"):
        path = write(tmp_path / name, "x")
        with monkeypatch.context() as patch:
            patch.setattr("factoid.files.regular.open", fail, raising=False)
            with pytest.raises(
                UnreadableFileError, match=rf"{name} cannot be read: Input/output error"
            ):
                list(read_file(path))


# Kinds that are not text


def test_documents_are_converted_to_markdown(tmp_path):
    pytest.importorskip("markitdown")
    page = read_one(write(tmp_path / "vasa.html", PAGE))
    assert page.text == "# Vasa\n\nThe Vasa **sank** in 1628."
    source = (tmp_path / "vasa.html").as_posix()
    assert (page.title, page.metadata) == ("", {"source": source, "content_type": "text/markdown"})
    assert (
        read_one(write(tmp_path / "plain.htm", PAGE.replace("h1>", "p>"))).title == "Vasa - Museum"
    )
    assert "Tide Gauges of the Varnholm Coast" in read_one(sample_pdf.OUTPUT).text
    old = read_one(write(tmp_path / "vasa.html", "<p>Raised in 1961.</p>"))
    assert old.id == page.id, "an edited file must replace its old version"


def test_documents_that_cannot_be_converted_are_one_error(tmp_path):
    pytest.importorskip("markitdown")
    with pytest.raises(UnreadableFileError, match=r"a\.docx cannot be converted: .*zip"):
        read_one(write(tmp_path / "a.docx", b"PK\x03\x04 cut off"))
    pytest.importorskip("PIL.Image").new("RGB", (100, 100)).save(tmp_path / "scan.pdf")
    with pytest.raises(
        UnreadableFileError, match=r"scan\.pdf holds no text: pages that are pictures"
    ):
        read_one(tmp_path / "scan.pdf")


def test_converting_needs_an_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "markitdown", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "factoid\[documents\]"'):
        read_one(write(tmp_path / "a.html", PAGE))


# Front matter


def test_front_matter_becomes_metadata(tmp_path):
    fields = 'title: "Vasa: the ship"\ndate: 2024-05-01\ntags: [ships, museums]\nyear: 1628\ndraft: false\nauthor:\n  name: Anna'
    text = f"---\n{fields}\n---\nThe Vasa sank.\n"
    document = read_one(write(tmp_path / "vasa.md", text))
    assert (document.title, document.text) == ("Vasa: the ship", text)
    assert document.metadata == {
        "source": (tmp_path / "vasa.md").as_posix(),
        "date": "2024-05-01",
        "tags": ["ships", "museums"],
        "year": 1628,
        "draft": False,
        "author": {"name": "Anna"},
    }
    (passage,) = split_passages(document)
    assert (passage.text, passage.title, passage.metadata["year"]) == (
        "The Vasa sank.",
        "Vasa: the ship",
        1628,
    )


def test_front_matter_in_toml(tmp_path):
    text = '+++\ntitle = "Vasa"\ndescription = "A ship"\ndate = 2024-05-01\n[params]\nyear = 1628\n+++\nThe Vasa sank.\n'
    document = read_one(write(tmp_path / "vasa.md", text))
    assert (document.title, document.text) == ("Vasa", text)
    assert document.metadata["description"] == "A ship"
    assert (document.metadata["date"], document.metadata["params"]) == (
        "2024-05-01",
        {"year": 1628},
    )


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings_that_the_first_bytes_show(tmp_path, encoding):
    text = "The Vasa sank in 1628 – Ä."
    assert read_one(write(tmp_path / "a.txt", text.encode(encoding))).text == text
    table = "Name;Weight\r\nTern;5\r\nHeron – Ä;7\r\n".encode(encoding)
    assert [row.text for row in read_file(write(tmp_path / "a.csv", table))] == [
        "Name: Tern\nWeight: 5",
        "Name: Heron – Ä\nWeight: 7",
    ]


@pytest.mark.parametrize(
    "line", ["title: a: b", "day: 2024-02-30", "a: &x [1]\nb: *x", "x: [" + "[" * 5000]
)
def test_front_matter_that_is_no_yaml_is_told_and_costs_no_text(tmp_path, caplog, line):
    with caplog.at_level(logging.WARNING):
        document = read_one(write(tmp_path / "a.md", f"---\n{line}\n---\nText."))
    assert "a.md: its front matter is not YAML and gives no metadata: " in caplog.text
    assert list(document.metadata) == ["source"]
    assert [passage.text for passage in split_passages(document)] == ["Text."]


def test_standard_input(monkeypatch):
    def pipe(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return list(read_documents(["-"]))

    (document,) = pipe("---\nyear: 1628\n---\n# Vasa\n\nÄ sank.".encode())
    assert (document.metadata, document.text[-7:]) == ({"source": "-", "year": 1628}, "Ä sank.")
    assert [document.text for document in pipe(b'{"text": "A."}\n\n{"text": "B."}\n')] == [
        "A.",
        "B.",
    ]
    assert pipe(b"One.")[0].id != pipe(b"Two.")[0].id
    with pytest.raises(UnreadableFileError, match="standard input is not text"):
        pipe(b"\x00\xff")


# Records: JSON lines, JSON and tables


def jsonl(path, *records):
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    return write(path, "\n".join(lines))


def test_jsonl_fields(tmp_path):
    path = jsonl(
        tmp_path / "c.jsonl",
        {
            "text": "A.",
            "title": "T",
            "section": "S",
            "id": "own",
            "metadata": {"year": 1984},
            "lang": "en",
        },
        "",
        {"content": "B.", "id": 7, "title": None, "metadata": None},
        {"page_content": "C.", "metadata": {"title": "From LangChain", "source": "elsewhere"}},
    )
    source = path.as_posix()
    first, second, third = read_file(path)
    assert first == Document("A.", "T", "S", "own", {"source": source, "lang": "en", "year": 1984})
    assert second == Document("B.", id="7", metadata={"source": source})
    assert (third.text, third.title, third.metadata["source"]) == (
        "C.",
        "From LangChain",
        "elsewhere",
    )
    ids = [
        read_one(jsonl(tmp_path / f"{n}.jsonl", {"text": text})).id for n, text in enumerate("AAB")
    ]
    assert ids[0] == ids[1] != ids[2], "the id comes from the content, wherever the file lies"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("not json", "not JSON: Expecting value"),
        ('["text"]', r"expected one JSON object per line, got \['text'\]"),
        ('{"body": "x"}', "expected an object with a field \"text\", got {'body': 'x'}"),
        ('{"text": null}', "text must be a str, got NoneType"),
        ('{"text": "x", "id": true}', "id must be a str, got bool"),
        ('{"text": "x", "metadata": []}', r'expected an object in "metadata", got \[\]'),
        ('{"text": "\\ud83d"}', "lone surrogate"),
        ('{"text": "x", "n": NaN}', "NaN is no JSON number"),
        (b'{"text": "\xff"}', "not UTF-8"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, words):
    line = line if isinstance(line, bytes) else line.encode()
    path = write(tmp_path / "c.jsonl", b'{"text": "fine"}\n\n' + line)
    with pytest.raises(UnreadableFileError, match=words) as raised:
        list(read_file(path))
    assert str(raised.value).startswith(f"{path}:3")


def test_a_table_is_a_document_a_row(tmp_path):
    path = write(tmp_path / "pumps.csv", "\n;;\nName; Weight;\nTern 40;59 kg;x\n;;\nHeron\n")
    first, second = read_file(path)
    assert first.text == "Name: Tern 40\nWeight: 59 kg\ncolumn 3: x"
    assert first.metadata == {
        "source": path.as_posix(),
        "Name": "Tern 40",
        "Weight": "59 kg",
        "column 3": "x",
    }
    assert second.text == "Name: Heron"
    rows = (
        b'\xef\xbb\xbftitle,content,year\r\nVasa,"Sank,\r\nand was ""raised"".",1628\r\nOlm,,\r\n'
    )
    vasa, olm = read_file(write(tmp_path / "facts.csv", rows))
    assert (vasa.text, vasa.title, vasa.metadata["year"]) == (
        'Sank,\r\nand was "raised".',
        "Vasa",
        1628,
    )
    assert (olm.text, olm.title) == ("", "Olm")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "title,text\nSea,Salt, and water.\n",
            r"a\.csv:2: not a table in CSV: more cells than the 2 names",
        ),
        ('title,text\nSea,"Salt.\nLake,Sweet.\n', r"a\.csv:3: not a table in CSV: unexpected end"),
        (
            'title,text\nSea,"Salt" water\n',
            r"a\.csv:2: not a table in CSV: ',' expected after '\"'",
        ),
        ("title,text\nMüller,Ö\n".encode("cp1252"), r"a\.csv:2 is not text in UTF-8"),
        ("title,text,page,page\nSea,Salt.,1,2\n", "several columns are called 'page'"),
        (
            f"{'x' * 501},b\n1,2\n",
            "the name of a column has 501 characters, and at most 500 are read",
        ),
    ],
)
def test_a_damaged_table(tmp_path, content, message):
    with pytest.raises(UnreadableFileError, match=message):
        list(read_file(write(tmp_path / "a.csv", content)))


def test_tables_with_many_columns_take_linear_time(tmp_path):
    def read(columns: int) -> float:
        header = ",".join(f"c{number}" for number in range(columns))
        path = write(tmp_path / "a.csv", f"{header}\n" + "1\n" * columns)
        return seconds(lambda name: [item.text for item in read_file(name)], str(path))

    few = read(2_500)
    assert read(10_000) < 8 * few + 0.1


CELL = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.just("\n"))


@given(st.lists(st.tuples(CELL.filter(str.strip), CELL), min_size=1))
def test_what_python_writes_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("title", "text"), *rows])
    assert [(item.title, item.text) for item in read_file(path)] == [
        (a.strip(), b.strip()) for a, b in rows
    ]


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("240", 240),
        (" -7 ", -7),
        ("4.50", 4.5),
        ("999999999999999", 999_999_999_999_999),
        *(
            (text, text)
            for text in ("00123", "+49301234", "1,290", "1e5", ".5", "1.2.3", "NaN", "٣", "9" * 16)
        ),
    ],
)
def test_a_cell_that_is_a_plain_number_is_one_in_metadata(tmp_path, cell, value):
    path = write(tmp_path / "items.tsv", f"id\ttitle\tprice\n7\t1984\t{cell}\n")
    item = read_one(path)
    assert (item.text, item.title) == (f"id: 7\ntitle: 1984\nprice: {cell.strip()}", "1984")
    assert repr(item.metadata["price"]) == repr(value)
    text = read_one(write(path, f"id\ttitle\tprice\ttext\n7\t1984\t{cell}\t42\n"))
    assert (text.text, text.title, text.id) == ("42", "1984", "7")
    assert repr(text.metadata["price"]) == repr(value)

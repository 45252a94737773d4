"""Files into documents: what is read, how it is known again, and what is refused with which words."""

from __future__ import annotations

import json
import logging
import os

import pytest

from factoid import Document, split_passages
from factoid.errors import UnreadableFileError
from factoid.files import find_files, read_documents, read_file


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
    assert document.text == text
    assert document.metadata == {"source": (tmp_path / "a.txt").as_posix()}
    for passage in split_passages(document):
        assert passage.text == text[passage.start : passage.end]


def test_byte_order_mark_is_no_text(tmp_path):
    assert read_one(write(tmp_path / "a.md", b"\xef\xbb\xbf# Title")).text == "# Title"
    lines = b'\xef\xbb\xbf{"text": "one"}\r\n{"text": "two"}\r\n'
    assert [document.text for document in read_file(write(tmp_path / "a.jsonl", lines))] == ["one", "two"]


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


def test_folders_are_read_in_order_without_hidden_files(tmp_path, caplog):
    for name in ("b.txt", "a/z.md", "a/A.MARKDOWN", "c.rst", "d.text", "e.jsonl"):
        write(tmp_path / name, '{"text": "x"}')
    for name in (".hidden.txt", ".git/config.txt", "a/.b/c.md", "photo.png", "paper.pdf", "second.pdf", "Makefile"):
        write(tmp_path / name, b"\xff\x00")
    with caplog.at_level(logging.WARNING):
        found = [path.relative_to(tmp_path).as_posix() for path in find_files([tmp_path])]
    assert found == ["b.txt", "c.rst", "d.text", "e.jsonl", "a/A.MARKDOWN", "a/z.md"]
    assert "skipped 4 files of other kinds" in caplog.text
    assert "2 .pdf, 1 .png, 1 no ending" in caplog.text


def test_a_file_that_is_named_is_read_whatever_its_ending_and_once(tmp_path):
    path = write(tmp_path / "notes.log", "A line.")
    write(tmp_path / ".secret.txt", "B.")
    found = find_files([path, tmp_path / ".secret.txt", path])
    assert found == [path, tmp_path / ".secret.txt"]
    assert read_one(path).text == "A line."


def test_reading_is_lazy_but_a_missing_path_is_told_at_once(tmp_path):
    write(tmp_path / "a.txt", "fine")
    write(tmp_path / "b.txt", b"\xff")
    documents = read_documents([tmp_path])
    assert next(documents).text == "fine"
    with pytest.raises(UnreadableFileError, match=r"b\.txt is not UTF-8"):
        next(documents)
    with pytest.raises(UnreadableFileError, match=r"absent\.txt does not exist"):
        read_documents([tmp_path, tmp_path / "absent.txt"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"GIF89a\x00\x01\xff\xfe", "is a binary file"),
        (b"caf\xe9", r"is not UTF-8: byte 0xe9 at offset 3\. Convert it"),
        ("Übung".encode("utf-16"), "is UTF-16"),
        (b"lone \xed\xa0\x80 surrogate", "is not UTF-8"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path, content, words):
    with pytest.raises(UnreadableFileError, match=words):
        read_one(write(tmp_path / "x.txt", content))


def test_nul_far_into_a_broken_file_does_not_make_it_binary(tmp_path):
    with pytest.raises(UnreadableFileError, match="is not UTF-8"):
        read_one(write(tmp_path / "x.txt", b"a" * 9000 + b"\x00\xff"))


def test_folders_without_files_and_odd_paths_are_refused(tmp_path):
    write(tmp_path / "empty" / "photo.png", b"")
    with pytest.raises(UnreadableFileError, match=r"holds no file that can be read: expected files that end in"):
        find_files([tmp_path / "empty"])
    with pytest.raises(UnreadableFileError, match=r"cannot be opened|does not exist"):
        find_files(["a\0b"])
    with pytest.raises(UnreadableFileError, match=r"cannot be opened|does not exist"):
        find_files(["x" * 10_000])
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(UnreadableFileError, match="neither a file nor a folder"):
        find_files([fifo])


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_told(tmp_path):
    path = write(tmp_path / "a.txt", "x")
    path.chmod(0)
    with pytest.raises(UnreadableFileError, match=r"a\.txt cannot be read: Permission denied"):
        read_one(path)


def test_a_file_that_fails_while_it_is_read_is_told(tmp_path, monkeypatch):
    def fail(*_args):
        raise OSError(5, "Input/output error")

    for name in ("a.txt", "a.jsonl"):
        path = write(tmp_path / name, "x")
        with monkeypatch.context() as patch:
            patch.setattr(type(path), "read_bytes", fail)
            patch.setattr(type(path), "open", fail)
            with pytest.raises(UnreadableFileError, match=rf"{name} cannot be read: Input/output error"):
                list(read_file(path))


def test_links_that_make_circles_are_not_followed(tmp_path):
    write(tmp_path / "a.txt", "x")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert find_files([tmp_path]) == [tmp_path / "a.txt"]


def jsonl(path, *records):
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    return write(path, "\n".join(lines))


def test_jsonl_fields(tmp_path):
    path = jsonl(
        tmp_path / "c.jsonl",
        {"text": "A.", "title": "T", "section": "S", "id": "own", "metadata": {"year": 1984}, "lang": "en"},
        "",
        {"content": "B.", "id": 7, "title": None, "metadata": None},
        {"page_content": "C.", "metadata": {"title": "From LangChain", "source": "elsewhere"}},
    )
    source = path.as_posix()
    first, second, third = read_file(path)
    assert first == Document("A.", "T", "S", "own", {"source": source, "lang": "en", "year": 1984})
    assert (second.text, second.id, second.title, second.metadata) == ("B.", "7", "", {"source": source})
    assert (third.text, third.title, third.metadata["source"]) == ("C.", "From LangChain", "elsewhere")


def test_jsonl_id_comes_from_the_content_wherever_the_file_lies(tmp_path):
    one = read_one(jsonl(tmp_path / "a.jsonl", {"text": "A."}))
    two = read_one(jsonl(tmp_path / "b.jsonl", {"text": "A."}))
    other = read_one(jsonl(tmp_path / "c.jsonl", {"text": "B."}))
    assert one.id == two.id != other.id


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("not json", "not JSON: Expecting value at column 1"),
        ('["text"]', r'expected an object such as \{"text": "…"\}, got a list'),
        ("3", "got a number"),
        ("{}", 'expected a field "text", got an empty object'),
        ('{"body": "x"}', "expected a field \"text\", got 'body'"),
        ('{"text": null}', 'expected a string in "text", got null'),
        ('{"text": 3}', 'expected a string in "text", got a number'),
        ('{"text": "x", "id": true}', 'expected a string in "id", got true or false'),
        ('{"text": "x", "title": ["a"]}', 'expected a string in "title", got a list'),
        ('{"text": "x", "metadata": []}', 'expected an object in "metadata", got a list'),
        ('{"text": "\\ud83d"}', "lone surrogate"),
        ('{"text": "x", "n": NaN}', "NaN is no JSON number"),
        ("[" * 100_000, "not JSON"),
        (b'{"text": "\xff"}', "is not UTF-8"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, words):
    line = line if isinstance(line, bytes) else line.encode()
    path = write(tmp_path / "c.jsonl", b'{"text": "fine"}\n\n' + line)
    with pytest.raises(UnreadableFileError, match=words) as raised:
        list(read_file(path))
    assert str(raised.value).startswith(f"{path}:3")


def test_a_line_of_two_megabytes_is_read(tmp_path):
    text = "x" * 2_000_000
    assert read_one(jsonl(tmp_path / "c.jsonl", {"text": text})).text == text
    assert read_one(write(tmp_path / "c.txt", text)).text == text


def test_an_empty_file_is_an_empty_document(tmp_path):
    assert read_one(write(tmp_path / "a.txt", b"")).text == ""
    assert list(read_file(write(tmp_path / "a.jsonl", b""))) == []

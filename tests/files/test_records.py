"""Records into documents: JSON lines, JSON and tables, and what is refused with which words."""

from __future__ import annotations

import json

import pytest

from factoid import Document
from factoid.errors import UnreadableFileError
from factoid.files.readers import read_file
from tests.files.test_readers import read_one, write


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
    ids = [read_one(jsonl(tmp_path / f"{n}.jsonl", {"text": text})).id for n, text in enumerate("AAB")]
    assert ids[0] == ids[1] != ids[2]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("not json", "not JSON: Expecting value"),
        ('["text"]', r"expected one JSON object per line, got \['text'\]"),
        ('{"body": "x"}', "expected an object with a field \"text\", got {'body': 'x'}"),
        ('{"text": null}', "text must be a str, got NoneType"),
        ('{"text": "x", "id": true}', "id must be a str, got bool"),
        ('{"text": "x", "title": ["a"]}', "title must be a str, got list"),
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
    path = write(tmp_path / "pumps.csv", "Name;Weight\nTern 40;59 kg\nHeron;\n")
    first, second = read_file(path)
    assert first.text == "Name: Tern 40\nWeight: 59 kg"
    assert first.metadata == {"source": path.as_posix(), "Name": "Tern 40", "Weight": "59 kg"}
    assert second.text == "Name: Heron"
    rows = 'title,content,year\nVasa,"Sank, and was raised.",1628\nOlm,,\n'
    vasa, olm = read_file(write(tmp_path / "facts.csv", rows))
    assert (vasa.text, vasa.title, vasa.metadata["year"]) == ("Sank, and was raised.", "Vasa", "1628")
    assert (olm.text, olm.title) == ("", "Olm")
    with pytest.raises(UnreadableFileError, match=r"pumps\.csv:2: 3 cells under 2 names"):
        list(read_file(write(tmp_path / "pumps.csv", "a,b\n1,2,3\n")))


def test_json_holds_objects_as_json_lines_do(tmp_path):
    one, two = read_file(write(tmp_path / "a.json", '[{"text": "A.", "year": 1984}, {"text": "B.", "id": "b"}]'))
    assert (one.text, one.metadata["year"], two.id) == ("A.", 1984, "b")
    assert read_one(write(tmp_path / "b.json", '{"content": "C."}')).text == "C."
    with pytest.raises(UnreadableFileError, match=r"package\.json: object 1: expected an object with a field"):
        list(read_file(write(tmp_path / "package.json", '{"name": "x"}')))

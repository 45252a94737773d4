"""Documents in Parquet files and compressed JSON lines, and what is none among them."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma

import pytest

from factoid import Document, UnitStore
from factoid.errors import UnreadableFileError
from factoid.files.readers import read_documents, read_each, read_file
from factoid.testing import HashEncoder

RECORDS = [
    {"text": f"Vim has {number} towers.", "title": "Vim", "n": number} for number in range(3)
]
LINES = "\n".join(map(json.dumps, RECORDS)).encode()


@pytest.mark.parametrize(
    ("ending", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_compressed_json_lines_are_those_inside(tmp_path, ending, compress):
    plain = tmp_path / "a.jsonl"
    plain.write_bytes(LINES)
    packed = tmp_path / f"a.jsonl.{ending}"
    packed.write_bytes(compress(LINES))
    texts = [document.text for document in read_file(packed)]
    assert texts == [record["text"] for record in RECORDS]
    assert [document.id for document in read_file(packed)] == [
        document.id for document in read_file(plain)
    ]
    assert len(list(read_documents([tmp_path]))) == 6  # folders hold both


def test_rows_of_parquet_are_documents(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [{**record, "tags": ["a"], "empty": None} for record in RECORDS]
    table = pa.Table.from_pylist(rows)
    vectors = pa.array([[0.5, 1.0]] * 3, pa.list_(pa.float32()))
    parquet.write_table(table.append_column("vector", vectors), tmp_path / "a.parquet")
    documents = list(read_file(tmp_path / "a.parquet"))
    for document, record in zip(documents, RECORDS, strict=True):
        assert (document.text, document.title) == (record["text"], "Vim")
        assert document.metadata == {
            "source": (tmp_path / "a.parquet").as_posix(),
            "n": record["n"],
            "tags": ["a"],
            "empty": None,
        }


def test_parquet_without_documents_is_one_clear_error(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(UnreadableFileError, match=r'row 1: expected an object with a field "text"'):
        list(read_file(tmp_path / "a.parquet"))
    (tmp_path / "b.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(UnreadableFileError, match="cannot be read as Parquet"):
        list(read_file(tmp_path / "b.parquet"))
    with UnitStore(encoder=HashEncoder()) as store:
        store.add_documents([Document("Vim is a town.")])
        store.export(tmp_path / "c.parquet", vectors=False)
    with pytest.raises(UnreadableFileError, match="use factoid store import"):
        list(read_file(tmp_path / "c.parquet"))


def test_each_record_that_is_no_document_is_told_in_its_place(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "One."}\nno JSON\n{"title": "no text"}\n{"text": "Two."}\n')
    first, second, third, fourth = read_each(file)
    assert (first.text, fourth.text) == ("One.", "Two.")
    assert isinstance(second, UnreadableFileError)
    assert str(second).startswith(f"{file}:2: not JSON")
    assert str(third).startswith(f'{file}:3: expected an object with a field "text"')
    with pytest.raises(UnreadableFileError, match=r"a\.jsonl:2: not JSON"):
        list(read_file(file))

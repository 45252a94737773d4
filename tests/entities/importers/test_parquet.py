"""Articles from Parquet files as those of wikimedia/wikipedia."""

from __future__ import annotations

import pytest

from factoid.entities.articles import Article
from factoid.entities.importers import WikipediaParquet
from factoid.errors import UnreadableFileError

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def write(path, first, count, *, rows=7, **columns):
    numbers = range(first, first + count)
    table = {
        "id": [str(n) for n in numbers],
        "url": [f"https://w.example/{n}" for n in numbers],
        "title": [f"T {n}" for n in numbers],
        "text": [f"text {n}" for n in numbers],
    }
    table = {name: column for name, column in (table | columns).items() if column is not None}
    parquet.write_table(pa.table(table), path, row_group_size=rows)


def article(number):
    return Article(f"T {number}", f"text {number}", metadata={"id": str(number), "url": f"https://w.example/{number}"})


def test_from_any_row_on_in_two_files(tmp_path):
    write(tmp_path / "train-0.parquet", 0, 20)
    write(tmp_path / "train-1.parquet", 20, 5)
    (tmp_path / "README.md").write_text("x")
    source = WikipediaParquet(tmp_path)
    for skip in (0, 1, 6, 7, 8, 19, 20, 21, 24, 25, 30):
        assert list(source.read(skip)) == [article(n) for n in range(skip, 25)]


def test_title_and_text_are_enough(tmp_path):
    write(tmp_path / "a.parquet", 0, 1, id=None, url=None)
    assert list(WikipediaParquet(tmp_path / "a.parquet").read()) == [Article("T 0", "text 0")]


def test_other_columns(tmp_path):
    write(tmp_path / "a.parquet", 0, 3, text=None)
    with pytest.raises(UnreadableFileError, match="expected the columns title and text, got id, url, title: no text"):
        list(WikipediaParquet(tmp_path / "a.parquet").read())


def test_a_row_without_text(tmp_path):
    write(tmp_path / "a.parquet", 0, 3, text=["x", None, "y"])
    with pytest.raises(UnreadableFileError, match=r"a\.parquet, row 2: text must be a str, got NoneType"):
        list(WikipediaParquet(tmp_path / "a.parquet").read())


def test_a_file_without_rows(tmp_path):
    write(tmp_path / "a.parquet", 0, 0)
    assert list(WikipediaParquet(tmp_path / "a.parquet").read()) == []


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[:-20], lambda raw: raw[: len(raw) // 2], lambda raw: b"", lambda raw: b"x" * 90]
)
def test_damaged(tmp_path, damage):
    path = tmp_path / "a.parquet"
    write(path, 0, 100)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UnreadableFileError, match=r"a\.parquet cannot be read as Parquet: "):
        list(WikipediaParquet(path).read())

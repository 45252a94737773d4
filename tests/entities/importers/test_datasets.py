"""Articles of KILT and of Parquet files."""

from __future__ import annotations

import gzip
import tracemalloc

import pytest

from factoid.entities import Article
from factoid.entities.importers import read_kilt, read_parquet
from factoid.errors import UnreadableFileError
from factoid.files.limits import ReadLimits

KILT = r"""
{"wikipedia_title": "Sea", "wikipedia_id": "1", "text": ["Sea", "Salt.\n", "Section::::Seas.:North.", "BULLET::::- North Sea",
    "BULLET::::1. One"], "anchors": [{"text": "salt", "href": "table%20salt", "paragraph_id": 1, "start": 11, "end": 15},
    {"text": "here", "href": "#Seas"}, {"text": null, "href": "X"}],
    "wikidata_info": {"wikidata_id": "Q165", "aliases": {"alias": ["Ocean", "main"]}}}
{"wikipedia_title": "Lake", "text": ["Lake", "Sweet."], "anchors": [], "wikidata_info": null}
""".replace("\n    ", " ")


def test_kilt(tmp_path):
    (tmp_path / "kilt.json").write_text(KILT)
    ids = {"id": "1", "wikidata_id": "Q165"}
    assert list(read_kilt(tmp_path / "kilt.json")) == [
        Article(
            "Sea", "Salt.\nNorth Sea\n1. One", ("Ocean", "main"), (("salt", "Table salt"),), ids
        ),
        Article("Lake", "Sweet."),
    ]


@pytest.mark.parametrize(
    "line",
    ["{", "[1]", '{"wikipedia_title": "A"}', '{"wikipedia_title": 3, "text": ["A"]}', '{"a": NaN}'],
)
def test_a_damaged_line_is_named(tmp_path, line):
    (tmp_path / "kilt.json").write_text(f"{KILT}{line}\n")
    with pytest.raises(UnreadableFileError, match=r"kilt\.json:4: ."):
        list(read_kilt(tmp_path / "kilt.json"))


def test_a_damaged_archive_is_named(tmp_path):
    (tmp_path / "kilt.json.gz").write_bytes(gzip.compress(KILT.encode())[:-9])
    with pytest.raises(
        UnreadableFileError, match=r"kilt\.json\.gz is damaged or cut short after line \d"
    ):
        list(read_kilt(tmp_path / "kilt.json.gz"))


def write_parquet(path, **columns):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table(columns), path)


def test_rows_of_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    write_parquet(
        path, id=["1", "2"], url=["u", "v"], title=["A", "B"], text=["x", "y"], more=[1, 2]
    )
    assert list(read_parquet(path)) == [
        Article("A", "x", metadata={"id": "1", "url": "u"}),
        Article("B", "y", metadata={"id": "2", "url": "v"}),
    ]
    write_parquet(path, title=["A"], text=["x"])
    assert list(read_parquet(path)) == [Article("A", "x")]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"title": ["A"]}, "expected the columns title and text, got title"),
        (
            {"title": ["A", "B"], "text": ["x", None]},
            r"a\.parquet, row 2: text must be a str, got NoneType",
        ),
    ],
)
def test_parquet_without_texts(tmp_path, columns, message):
    write_parquet(tmp_path / "a.parquet", **columns)
    with pytest.raises(UnreadableFileError, match=message):
        list(read_parquet(tmp_path / "a.parquet"))


@pytest.mark.parametrize("damage", [lambda raw: raw[: len(raw) // 2], lambda raw: b"x" * 90])
def test_damaged_parquet(tmp_path, damage):
    path = tmp_path / "a.parquet"
    write_parquet(path, title=["A"] * 100, text=["x"] * 100)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UnreadableFileError, match=r"a\.parquet cannot be read as Parquet: "):
        list(read_parquet(path))


def test_long_texts_are_refused(tmp_path):
    limits = ReadLimits(unpacked_bytes=1000)
    path = tmp_path / "kilt.json.gz"
    path.write_bytes(gzip.compress(KILT.encode() + b"0" * 2000))
    with pytest.raises(
        UnreadableFileError, match=r"kilt\.json\.gz:4: the line has more than 1,000 bytes"
    ):
        list(read_kilt(path, limits=limits))
    path = tmp_path / "a.parquet"
    write_parquet(path, title=["A", "B"], text=["x", "y" * 1001])
    with pytest.raises(
        UnreadableFileError, match=r"a\.parquet, row 2: the text has more than 1,000 characters"
    ):
        list(read_parquet(path, limits=limits))


def test_one_long_text_in_many_rows_is_not_unpacked_for_all_of_them(tmp_path):
    path = tmp_path / "a.parquet"
    text = "Salt. " * 40_000
    write_parquet(path, title=[f"A{n}" for n in range(1000)], text=[text] * 1000)
    tracemalloc.start()
    try:
        assert next(read_parquet(path)).text == text
        assert tracemalloc.get_traced_memory()[1] < 30 * len(text)
    finally:
        tracemalloc.stop()

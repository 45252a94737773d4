"""Articles from tables: CSV as spreadsheets save it, and Parquet."""

from __future__ import annotations

import bz2
import csv
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.articles import Article, Redirect
from factoid.entities.importers import ArticleCsv, WikipediaParquet
from factoid.entities.importers.detect import detect, make_sources
from factoid.errors import UnreadableFileError

TABLE = """title,text,aliases,redirects,page
Sea,"Salt water,
and much of it.","Ocean; the deep|Main",Big water,12

Lake,Sweet water.,,,
"Pond (garden)","A ""small"" lake.",,,7
"""
RECORDS = [
    Article("Sea", "Salt water,\nand much of it.", ("Ocean", "the deep", "Main"), metadata={"page": "12"}),
    Redirect("Big water", "Sea"),
    Article("Lake", "Sweet water."),
    Article("Pond (garden)", 'A "small" lake.', metadata={"page": "7"}),
]


@pytest.fixture
def write(tmp_path):
    def save(content, name="a.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return save


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (TABLE, "a.csv"),
        (b"\xef\xbb\xbf" + TABLE.encode(), "a.csv"),
        (TABLE.replace("\n", "\r\n").replace(",\r\nand", ",\nand"), "a.csv"),
        (gzip.compress(TABLE.encode()), "a.csv.gz"),
        (bz2.compress(TABLE.encode()), "a.csv.bz2"),
        (TABLE.replace("title,text,", "Title , TEXT,"), "A.CSV"),
    ],
)
def test_as_spreadsheets_save_it(write, content, name):
    path = write(content, name)
    assert detect(path) == "csv"
    for skip in (0, 1, 2, 5):
        assert list(ArticleCsv(path).read(skip)) == RECORDS[skip:]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ('title,text,notes\nSea,"Salt, much",12', "a.csv"),
        ('title;text;notes\nSea;"Salt, much";12', "a.csv"),
        ("title\ttext\tnotes\nSea\tSalt, much\t12", "a.csv"),
        ("title\ttext\tnotes\nSea\tSalt, much\t12", "a.tsv"),
        ("sep=;\ntitle;text;notes\nSea;Salt, much;12", "a.csv"),
        ('title;text;"notes, more, x"\nSea;Salt, much;12', "a.csv"),
        ('title;text;"no, tes"\nSea;Salt, much;12', "a.csv"),
        ('"title";text;"notes,\nand, more"\nSea;Salt, much;12', "a.csv"),
        ("\n;;\ntitle;text;notes\nSea;Salt, much;12", "a.csv"),
        ("notes;TEXT;Title\n12;Salt, much;Sea", "a.csv"),
    ],
)
def test_separators_and_heads(write, content, name):
    path = write(content, name)
    assert detect(path) == "csv"
    [article] = ArticleCsv(path).read()
    assert (article.title, article.text, list(article.metadata.values())) == ("Sea", "Salt, much", ["12"])


def test_redirects_are_no_table(write):
    with pytest.raises(UnreadableFileError, match="A file of redirects goes with --redirects"):
        list(ArticleCsv(write("Main\tSea\n", "more.tsv")).read())


def test_other_columns(write):
    path = write("Term,Definition,text,ID\nSea,Salt.,n,s-1\n")
    assert list(ArticleCsv(path, title_key="term", text_key="definition").read()) == [
        Article("Sea", "Salt.", metadata={"text": "n"}, document_id="s-1")
    ]
    [source] = make_sources([path], title_key="Term", text_key="Definition")
    assert "title_key='Term'" in source.name


CELL = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.just("\n"))


@given(st.lists(st.tuples(CELL.filter(str.strip), CELL), min_size=1))
def test_what_python_writes_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("title", "text"), *rows])
    expected = [(title.strip(), text) for title, text in rows]
    assert [(record.title, record.text) for record in ArticleCsv(path).read()] == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"expected one column 'title' and one 'text', got an empty file"),
        ("name,body\nSea,Salt.\n", r"got 'name', 'body'. Say what they are called"),
        ("title,text\nSea,Salt, and water.\n", r"a\.csv:2: 3 cells under 2 names"),
        ('title,text\nSea,"Salt.\nLake,Sweet.\n', r"a\.csv:2: the row that begins here is not CSV: unexpected end"),
        ('title,text\nSea,"Salt" water\n', r"a\.csv:2: .* is not CSV: ',' expected after '\"'"),
        ("title,text\nMüller,Ö\n".encode("cp1252"), r"a\.csv:2: not UTF-8: .* as CSV in UTF-8"),
        (gzip.compress(TABLE.encode())[:-9], r"a\.csv is damaged or cut short"),
        ("title,text\nSea,Salt water.\n,Nothing.\n", r"a\.csv:3: a row without a title"),
        ("title,text,page,page\nSea,Salt.,1,2\n", r"several columns are called 'page'"),
        ('title\ttext\nA\t"Big\nB\tsmall"\nC\td\n', r"a\.csv:2: .* is not CSV: .* extends over tabs"),
    ],
)
def test_damage(write, content, message):
    path = write(content)
    with pytest.raises(UnreadableFileError, match=message):
        list(ArticleCsv(path).read())


def write_parquet(path, numbers, **columns):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = {"id": map(str, numbers), "title": [f"T {n}" for n in numbers], "text": [f"text {n}" for n in numbers]}
    table = {name: list(column) for name, column in (table | columns).items() if column is not None}
    parquet.write_table(pa.table(table), path, row_group_size=7)


def test_rows_of_several_files(tmp_path):
    for file, numbers in enumerate([range(20), range(20, 25), range(0)]):
        write_parquet(tmp_path / f"train-{file}.parquet", numbers, url=[f"https://w.example/{n}" for n in numbers])
    (tmp_path / "README.md").write_text("x")
    articles = [
        Article(f"T {n}", f"text {n}", metadata={"id": f"{n}", "url": f"https://w.example/{n}"}) for n in range(25)
    ]
    for skip in (0, 7, 20, 26):
        assert list(WikipediaParquet(tmp_path).read(skip)) == articles[skip:]
    write_parquet(tmp_path / "train-0.parquet", range(1), id=None)
    assert next(WikipediaParquet(tmp_path).read()) == Article("T 0", "text 0")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (None, "expected the columns title and text, got id, title: no text"),
        (["x", None, "y"], r"a\.parquet, row 2: text must be a str, got NoneType"),
    ],
)
def test_parquet_without_texts(tmp_path, texts, message):
    write_parquet(tmp_path / "a.parquet", range(3), text=texts)
    with pytest.raises(UnreadableFileError, match=message):
        list(WikipediaParquet(tmp_path / "a.parquet").read())


@pytest.mark.parametrize("damage", [lambda raw: raw[: len(raw) // 2], lambda raw: b"", lambda raw: b"x" * 90])
def test_damaged_parquet(tmp_path, damage):
    path = tmp_path / "a.parquet"
    write_parquet(path, range(100))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(UnreadableFileError, match=r"a\.parquet cannot be read as Parquet: "):
        list(WikipediaParquet(path).read())

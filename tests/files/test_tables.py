"""Tables of delimited text as people export them: no cell is lost."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid import split_passages
from factoid.errors import UnreadableFileError
from factoid.files.limits import ReadLimits
from factoid.files.readers import read_file
from tests.files.test_readers import write


def texts(tmp_path, content, name="a.csv"):
    return [document.text for document in read_file(write(tmp_path / name, content))]


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        # names of rows under an empty header
        (",Sun,Rain\nVarn,5,7\n", ["Varn\nSun: 5\nRain: 7"]),
        (",Sun,Rain\n0,5,7\n", ["column 1: 0\nSun: 5\nRain: 7"]),
        (",Sun\nVarn: old,5\n", ["column 1: Varn: old\nSun: 5"]),
        # columns without a name
        ("Town,Sun,,\nVarn,5,wet,\n", ["Town: Varn\nSun: 5\ncolumn 3: wet"]),
        ("Town,,Sun\nVarn,wet,5\n", ["Town: Varn\ncolumn 2: wet\nSun: 5"]),
        ("Town,column 3\nVarn,5,wet\n", ["Town: Varn\ncolumn 3: 5\ncolumn 3 (unnamed): wet"]),
        # rows that are longer or shorter than the header
        (
            "Town,Sun\nVarn,5,wet,cold\nOlm\n",
            ["Town: Varn\nSun: 5\ncolumn 3: wet\ncolumn 4: cold", "Town: Olm"],
        ),
        # a header of two rows, a rule below it, and a note below the table
        (
            ",2023,,2024,\n,Sun,Rain,Sun,Rain\nVarn,5,3,7,4\nOlm,2,1,3,2\n",
            [
                "Varn\n2023 / Sun: 5\n2023 / Rain: 3\n2024 / Sun: 7\n2024 / Rain: 4",
                "Olm\n2023 / Sun: 2\n2023 / Rain: 1\n2024 / Sun: 3\n2024 / Rain: 2",
            ],
        ),
        ("|Town|Sun|\n|---|--:|\n|Varn|5|\n", ["Town: Varn\nSun: 5"]),
        (
            "Town,Sun\nVarn,5\n\nSource: the mill,\n",
            ["Town: Varn\nSun: 5", "Source: the mill"],
        ),
        ("Town\nVarn\n\nOlm\n", ["Town: Varn", "Town: Olm"]),
        # delimiters
        ('"Town";"Sun, rain"\n"Varn";"1,5"\n', ["Town: Varn\nSun, rain: 1,5"]),
        ("Town|Sun\nVarn|5\n", ["Town: Varn\nSun: 5"]),
        ("|Town|Sun|\n|Varn|5|\n", ["Town: Varn\nSun: 5"]),
        ("Town\tSun\nVarn, old\t5\n", ["Town: Varn, old\nSun: 5"]),
        (
            "Town;Sun\nVarn, old;5,5\nOlm, new, big;1\n",
            ["Town: Varn, old\nSun: 5,5", "Town: Olm, new, big\nSun: 1"],
        ),
        ("sep=,\nTown,Sun;Rain\nVarn,5;7\n", ["Town: Varn\nSun;Rain: 5;7"]),
        ('"sep=|"\r\nTown|Sun\r\nVarn|5\r\n', ["Town: Varn\nSun: 5"]),
        ("sep=^\nTown^Sun\nVarn^5\n", ["Town: Varn\nSun: 5"]),
        ('Town, Note\nVarn, "wet, cold"\n', ["Town: Varn\nNote: wet, cold"]),
        # one column, old line ends, nothing below the header
        ("Town\nVarn\nOlm\n", ["Town: Varn", "Town: Olm"]),
        ('Town,Note\rVarn,"a\rb"\rOlm,c', ["Town: Varn\nNote: a\rb", "Town: Olm\nNote: c"]),
        ("Town,Sun\n", []),
        ("", []),
        # no header
        ("Oslo,709037\nBergen,291940\n", ["Oslo\ncolumn 2: 709037", "Bergen\ncolumn 2: 291940"]),
        (
            "Ann;a@x.org;40\nBo;b@x.org;40\n",
            ["Ann\ncolumn 2: a@x.org\ncolumn 3: 40", "Bo\ncolumn 2: b@x.org\ncolumn 3: 40"],
        ),
        (
            "2021-04-01,wet\n2021-04-02,dry\n",
            ["2021-04-01\ncolumn 2: wet", "2021-04-02\ncolumn 2: dry"],
        ),
        ("Jaws,1975\nAlien,1979\n", ["Jaws\ncolumn 2: 1975", "Alien\ncolumn 2: 1979"]),
        # numbers and days that are names
        ("Town,2023,2024\nVarn,5,7\n", ["Town: Varn\n2023: 5\n2024: 7"]),
        ("Town,2024\nVarn,5\n", ["Town: Varn\n2024: 5"]),
        ("Shoe,36,38,40\nPrice,10,12,14\n", ["Shoe: Price\n36: 10\n38: 12\n40: 14"]),
        (",7,9,20\nVarn,5,7,1\n", ["Varn\n7: 5\n9: 7\n20: 1"]),
        ("Town,2024-01-01\nVarn,5\n", ["Town: Varn\n2024-01-01: 5"]),
        # a second row of names below merged cells
        (
            "Town,2023,,2024,\n,Sun,Rain,Sun,Rain\nVarn,1,2,3,4\n",
            ["Town: Varn\n2023 / Sun: 1\n2023 / Rain: 2\n2024 / Sun: 3\n2024 / Rain: 4"],
        ),
        ("Town,Sun,\nVarn,5,wet\n,7,\n", ["Town: Varn\nSun: 5\ncolumn 3: wet", "Sun: 7"]),
    ],
)
def test_every_cell_is_read(tmp_path, content, rows):
    assert texts(tmp_path, content) == rows


@pytest.mark.parametrize(
    ("content", "title", "row"),
    [
        ("Weather,,\nTown,Sun,Rain\nVarn,5,7\n", "Weather", "Town: Varn\nSun: 5\nRain: 7"),
        ("Weather\nTown,Sun,Rain\nVarn,5,7\n", "Weather", "Town: Varn\nSun: 5\nRain: 7"),
        ("Weather,\n\nTown,Sun\nVarn,5\nOlm,6\n", "Weather", "Town: Varn\nSun: 5"),
        (
            "Weather,,,\nDays of,2024,,\n\nTown,Sun,Rain,Snow\nVarn,5,7,\n",
            "Weather, Days of, 2024",
            "Town: Varn\nSun: 5\nRain: 7",
        ),
        ("Weather;;\nTown;2023;2024\nVarn;5;7\n", "Weather", "Town: Varn\n2023: 5\n2024: 7"),
        # not a title: nothing shows that the second row names columns
        ("Town,\nVarn,wet\nOlm,dry\n", "", "Town: Varn\ncolumn 2: wet"),
        ("Town\nVarn,5\nOlm,6\n", "", "Town: Varn\ncolumn 2: 5"),
    ],
)
def test_rows_above_the_header_are_the_title(tmp_path, content, title, row):
    first = next(read_file(write(tmp_path / "a.csv", content)))
    assert (first.title, first.text) == (title, row)


def test_a_title_of_a_row_is_its_own(tmp_path):
    content = "Ships,,\ntitle,text,year\nVasa,It sank.,1628\n"
    (document,) = read_file(write(tmp_path / "a.csv", content))
    assert (document.title, document.text, document.metadata["year"]) == ("Vasa", "It sank.", 1628)


def test_a_long_row_keeps_its_short_cells_together(tmp_path):
    plot = " ".join(f"The ship number {number} left the old harbour." for number in range(30))
    content = (
        f'Year,Name,Captain,Plot,Place\n1628,Vasa,Hans,"{plot}",Oslo\n1630,Ara,Nils,It sank.,Rome\n'
    )
    long, short = read_file(write(tmp_path / "a.csv", content))
    assert (long.title, short.title) == ("Vasa", "")
    passages = split_passages(long)
    assert passages[0].text == "Year: 1628\nName: Vasa\nCaptain: Hans"
    assert {passage.title for passage in passages} == {"Vasa"}
    assert [passage.text for passage in split_passages(short)] == [
        "Year: 1630\nName: Ara\nCaptain: Nils\nPlot: It sank.\nPlace: Rome"
    ]


def test_tabs_are_tried_first_in_tsv(tmp_path):
    assert texts(tmp_path, "a\tb,c\n1\t2,3\n", "a.tsv") == ["a: 1\nb,c: 2,3"]
    assert texts(tmp_path, "a,b\n1,2\n", "a.tsv") == ["a: 1\nb: 2"]


def test_errors_count_all_lines(tmp_path):
    with pytest.raises(UnreadableFileError, match=r"a\.csv:5: not a table in CSV"):
        texts(tmp_path, '\n\nsep=;\na;b\n"1"x;2\n')
    with pytest.raises(UnreadableFileError, match=r"several columns are called 'a'"):
        texts(tmp_path, "a,b,a\n1,2,3\n")


def test_a_table_is_not_limited_as_a_whole(tmp_path):
    rows = "a,b\n" + "1,2\n" * 200
    path = write(tmp_path / "a.csv", rows)
    assert len([*read_file(path, limits=ReadLimits(unpacked_bytes=50))]) == 200


CELL = st.text(st.characters(exclude_categories=["Cs", "Cc"])).map(str.strip)


@given(
    st.lists(st.lists(CELL, min_size=1, max_size=5), min_size=1, max_size=8),
    st.sampled_from(",;\t|"),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_no_cell_is_lost(tmp_path_factory, rows, delimiter, encoding):
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([["Town", "Sun"], *rows])
    path = write(tmp_path_factory.mktemp("csv") / "a.csv", file.getvalue().encode(encoding))
    try:
        documents = [*read_file(path)]
    except UnreadableFileError:
        return  # such as two columns of one name
    if not documents:
        return
    kept = "\n".join(
        [documents[0].title, *(document.text for document in documents), str(documents)]
    )
    for row in rows:
        for cell in row:
            assert cell in kept or repr(cell)[1:-1] in kept

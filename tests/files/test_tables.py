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
from factoid.words import without_traceless
from tests.files.test_readers import write


def texts(tmp_path, content, name="a.csv"):
    return [document.text for document in read_file(write(tmp_path / name, content))]


VARN_OF_THREE = "Town: Varn\nSky: grey\ncolumn 3: cold"
ELM = "Town: Elm\nSun: 8\nRain: 9"
OLD_AND_NEW = ["Old\nFlour: wet\ncolumn 3: dry", "New\nFlour: dry\ncolumn 3: wet"]


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
        # years below merged cells, also where their name is repeated or the rows' name is below
        (
            "Mill,Flour,,Bran,\n,1998,1999,1998,1999\nOld,5,6,n/a,8\nNew,2,3,4,5\n",
            [
                "Mill: Old\nFlour / 1998: 5\nFlour / 1999: 6\nBran / 1998: n/a\nBran / 1999: 8",
                "Mill: New\nFlour / 1998: 2\nFlour / 1999: 3\nBran / 1998: 4\nBran / 1999: 5",
            ],
        ),
        (
            ",Flour,Flour,Bran,Bran\n,1998,1999,1998,1999\nOld,5,6,7,8\n",
            ["Old\nFlour / 1998: 5\nFlour / 1999: 6\nBran / 1998: 7\nBran / 1999: 8"],
        ),
        (
            ",Flour,,Bran,\nMill,in,out,in,out\nOld,5,6,7,8\n",
            ["Mill: Old\nFlour / in: 5\nFlour / out: 6\nBran / in: 7\nBran / out: 8"],
        ),
        (
            "Mill,Flour,\nMill,1998,1999\nOld,5,6\n",
            ["Mill: Old\nFlour / 1998: 5\nFlour / 1999: 6"],
        ),
        # rows below a header with an empty name
        (",Flour,\nOld,wet,dry\nNew,dry,wet\n", OLD_AND_NEW),
        (
            "Mill,Built,\nOld,1998,1999\nNew,2001,2002\n",
            ["Mill: Old\nBuilt: 1998\ncolumn 3: 1999", "Mill: New\nBuilt: 2001\ncolumn 3: 2002"],
        ),
        (
            ",Built,\nOld,1998,1999\nNew,2001,2002\n",
            ["Old\nBuilt: 1998\ncolumn 3: 1999", "New\nBuilt: 2001\ncolumn 3: 2002"],
        ),
        # notes directly below a table
        (
            "Town,Sun\nVarn,5\nRemark: by eye,\n* no rain\n",
            ["Town: Varn\nSun: 5", "Remark: by eye", "* no rain"],
        ),
        (
            "Town,Sun\nVarn,5\nHours are counted from May on.\n",
            ["Town: Varn\nSun: 5", "Hours are counted from May on."],
        ),
        # rows of which only the first cell is known
        ("Town,Sun\nVarn,5\nOlm Old Town,\n", ["Town: Varn\nSun: 5", "Town: Olm Old Town"]),
        (
            "Town,Sun\nVarn,5\nUpland: hilly,\nOlm,6\n",
            ["Town: Varn\nSun: 5", "Town: Upland: hilly", "Town: Olm\nSun: 6"],
        ),
        (
            "Said,By\nThe mill is very old.,Ann\nIt turns all day long.,\n",
            ["Said: The mill is very old.\nBy: Ann", "Said: It turns all day long."],
        ),
        ("Note\nSource: the mill\n", ["Note: Source: the mill"]),
        ("text,By\nIt turns.,Ann\n\nIt is old.,\n", ["It turns.", "It is old."]),
        # characters that leave no trace in names
        ("\u200bTown\u2060,\u00a0S\u00adun\nVarn,5\u200b\n", ["Town: Varn\nSun: 5\u200b"]),
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
        # a narrower block above a blank line
        (
            "Weather,1998\n\nTown,Sky,Rain\nVarn,grey,7\nOlm,blue,6\n",
            "Weather, 1998",
            "Town: Varn\nSky: grey\nRain: 7",
        ),
        (
            "By,Ann\nOn,1998-05-01\n\nTown,Sky,Wind\nVarn,grey,high\n",
            "By, Ann, On, 1998-05-01",
            "Town: Varn\nSky: grey\nWind: high",
        ),
        # comments
        ("# by Ann, and Bo\n#\nTown,Sun\nVarn,5\n", "by Ann, and Bo", "Town: Varn\nSun: 5"),
        ("##by=Ann\n##on=May\n#Town,Sun\nVarn,5\n", "by=Ann, on=May", "#Town: Varn\nSun: 5"),
        ("# by Ann\nVarn,5\nOlm,6\n", "by Ann", "Varn\ncolumn 2: 5"),
        ("# by Ann\n# Town,Sun\nVarn,5\n", "by Ann", "# Town: Varn\nSun: 5"),
        ("# Town,Sky\nVarn,grey\nOlm,blue\n", "", "# Town: Varn\nSky: grey"),
        ("#,Town,Sun\n1,Varn,5\n", "", "#: 1\nTown: Varn\nSun: 5"),
        ("#town,sun\n#varn,5\nolm,6\n", "", "#town: #varn\nsun: 5"),
        # not a title: the rows above are a table, or each row is above a blank line
        (
            "Town,Sun\nVarn,5\n\nMill,Owner,Age\nOld,Ann,9\nNew,Bo,8\n",
            "",
            "Town: Varn\nSun: 5",
        ),
        ("Town,Sky\n\nVarn,grey,cold\n\nOlm,blue,hot\n", "", VARN_OF_THREE),
        # not a title: nothing shows that the second row names columns
        ("Town,\nVarn,wet\nOlm,dry\n", "", "Town: Varn\ncolumn 2: wet"),
        ("Town\nVarn,5\nOlm,6\n", "", "Town: Varn\ncolumn 2: 5"),
    ],
)
def test_rows_above_the_header_are_the_title(tmp_path, content, title, row):
    first = next(read_file(write(tmp_path / "a.csv", content)))
    assert (first.title, first.text) == (title, row)


@pytest.mark.parametrize(
    ("below", "read"),
    [
        # another table: it has another width and stands above numbers, or repeats a name
        ("Mill,Age\nOld,90\nNew,8\n", [("", "Mill: Old\nAge: 90"), ("", "Mill: New\nAge: 8")]),
        ("Mills\nMill,Age\nOld,90\n", [("Mills", "Mill: Old\nAge: 90")]),
        ("Mills,,\n\n\nMill,Age,\nOld,90,\n", [("Mills", "Mill: Old\nAge: 90")]),
        ("Town,Wind,Snow\nVarn,high,deep\n", [("", "Town: Varn\nWind: high\nSnow: deep")]),
        (
            "Source: the mill\n\nMill,Age\nOld,90\n",
            [("Days", "Source: the mill"), ("", "Mill: Old\nAge: 90")],
        ),
        (
            "Mill,Flour,,Bran,\n,1998,1999,1998,1999\nOld,5,6,7,8\n",
            [("", "Mill: Old\nFlour / 1998: 5\nFlour / 1999: 6\nBran / 1998: 7\nBran / 1999: 8")],
        ),
        # rows of the table above
        ("Olm,6,7\nElm,8,9\n", [("Days", "Town: Olm\nSun: 6\nRain: 7"), ("Days", ELM)]),
        ("Olm,n/a\nElm,8\n", [("Days", "Town: Olm\nSun: n/a"), ("Days", "Town: Elm\nSun: 8")]),
        ("Olm,dry,wet\nElm,8,9\n", [("Days", "Town: Olm\nSun: dry\nRain: wet"), ("Days", ELM)]),
        ("Olm,dry\nElm,wet\n", [("Days", "Town: Olm\nSun: dry"), ("Days", "Town: Elm\nSun: wet")]),
        ("Olm,dry\n\nElm,8,9\n", [("Days", "Town: Olm\nSun: dry"), ("Days", ELM)]),
        ("Total,8\n", [("Days", "Town: Total\nSun: 8")]),
    ],
)
def test_tables_below_a_table(tmp_path, below, read):
    content = f"Days\nTown,Sun,Rain\nVarn,5,7\n\n{below}"
    documents = [*read_file(write(tmp_path / "a.csv", content))]
    assert [(document.title, document.text) for document in documents[1:]] == read


def test_rows_before_a_damaged_one_are_read(tmp_path):
    rows = read_file(write(tmp_path / "a.csv", 'Town,Sun\nVarn,5\n\nOlm,6\n"Elm"x,7\n'))
    assert [next(rows).text, next(rows).text] == ["Town: Varn\nSun: 5", "Town: Olm\nSun: 6"]
    with pytest.raises(UnreadableFileError, match=r"a\.csv:5: not a table in CSV"):
        next(rows)


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
    kept = "\n".join([*(document.text for document in documents), str(documents)])
    for row in rows:
        for cell in row:
            name = without_traceless(cell).strip()
            assert any(text in kept for text in (cell, name, repr(cell)[1:-1]))

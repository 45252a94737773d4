"""PDFs with text into layouts, and pages as pictures."""

from __future__ import annotations

import pytest

from factoid.documents import Region, clean, draw_regions, read_layout, read_pdf
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.files.limits import ReadLimits
from tests.conftest import DATA
from tests.files import bombs
from tools import sample_pdf

pytest.importorskip("pdfplumber")
pytest.importorskip("pypdfium2")

SAMPLE = sample_pdf.OUTPUT


def test_the_sample_is_what_its_tool_makes():
    assert SAMPLE.read_bytes() == sample_pdf.make_pdf()


def test_text_roles_and_words():
    layout = read_pdf(SAMPLE)
    roles = [
        (element.role, layout.content[slice(*element.spans[0])].split(".")[0])
        for element in layout.elements
    ]
    assert [role for role in roles if role[0]] == [
        ("title", "Tide Gauges of the Varnholm Coast"),
        ("sectionHeading", "1 The gauges"),
        ("sectionHeading", "2 Levels"),
        ("sectionHeading", "3 Care of the wells"),
    ]
    assert [
        (page.number, round(page.width * 72), round(page.height * 72)) for page in layout.pages
    ] == [
        (1, 595, 842),
        (2, 595, 842),
    ]
    printed = [layout.content[word.start : word.end] for word in layout.words]
    assert printed == layout.content.split()
    mussels = next(
        word for word in layout.words if layout.content[word.start : word.end] == "mussels"
    )
    line = sample_pdf.PAGES[1][2]
    assert (mussels.page, round(mussels.rectangle[3] * 72)) == (
        2,
        line[3] + 2,
    )  # the baseline, and what hangs below


def test_a_ruled_table():
    (table,) = read_pdf(SAMPLE).tables
    assert (table.row_count, table.column_count, table.header_rows, table.pages) == (6, 5, 2, (1,))
    assert [[cell.text for cell in row.cells] for row in table.rows()] == [
        list(row) for row in sample_pdf.ROWS
    ]
    assert table.headers() == [
        ("Gauge",),
        ("2021", "Highest"),
        ("2021", "Mean"),
        ("2022", "Highest"),
        ("2022", "Mean"),
    ]
    assert table.caption == "Table 1: Levels in centimetres above the zero of each gauge."
    left, top = table.regions[0].rectangle[:2]
    assert (round(left * 72), round(top * 72)) == (sample_pdf.COLUMNS[0], sample_pdf.TABLE_TOP)


def test_it_is_cleaned_as_any_layout():
    document = clean(read_layout(str(SAMPLE)))
    paths = [part.path for part in document.parts if part.kind == "text"]
    assert paths == [("1 The gauges",), ("2 Levels",), ("3 Care of the wells",)]
    assert "A float measures the level every six minutes" in document.text
    assert "Annual report" not in document.text
    assert "Sund Mouth 243" not in document.text
    assert document.tables[0].section == "2 Levels"
    start = document.text.index("310 kilograms")
    boxes = document.layout.boxes(document.traced.cut(start, start + len("310 kilograms")))
    assert [box.page for box in boxes] == [2, 2]


def test_a_pdf_of_others():
    path = DATA / "azure-docintel" / "code-samples" / "Data" / "layout" / "sample-layout.pdf"
    if not path.exists():
        pytest.skip(f"needs {path}, which is not on this machine")
    document = clean(read_pdf(path))
    assert document.title == "MICROSOFT CORPORATION"
    assert "For the Quarterly Period Ended March 31, 2020" in document.text


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(UnreadableFileError, match="cannot be read: No such file"):
        read_pdf(tmp_path / "absent.pdf")
    (tmp_path / "a.pdf").write_bytes(b"no PDF at all")
    with pytest.raises(UnreadableFileError, match="is not a PDF, is damaged or encrypted"):
        read_pdf(tmp_path / "a.pdf")
    with pytest.raises(UnreadableFileError, match="is not a PDF that can be opened"):
        draw_regions(tmp_path / "a.pdf", [Region(1, ())])
    image = pytest.importorskip("PIL.Image").new("RGB", (100, 100))
    image.save(tmp_path / "scan.pdf")
    with pytest.raises(UnreadableFileError, match="holds no text: pages that are pictures"):
        read_pdf(tmp_path / "scan.pdf")
    (tmp_path / "cut.pdf").write_bytes(SAMPLE.read_bytes()[:900])
    with pytest.raises(UnreadableFileError):
        read_pdf(tmp_path / "cut.pdf")


def test_pictures_of_pages():
    images = draw_regions(SAMPLE, [Region(2, (1, 1, 2, 1.5)), Region(1, ())], dpi=72)
    assert {page: image.size for page, image in images.items()} == {2: (595, 842), 1: (595, 842)}
    red, _, blue = images[2].getpixel((108, 90))
    assert red > blue + 40
    assert images[2].getpixel((300, 600)) == (255, 255, 255)
    marked = [color for _, color in images[1].getcolors(1 << 24) if color[0] > color[2] + 40]
    assert marked == []
    with pytest.raises(InvalidInputError, match=r"is on page 3, and .* has 2"):
        draw_regions(SAMPLE, [Region(3, ())])
    assert draw_regions(SAMPLE, []) == {}


def test_a_pdf_in_letters_of_one_size_has_no_headings(tmp_path, monkeypatch):
    monkeypatch.setattr(
        sample_pdf,
        "PAGES",
        [[(sample_pdf.PAGES[0][0][0], 8, 72, 40, ["Goods, sold at the quay."])]],
    )
    path = tmp_path / "a.pdf"
    path.write_bytes(sample_pdf.make_pdf())
    assert [element.role for element in read_pdf(path).elements] == [""]


def write_pdf(path, objects):
    path.write_bytes(bombs.pdf(objects))
    return path


def test_limits(tmp_path):
    text = bombs.packed(bombs.TEXT)
    path = write_pdf(tmp_path / "a.pdf", bombs.pages(5, text))
    assert len(read_pdf(path, limits=ReadLimits(pages=5)).pages) == 5
    with pytest.raises(
        UnreadableFileError, match=r"a\.pdf has more than 4 pages\. .*--limit pages=…"
    ):
        read_pdf(path, limits=ReadLimits(pages=4))
    long = write_pdf(tmp_path / "b.pdf", bombs.pages(1, bombs.stream(bombs.zeros(100 << 20))))
    with pytest.raises(
        UnreadableFileError, match=r"has a stream that unpacks to more than 64,000,000 bytes"
    ):
        read_layout(long)
    wide = write_pdf(tmp_path / "c.pdf", bombs.pages(1, text, font=bombs.WIDE_FONT))
    with pytest.raises(UnreadableFileError, match=r"needs more than 500,000,000 bytes of memory"):
        read_layout(wide, limits=ReadLimits(memory_bytes=500_000_000))
    shared = write_pdf(tmp_path / "d.pdf", bombs.pages(5_000, bombs.packed(bombs.TEXT * 1000)))
    with pytest.raises(UnreadableFileError, match=r"takes more than 2 seconds to convert"):
        read_pdf(shared, limits=ReadLimits(seconds=2))


def test_reading_here_and_in_another_process_is_the_same():
    here, there = (read_pdf(SAMPLE, limits=ReadLimits(seconds=seconds)) for seconds in (None, 60))
    for name in ("content", "pages", "elements", "tables"):
        assert getattr(here, name) == getattr(there, name)
    assert [*here.words] == [*there.words]


def test_a_picture_of_a_huge_page_is_refused(tmp_path):
    objects = [
        part.replace("595 842", "9000 9000") if isinstance(part, str) else part
        for part in bombs.pages(1, "")
    ]
    path = write_pdf(tmp_path / "a.pdf", objects)
    assert draw_regions(path, [Region(1, ())], dpi=7)[1].size == (875, 875)
    with pytest.raises(
        InvalidInputError,
        match=r"page 1 of .* has 37,500 × 37,500 pixels at 300 dots per inch, more than 200",
    ):
        draw_regions(path, [Region(1, ())], dpi=300)


def two_columns(path, lines, *, in_turn):
    """Write a page with two columns, whose lines are drawn in turn or column by column."""
    half = len(lines) // 2
    places = [(60, 700 - 14 * n, line) for n, line in enumerate(lines[:half])]
    places += [(320, 700 - 14 * n, line) for n, line in enumerate(lines[half:])]
    if in_turn:
        places.sort(key=lambda place: -place[1])
    commands = [
        "BT /F1 16 Tf 60 740 Td (Mills of the Varnholm Coast and of the islands before it) Tj ET"
    ]
    commands += [f"BT /F1 10 Tf {x} {y} Td ({line}) Tj ET" for x, y, line in places]
    content = "\n".join(commands)
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    page = (
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 "
        f"{font} >> >> /Contents 4 0 R >>"
    )
    text = f"<< /Length {len(content)} >>\nstream\n{content}\nendstream"
    pages = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
    path.write_bytes(bombs.pdf(["<< /Type /Catalog /Pages 2 0 R >>", pages, page, text]))
    return path


@pytest.mark.parametrize("in_turn", [False, True])
def test_two_columns_are_read_one_after_the_other(tmp_path, in_turn):
    words = [f"w{n}" for n in range(120)]
    lines = [" ".join(f"{word}word" for word in words[n : n + 5]) for n in range(0, 120, 5)]
    path = two_columns(tmp_path / "a.pdf", lines, in_turn=in_turn)
    assert clean(read_pdf(path)).text.split()[-120:] == [f"{word}word" for word in words]


def test_names_and_values_are_no_columns(tmp_path):
    lines = [*(f"Mill {n} of the coast" for n in range(8)), *(f"{n} m" for n in range(8))]
    text = clean(read_pdf(two_columns(tmp_path / "a.pdf", lines, in_turn=True))).text
    assert "Mill 3 of the coast 3 m" in text

"""Markdown of other converters, in their manner of writing, through the same cleaning. The texts are our own."""

from __future__ import annotations

import pytest

from factoid.documents import clean, read_markdown, row_propositions

# Docling: comments for pictures, captions before tables, padded columns, escaped underscores.
DOCLING = """\
## Ferry timetable

<!-- image -->

The ferry to Holm leaves from pier\\_4 at the har-
bour gate.

Table 2: Crossings in summer.

| Ship    |   Crossings | Minutes   |
|---------|-------------|-----------|
| Alma    |           6 | 35        |
| Borghild |          4 | 50        |

<!-- formula-not-decoded -->

In winter only the Alma sails.
"""

# Unstructured: tables as HTML on one line, headers and footers as plain lines on each page.
UNSTRUCTURED = """\
# Ferry timetable

The ferry to Holm leaves from pier_4 at the har- bour gate.

<table><thead><tr><th>Ship</th><th>Crossings</th><th>Minutes</th></tr></thead><tbody><tr><td>Alma</td><td>6</td><td>35</td></tr><tr><td>Borghild</td><td>4</td><td>50</td></tr></tbody></table>

Table 2: Crossings in summer.

In winter only the Alma sails.
"""

# pymupdf4llm: bold headings and headers, <br> in cells, rules between pages.
PYMUPDF4LLM = """\
## **Ferry timetable**

The ferry to Holm leaves from pier_4 at the har-
bour gate.

|**Ship**|**Crossings**|**Minutes**|
|---|---|---|
|Alma|6|35|
|Borghild|4|50|

**Table 2:** Crossings in summer.

-----

In winter only the<br>Alma sails.
"""


@pytest.mark.parametrize("text", [DOCLING, UNSTRUCTURED, PYMUPDF4LLM], ids=["docling", "unstructured", "pymupdf4llm"])
def test_prose_and_tables(text):
    if "<table" in text:
        pytest.importorskip("lxml")
    document = clean(read_markdown(text + "\nThe harbour is old.\n"))
    assert "leaves from pier_4 at the harbour gate." in document.text
    assert [section.heading.strip("*") for section in document.sections if section.heading] == ["Ferry timetable"]
    assert "<!--" not in document.text
    assert "|" not in document.text
    assert "<t" not in document.text
    assert [(table.row_count, table.column_count, table.label) for table in document.tables] == [(3, 3, "Table 2")]
    sentences = [proposition.text for proposition in row_propositions(document.tables[0])]
    assert sentences == [
        "In Table 2, Alma has Crossings of 6.",
        "In Table 2, Alma has Minutes of 35.",
        "In Table 2, Borghild has Crossings of 4.",
        "In Table 2, Borghild has Minutes of 50.",
    ]

"""Headings, what they are and how deep; text that floats have cut; figures and references."""

from __future__ import annotations

import pytest

from factoid.documents import LayoutDocument, Part, clean, read_layout, read_markdown
from tests.documents.results import paragraph

FIGURE = (
    "<figure>\n\n![](figures/0)\n\n{inside}<figcaption>\n\n{caption}\n\n</figcaption>\n\n</figure>"
)
CHART = FIGURE.format(
    inside='<!-- FigureContent="Sacks 10 20 30" -->\n\n', caption="Figure 1: Sacks\nof flour."
)


def cleaned(content: str, *without: str) -> LayoutDocument:
    return clean(read_markdown(content), without=without)


def figures(document: LayoutDocument) -> list[Part]:
    return [part for part in document.parts if part.kind == "figure"]


def paths(content: str, *without: str) -> list[tuple[str, ...]]:
    return [part.path for part in cleaned(content, *without).parts if part.kind != "figure"]


# Headings


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("Mills of the North\n===\n\nText.", "Mills of the North"),
        ("# Mills of the North\n\nText.", "Mills of the North"),
        ("# Mills of the North", "Mills of the North"),
        ("## Mills of the North\n\nText.", ""),
        ("Text before.\n\n# Mills\n\nText.", ""),
        ("# Abstract\n\nText.", ""),
        ("# 1 Introduction\n\nText.", ""),
        ("", ""),
    ],
)
def test_titles(content: str, title: str) -> None:
    assert cleaned(content).title == title


def test_depth_comes_from_numbers() -> None:
    headings = "# 1 Mills;# 1.1 Water;## 1.1.2 Wheels;# 2 Wind;## Storms;# Sources;# A Sails".split(
        ";"
    )
    content = "\n\ntext\n\n".join(headings)
    assert paths(content) == [
        ("1 Mills",),
        ("1 Mills", "1.1 Water"),
        ("1 Mills", "1.1 Water", "1.1.2 Wheels"),
        ("2 Wind",),
        ("2 Wind", "Storms"),
        ("Sources",),
        ("A Sails",),
    ]
    assert paths(content, "numbered_headings")[1] == ("1.1 Water",)


def test_a_heading_without_a_word_is_text() -> None:
    assert paths("# Mills\n\nText.\n\n## 12 %\n\nMore.") == [()]


def test_a_heading_without_text_is_indexed_only_if_nothing_below_names_it() -> None:
    document = cleaned("# Mills\n\n## Water\n\n### Wheels\n\nThey turn.\n\n## Wind\n\n## Steam")
    assert [part.text for part in document.documents()] == [
        "### Wheels\n\nThey turn.",
        "## Wind",
        "## Steam",
    ]
    assert document.text == "# Mills\n\n## Water\n\n### Wheels\n\nThey turn.\n\n## Wind\n\n## Steam"


def test_footnotes_end_their_section() -> None:
    note = '<!-- Footnote="A note." -->'
    assert cleaned(f"# Mills\n\nThe big\n\n{note}\n\nwheel.\n\nIt turns.").text.endswith(
        "It turns.\n\nA note."
    )


@pytest.mark.parametrize(
    "stamp", ["arXiv:2401.01234v2 [cs.IR] 3 Jan 2024", "medRxiv:10.1101/2020.123 9 March 2021"]
)
def test_stamps_of_preprint_servers(stamp: str) -> None:
    content = f"# Mills\n\nThe wheel\n\n## {stamp}\n\nturns all day."
    assert cleaned(content).text == "# Mills\n\nThe wheel turns all day."
    assert stamp in cleaned(content, "side_stamps").text


# Running text


@pytest.mark.parametrize(
    "between",
    [
        CHART,
        "| a | b |\n| - | - |\n| 1 | 2 |\n\nTable 1: Numbers.",
        '<!-- Footnote="A note." -->',
        '<!-- PageNumber="4" -->\n\n<!-- PageBreak -->',
        ":selected: :unselected:",
    ],
)
def test_text_goes_on_behind_what_has_cut_it(between: str) -> None:
    text = cleaned(
        f"# Mills\n\nThe big wheel of the\n\n{between}\n\nmill turns all day.\n\nNew para-\n\n"
        f"{between}\n\ngraph."
    ).text
    assert "The big wheel of the mill turns all day.\n\nNew paragraph." in text


def test_text_does_not_go_on_behind_a_heading() -> None:
    assert cleaned("# 1 Mills\n\nThe wheel of\n\n# 2 Water\n\nmills turns.").text.endswith(
        "## 2 Water\n\nmills turns."
    )


# Figures


def test_text_in_a_figure_stays_apart() -> None:
    document = cleaned(f"# Mills\n\nText.\n\n{CHART}\n\nMore text.")
    [figure] = figures(document)
    assert (figure.text, figure.inside) == ("Figure 1: Sacks of flour.", "Sacks 10 20 30")
    assert document.text == "# Mills\n\nText.\n\nMore text.\n\nFigure 1: Sacks of flour."


def test_plain_text_in_a_figure_of_the_newer_dialect() -> None:
    content = (
        "<figure>\n<figcaption>Figure 1: Sacks.</figcaption>\n\nSacks\n10\n\n</figure>\n\nText."
    )
    [figure] = figures(cleaned(content))
    assert (figure.text, figure.inside) == ("Figure 1: Sacks.", "Sacks 10")


def test_figures_of_a_result_with_text_content() -> None:
    content = "Text.\n10 20\nFigure 1: Sacks.\nMore."
    places = {
        text: {"offset": content.index(text), "length": len(text)} for text in content.split("\n")
    }
    figure = {
        "spans": [{"offset": 6, "length": 22}],
        "caption": {"content": "Figure 1: Sacks.", "spans": [places["Figure 1: Sacks."]]},
        "boundingRegions": [],
    }
    result = {
        "content": content,
        "contentFormat": "text",
        "pages": [],
        "paragraphs": [paragraph(content, text) for text in places],
        "figures": [figure],
    }
    document = clean(read_layout(result))
    assert [(figure.text, figure.inside) for figure in figures(document)] == [
        ("Figure 1: Sacks.", "10 20")
    ]
    assert document.text == "Text.\n\nMore.\n\nFigure 1: Sacks."


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_a_table_that_stands_nowhere_is_not_lost(form: str) -> None:
    cell = {"rowIndex": 0, "columnIndex": 0, "content": "a"}
    table = {
        "rowCount": 1,
        "columnCount": 1,
        "cells": [cell],
        "boundingRegions": [{"pageNumber": 1}],
    }
    result = {
        "content": "Text.",
        "contentFormat": form,
        "pages": [],
        "paragraphs": [paragraph("Text.", "Text.")],
    }
    document = clean(read_layout({**result, "tables": [table]}))
    assert document.text == "Text."
    assert [cell.text for table in document.tables for cell in table.cells] == ["a"]


@pytest.mark.parametrize("form", ["{}", '<!-- PageFooter="{}" -->'])
def test_a_caption_without_a_picture(form: str) -> None:
    caption = "Figure 2: How to grind."
    document = cleaned(
        f"# Wind\n\nProse.\n\n## Grind = Turn\n\n1\\. Take rye.\n\n{form.format(caption)}"
    )
    assert [(figure.text, figure.path) for figure in figures(document)] == [
        (caption, ("Grind = Turn",))
    ]
    assert document.parts[1].text == "## Grind = Turn\n\n1. Take rye."


@pytest.mark.parametrize("form", ["{figure}\n\n{caption}", "{caption}\n\n{figure}"])
def test_a_caption_beside_a_figure_without_one(form: str) -> None:
    figure = "<figure>\n\n![](figures/0)\n\n10 20\n\n</figure>"
    around = form.format(figure=figure, caption="Fig. 3. Sacks of rye.")
    document = cleaned(f"Text.\n\n{around}\n\nFigure 3 shows sacks.")
    assert [(part.text, part.inside) for part in figures(document)] == [
        ("Fig. 3. Sacks of rye.", "10 20")
    ]
    assert "Figure 3 shows sacks." in document.text


# References


@pytest.mark.parametrize(
    "heading",
    [
        "References",
        "7. References",
        "Bibliography",
        "A References",
        "Works Cited",
        "Literatur cited",
    ],
)
def test_references_stand_apart(heading: str) -> None:
    document = cleaned(
        f"# Mills\n\nText.\n\n## {heading}\n\nLee, A. 1999. On mills.\n\nEk, B. 2001.\n\n"
        "## Sails\n\nText."
    )
    kind = "text" if heading == "Literatur cited" else "reference"
    assert [(part.kind, part.path) for part in document.parts[1:]] == [
        (kind, (heading,)),
        ("text", ("Sails",)),
    ]
    assert document.parts[1].text == f"## {heading}\n\nLee, A. 1999. On mills.\n\nEk, B. 2001."

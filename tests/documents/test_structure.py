"""Headings, what they are and how deep; text that floats have cut; figures, legends, formulas and references."""

from __future__ import annotations

from typing import Any

import pytest

from factoid.documents import CleaningOptions, LayoutDocument, clean, read_layout, read_markdown
from factoid.documents.flow import goes_on, is_reference_heading
from tests.documents.results import paragraph

FIGURE = "<figure>\n\n![](figures/0)\n\n{inside}<figcaption>\n\n{caption}\n\n</figcaption>\n\n</figure>"
CHART = FIGURE.format(inside='<!-- FigureContent="Sacks 10 20 30" -->\n\n', caption="Figure 1: Sacks\nof flour.")


def cleaned(content: str, **options: Any) -> LayoutDocument:
    return clean(read_markdown(content), CleaningOptions(**options))


def paths(content: str, **options: Any) -> list[tuple[str, ...]]:
    return [section.path for section in cleaned(content, **options).sections]


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
    headings = "# 1 Mills;# 1.1 Water;## 1.1.2 Wheels;# 2 Wind;# References;# A Sails;# A.1 Cloth".split(";")
    content = "\n\ntext\n\n".join(headings)
    assert paths(content) == [
        ("1 Mills",),
        ("1 Mills", "1.1 Water"),
        ("1 Mills", "1.1 Water", "1.1.2 Wheels"),
        ("2 Wind",),
        ("References",),
        ("A Sails",),
        ("A Sails", "A.1 Cloth"),
    ]
    assert paths(content, numbered_headings=False)[1] == ("1.1 Water",)


def test_depth_comes_from_levels_where_there_are_no_numbers() -> None:
    assert paths("# Mills\n\na\n\n## Water\n\nb\n\n#### Wheels\n\nc\n\n## Wind\n\nd") == [
        (),
        ("Water",),
        ("Water", "Wheels"),
        ("Wind",),
    ]


def test_a_letter_begins_a_sentence_where_no_number_went_before() -> None:
    assert paths("# Mills\n\na\n\n## A day at the mill\n\nb\n\n## Wheels\n\nc") == [
        (),
        ("A day at the mill",),
        ("Wheels",),
    ]


def test_a_stray_heading_among_numbered_ones_is_text() -> None:
    content = (
        "# 1 Mills\n\nThey turn.\n\n# 2 Water\n\nIt flows.\n\n# Flour = Grain\n\nGrind it.\n\n# 3 Wind\n\nIt blows."
    )
    content += "\n\n# Acknowledgements\n\nThanks."
    document = cleaned(content)
    assert [section.heading for section in document.sections] == ["1 Mills", "2 Water", "3 Wind", "Acknowledgements"]
    assert "It flows.\n\nFlour = Grain\n\nGrind it." in document.text
    assert document.changes["false_headings"] == 1
    assert ("Flour = Grain",) in paths(content, false_headings=False)


def test_headings_below_numbered_ones_need_no_number() -> None:
    content = "# 1 Mills\n\na\n\n# 2 Water\n\nb\n\n## Wheels\n\nc\n\n# 3 Wind\n\nd"
    assert paths(content)[2] == ("2 Water", "Wheels")


def test_a_heading_without_a_word_is_text() -> None:
    assert paths("# Mills\n\nText.\n\n## 12 %\n\nMore.") == [()]


@pytest.mark.parametrize("stamp", ["arXiv:2401.01234v2 [cs.IR] 3 Jan 2024", "medRxiv:10.1101/2020.123 9 March 2021"])
def test_stamps_of_preprint_servers(stamp: str) -> None:
    content = f"# Mills\n\nThe wheel\n\n## {stamp}\n\nturns all day."
    assert cleaned(content).text == "# Mills\n\nThe wheel turns all day."
    assert stamp in cleaned(content, side_stamps=False).text


# Running text


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("the wheel of the", "mill turns", True),
        ("a gain of +5,", "+6 and +7 sacks", True),
        ("a wind-", "mill", True),
        ("the product", "(see below) of both", True),
        ("a length (in", "Metres)", False),
        ("The wheel turns.", "it stops", False),
        ("The wheel turns", "It stops", False),
        ("The list:", "first", False),
        ("They grind", "- rye", False),
        ("They grind", "2. rye", False),
        ("“Stop!”", "said he", False),
        ("", "said he", False),
    ],
)
def test_what_goes_on(before: str, after: str, expected: bool) -> None:
    assert goes_on(before, after) is expected


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
        f"# Mills\n\nThe big wheel of the\n\n{between}\n\nmill turns all day.\n\nNew para-\n\n{between}\n\ngraph."
    ).text
    assert "The big wheel of the mill turns all day.\n\nNew paragraph." in text


def test_text_does_not_go_on_behind_a_heading() -> None:
    assert cleaned("# 1 Mills\n\nThe wheel of\n\n# 2 Water\n\nmills turns.").text.endswith("## 2 Water\n\nmills turns.")


# Figures


def test_text_in_a_figure_stays_apart() -> None:
    document = cleaned(f"# Mills\n\nText.\n\n{CHART}\n\nMore text.")
    [figure] = document.figures
    assert (figure.caption, figure.inside) == ("Figure 1: Sacks of flour.", "Sacks 10 20 30")
    assert document.text == "# Mills\n\nText.\n\nMore text.\n\nFigure 1: Sacks of flour."


def test_plain_text_in_a_figure_of_the_newer_dialect() -> None:
    content = "<figure>\n<figcaption>Figure 1: Sacks.</figcaption>\n\nSacks\n10\n\n</figure>\n\nText."
    [figure] = cleaned(content).figures
    assert (figure.caption, figure.inside) == ("Figure 1: Sacks.", "Sacks 10")


def test_figures_of_a_result_with_text_content() -> None:
    content = "Text.\n10 20\nFigure 1: Sacks.\nMore."
    places = {text: {"offset": content.index(text), "length": len(text)} for text in content.split("\n")}
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
    assert [(figure.caption, figure.inside) for figure in document.figures] == [("Figure 1: Sacks.", "10 20")]
    assert document.text == "Text.\n\nMore.\n\nFigure 1: Sacks."


@pytest.mark.parametrize("region", [{"pageNumber": 1}, {"pageNumber": 1, "polygon": []}])
@pytest.mark.parametrize("words", [[], [{"content": "Text.", "span": {"offset": 0, "length": 5}, "polygon": [1] * 8}]])
def test_a_table_with_text_content_that_stands_nowhere(region: dict[str, Any], words: list[Any]) -> None:
    result = {
        "content": "Text.",
        "contentFormat": "text",
        "pages": [{"pageNumber": 1, "spans": [{"offset": 0, "length": 5}], "words": words}],
        "paragraphs": [paragraph("Text.", "Text.")],
        "tables": [
            {
                "rowCount": 1,
                "columnCount": 1,
                "cells": [{"rowIndex": 0, "columnIndex": 0, "content": "a"}],
                "spans": [],
                "boundingRegions": [region],
            }
        ],
    }
    document = clean(read_layout(result))
    assert document.text.startswith("Text.")
    assert [cell.text for table in document.tables for cell in table.cells] == ["a"]


def test_an_unclosed_figure_is_text() -> None:
    assert "Sacks of rye" in cleaned("Text.\n\n<figure>\n\nSacks of rye").text


@pytest.mark.parametrize("form", ["{}", '<!-- PageFooter="{}" -->'])
def test_a_caption_without_a_picture_takes_the_text_above_it(form: str) -> None:
    caption = "Figure 2: How to grind."
    content = "# 1 Mills\n\na.\n\n# 2 Water\n\nb.\n\n# 3 Wind\n\nProse.\n\n# Grind = Turn\n\n1\\. Take rye.\n\n2\\. Grind it.\n\n"
    content += form.format(caption)
    document = cleaned(content)
    [figure] = document.figures
    assert document.text[figure.start : figure.end] == f"{caption}\n\nGrind = Turn\n\n1. Take rye.\n\n2. Grind it."
    assert document.text[document.sections[-1].start : document.sections[-1].end] == "## 3 Wind\n\nProse."
    assert figure.section == ("3 Wind",)


def test_a_caption_below_a_figure_without_one() -> None:
    content = "Text.\n\n<figure>\n\n![](figures/0)\n\n</figure>\n\nFig. 3. Sacks of rye.\n\nFigure 3 shows sacks."
    document = cleaned(content)
    assert [figure.caption for figure in document.figures] == ["Fig. 3. Sacks of rye."]
    assert "Figure 3 shows sacks." in document.text


def test_a_legend_is_part_of_its_figure() -> None:
    content = f"The rye of the\n\nRye\n\n\\-\n\nWheat\n\n{CHART}\n\nmill is good."
    document = cleaned(content)
    assert document.text.startswith("The rye of the mill is good.")
    assert document.figures[0].inside == "Rye - Wheat Sacks 10 20 30"
    assert "Wheat" in cleaned(content, legends=False).text.split("Figure")[0]


def test_items_of_a_list_are_no_scraps() -> None:
    content = f"Parts:\n\n· Rye\n· Oats\n\n{CHART}\n\n- sacks = 3\n- days = 9\n\nThe end."
    texts = ["Parts:", "- Rye", "- Oats", "- sacks = 3", "- days = 9", "The end."]
    assert cleaned(content).text.split("\n\n")[:6] == texts


def test_scraps_of_a_formula_are_one_paragraph() -> None:
    document = cleaned("We define\n\nyield = sacks\n\nover days\n\nwhere a day is a day.")
    assert [part.role for part in document.paragraphs] == ["formula", "text"]
    assert "yield = sacks over days" in document.text


# References


@pytest.mark.parametrize(
    "heading", ["References", "7. References", "Bibliography", "A References", "Works Cited", "Literatur cited"]
)
def test_headings_of_references(heading: str) -> None:
    assert is_reference_heading(heading) is (heading != "Literatur cited")


LIST = """# Mills

Text.

# References

Lee, A. 1999. On mills.
Press.

Ek, B. 2001. On the wa-

ter of mills. North

Sea Press.

Olm and Co. On

rye. 1988.

# A Sails

Text."""
ENTRIES = [
    "Lee, A. 1999. On mills. Press.",
    "Ek, B. 2001. On the water of mills. North Sea Press.",
    "Olm and Co. On rye. 1988.",
]


def test_entries_are_split() -> None:
    document = cleaned(LIST)
    assert [document.text[slice(*span)] for span in document.references] == ENTRIES
    assert [part.text for part in document.documents(["reference"])] == ENTRIES
    assert [section.heading for section in document.sections] == ["Mills", "References", "A Sails"]
    assert document.changes["references"] == 3


def test_a_list_is_kept_or_dropped() -> None:
    kept = cleaned(LIST, references="keep")
    assert [kept.text[slice(*span)] for span in kept.references] == [" ".join(ENTRIES)]
    dropped = cleaned(LIST, references="drop")
    assert not dropped.references
    assert "Lee" not in dropped.text
    assert "Sails" in dropped.text


def test_numbers_tell_entries_apart() -> None:
    document = cleaned(
        "# References\n\n[1] Lee, A. On mills. In 1999 it\nrained. 2001.\n[2] Ek, B. Rye.\n\n[3] Olm, C. Sails. 2002."
    )
    assert [document.text[slice(*span)][:10] for span in document.references] == [
        "[1] Lee, A",
        "[2] Ek, B.",
        "[3] Olm, C",
    ]

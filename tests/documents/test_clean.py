"""Each rule on lines of its kind, on and off, and that every character that is kept knows where it came from."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid import Granularity, UnitStore, split_passages, split_sentences
from factoid.documents import CleaningOptions, LayoutDocument, clean, read_layout, read_markdown, regions
from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder
from tests.documents.results import paged, word

RULES = [field.name for field in fields(CleaningOptions) if field.type == "bool"]


def cleaned(content: str, **options: Any) -> LayoutDocument:
    return clean(read_markdown(content), CleaningOptions(**options))


def only(rule: str) -> dict[str, Any]:
    """Options with one rule on."""
    return {**dict.fromkeys(RULES, False), rule: True}


@pytest.mark.parametrize(
    ("rule", "content", "expected"),
    [
        ("selection_marks", "Anna Lee :selected: Bo Ek", "Anna Lee Bo Ek"),
        ("selection_marks", "The end.\n :selected: :unselected:\n", "The end."),
        ("selection_marks", "☒ Yes ☐ No", "Yes No"),
        ("selection_marks", "Odd :selected:, even", "Odd , even"),
        (
            "page_furniture",
            'One.\n\n<!-- PageHeader="The Mill" -->\n\nTwo.\n\n<!-- PageNumber="3" -->\n<!-- a note -->',
            "One.\n\nTwo.",
        ),
        ("soft_hyphens", "wind\u00admill and wa\u00ad\nter\u200b", "windmill and water"),
        ("ligatures", "ﬁne oﬃce ﬂags", "fine office flags"),
        ("escapes", "1\\. A \\*star\\* and snake\\_case \\+5", "1. A *star* and snake_case +5"),
        ("escapes", "Press the key\n\\# twice", "Press the key\n\\# twice"),
        (
            "footnote_marks",
            "Mills¹ grind², says Lee.³ It covers 5 m² and R² is 0.9†",
            "Mills grind, says Lee. It covers 5 m² and R² is 0.9",
        ),
        ("escapes", "See \\[3\\], \\$5 and 6 \\%", "See [3], $5 and 6 %"),
        ("footnote_marks", "Bread<sup>1</sup> of rye, 10³ sacks", "Bread of rye, 10³ sacks"),
        (
            "footnote_marks",
            "20 m<sup>2</sup>, E = mc<sup>2</sup>, R<sup>2</sup> = 0.9, Na<sup>+</sup>, 3 m s<sup>-1</sup>",
            "20 m², E = mc², R² = 0.9, Na⁺, 3 m s⁻¹",
        ),
        ("footnote_marks", "3 s⁻¹, Ca²⁺, log² and (a + b)² of mills¹⁻³", "3 s⁻¹, Ca²⁺, log² and (a + b)² of mills"),
        (
            "footnote_marks",
            "H<sub>2</sub>O, the 19<sup>th</sup> mill [1]<sup>a</sup>, km<sup>²</sup>",
            "H₂O, the 19th mill [1]ᵃ, km²",
        ),
        ("bullets", "· Water\n\n• Wind\n\n? Steam", "- Water\n\n- Wind\n\n- Steam"),
        ("bullets", "It has:\n· Water\n  power\n· Wind", "It has:\n\n- Water\n  power\n\n- Wind"),
        ("line_breaks", "a mill\n  by the\nriver", "a mill by the river"),
        ("line_breaks", "> a mill\n>  by the\nriver", "> a mill by the river"),
        ("line_breaks", "so much\n· grain", "so much · grain"),
        ("line_breaks", "so\n\\[\nx^2\n\\]\nis\nbig", "so\n\\[\nx^2\n\\]\nis big"),
        ("line_breaks", "甲方与乙\n方，\nかな by\n甲", "甲方与乙方，かな by 甲"),
        ("spaces", "a  mill\u00a0by\tthe   river", "a mill by\tthe river"),
        ("hyphens", "a wind-\nmill", "a windmill"),
        ("rejoin", "The mill was\n\nbuilt of stone.", "The mill was\nbuilt of stone."),
    ],
)
def test_rules_of_characters(rule: str, content: str, expected: str) -> None:
    document = cleaned(content, **only(rule))
    assert document.text == expected
    assert document.changes.get(rule, 0) > 0 or content == expected
    off = cleaned(content, **dict.fromkeys(RULES, False))
    assert not off.changes
    assert off.text != expected or content == expected


@pytest.mark.parametrize(
    "text",
    [
        "Write to anna-lee@north-sea.example or see https://example.org/a-b_c?d=e&f=%20#g.",
        "A state-of-the-art mill - the third - has 3-4 sails and x*y = 2^3 grains.",
        "“Is it C*-algebra?” asked she; [3] says no (p. 5).",
        "Ein Mühlrad, 你好。 Ελληνικά… and naïve café.",
    ],
)
def test_clean_text_stays_as_it_is(text: str) -> None:
    document = cleaned(f"# Mills\n\n{text}")
    assert document.text == f"# Mills\n\n{text}"
    assert not document.changes


@pytest.mark.parametrize(
    "code",
    [
        "```\nbox = :selected: ☒\n :selected:\n```",
        "    def f(x):\n        return x == \\\n            ☒",
        "    total = code-\n      more",
        "```python\nx = a\\_b  # :x:  two  blanks, a wa-\n    ter\n```",
        "- a list:\n\n  ```\n  if x:\n      ☐ = y\n  ```",
        "The name `code-\n more` and `a\\_b²` in a line.",
    ],
)
def test_marks_indentation_and_hyphens_of_code_stay(code: str) -> None:
    document = cleaned(f"Text ☒ before.\n\n{code}\n\nText after.")
    assert document.text == f"Text before.\n\n{code}\n\nText after."


@pytest.mark.parametrize(
    "formula", [r"$$a \, b \\ c \{d\} \%$$", r"$\{1,2\}$", r"\(y\)", r"\[x^2 \, = \{1\}\]", "$$x -\ny²$$"]
)
def test_formulas_stay_as_they_are(formula: str) -> None:
    assert cleaned(f"It costs \\$5; so {formula} holds.").text == f"It costs $5; so {formula} holds."


@pytest.mark.parametrize("formula", ["$$\nF = 1\n$$", "$$F = 1$$", "\\[\nF = 1\n\\]"])
@pytest.mark.parametrize("before", ["The factor is", "The factor of safety of this mill is given by"])
def test_a_display_formula_is_a_paragraph(before: str, formula: str) -> None:
    document = cleaned(f"{before}\n\n{formula}\n\nwhere $F$ is big.")
    assert [document.text[part.start : part.end] for part in document.paragraphs] == [
        before,
        formula,
        "where $F$ is big.",
    ]
    assert document.paragraphs[1].role == "formula"


def test_front_matter_and_footnotes_lose_marks_of_names() -> None:
    document = cleaned(
        "# Mills\n\nAnna Lee\\* Bo Ek\\*† Ida^ Olm<sup>1</sup> Al Ås²\n\n"
        '# Water\n\nIt is x*y^2 and 5 m².\n\n<!-- Footnote="\\* Both wrote." -->'
    )
    assert [document.text[part.start : part.end] for part in document.paragraphs] == [
        "# Mills",
        "Anna Lee Bo Ek Ida Olm Al Ås",
        "## Water",
        "It is x*y^2 and 5 m².",
        "Both wrote.",
    ]


def test_running_heads() -> None:
    pages = [f"Mills of the North {number}\n\nPage {number} tells of wheel {'x' * number}." for number in range(1, 5)]
    layout = read_markdown("\n\n<!-- PageBreak -->\n\n".join(pages))
    assert "Mills of the North" not in clean(layout).text
    assert clean(layout).changes["running_heads"] == 4
    assert clean(layout, CleaningOptions(running_heads=False)).text.count("Mills of the North") == 4
    two = read_markdown("\n\n<!-- PageBreak -->\n\n".join(pages[:2]))
    assert clean(two).text.count("Mills of the North") == 2


PAGE_BREAK = "\n\n<!-- PageBreak -->\n\n"


@pytest.mark.parametrize("amounts", [(100, 100, 100, 100), (100, 250, 80, 12)])
def test_invoices_keep_their_numbers_and_amounts(amounts: tuple[int, ...]) -> None:
    pages = [
        f"Invoice number: {4701 + place}\n\nWe sold goods number {'x' * (place + 1)}.\n\nAmount due: {amount} EUR"
        for place, amount in enumerate(amounts)
    ]
    document = cleaned(PAGE_BREAK.join(pages))
    assert document.text == "\n\n".join(pages)
    assert "running_heads" not in document.changes


def test_only_numbers_that_count_with_the_pages_may_differ_in_running_heads() -> None:
    lines = ["{} Lee and Ek", "Mills, page {} of 4", "Bill 7{}"]
    for line, left in zip(lines, (0, 0, 4), strict=True):
        pages = [f"{line.format(346 + page)}\n\nIt turns {'x' * page}." for page in range(1, 5)]
        if "page" in line:
            pages = [f"{line.format(page)}\n\nIt turns {'x' * page}." for page in range(1, 5)]
        assert len(cleaned(PAGE_BREAK.join(pages)).paragraphs) == 4 + left
    totals = [f"Total {total} EUR\n\nIt turns {'x' * total}." for total in (10, 10, 10, 25)]
    assert cleaned(PAGE_BREAK.join(totals)).text.count("Total") == 4


def test_a_page_keeps_its_only_text() -> None:
    document = cleaned(PAGE_BREAK.join(["Left blank", "Left blank\n\nA mill.", "Left blank", "Left blank"]))
    assert document.text == "Left blank\n\nA mill.\n\nLeft blank\n\nLeft blank"


def test_a_heading_along_the_margin() -> None:
    content = "# Mills\n\nText of it.\n\n## Archive 17\n\nMore text."
    offset = content.index("Archive")
    upright = word("Mills", 2, (1, 1, 2, 1.2))
    turned = {
        "content": "Archive",
        "polygon": [0.2, 6, 0.2, 4, 0.4, 4, 0.4, 6],
        "span": {"offset": offset, "length": 10},
    }
    page = {"pageNumber": 1, "angle": 0, "words": [upright, turned], "spans": [{"offset": 0, "length": len(content)}]}
    document = clean(read_layout({"content": content, "pages": [page]}))
    assert [section.heading for section in document.sections] == ["Mills"]
    assert "Archive" not in document.text
    sideways = clean(read_layout({"content": content, "pages": [{**page, "angle": 90, "words": [turned]}]}))
    assert "Archive 17" in sideways.text


def test_options_are_checked() -> None:
    with pytest.raises(InvalidInputError, match="'split', 'keep' or 'drop', got 'all'"):
        CleaningOptions(references="all")  # type: ignore[arg-type]


# Where characters come from

LINES = st.sampled_from(
    [
        "# 1 Mills",
        "## 1.1 Water :selected:",
        "Rye-\nbread and wa- ter were cut in the",
        "middle of a sentence\\. It ends.",
        ":selected: :unselected:",
        '<figure>\n\n![](figures/0)\n\n<!-- FigureContent="0 10 20" -->\n\n<figcaption>Figure 1: A\nmill</figcaption>\n</figure>',
        "| a | b |\n| - | - |\n| 1 | wa- ter |\n",
        "Table 1: Sacks of ﬂour.",
        '<!-- Footnote="\\* A note." -->',
        '<!-- PageFooter="Figure 2: A listing." -->',
        "<!-- PageBreak -->",
        "# References",
        "Lee, A. 1999. On mills.",
        "```\ncode - here\n```",
        "<b>bold</b> <!-- open",
        "· a bullet²",
        "x = 1",
        "~~~",
        "===",
    ]
)
CONTENTS = st.lists(LINES | st.text("ab# |-\\*<>!:\n\u00adﬁ", max_size=25), max_size=12).map("\n\n".join)
SOME_OPTIONS = st.fixed_dictionaries({}, optional={rule: st.booleans() for rule in RULES}).flatmap(
    lambda rules: st.sampled_from(["split", "keep", "drop"]).map(lambda references: {**rules, "references": references})
)


@given(CONTENTS, SOME_OPTIONS)
def test_every_character_that_is_kept_leads_back_to_the_content(content: str, options: dict[str, Any]) -> None:
    document = cleaned(content, **options)
    seen: set[int] = set()
    for run in document.traced.runs:
        origin = range(run.origin, run.origin + run.end - run.start)
        assert document.text[run.start : run.end] == content[origin.start : origin.stop]
        assert not seen & set(origin)  # nothing of the content is said twice
        seen |= set(origin)
    for start, end in [(part.start, part.end) for part in document.paragraphs]:
        assert "".join(content[slice(*span)] for span in document.sources(start, end)) == "".join(
            document.text[run.start : run.end] for run in document.traced.runs if start <= run.start and run.end <= end
        )


@given(CONTENTS)
def test_paragraphs_and_sections_cover_the_text(content: str) -> None:
    document = cleaned(content)
    assert document.text == "\n\n".join(document.text[part.start : part.end] for part in document.paragraphs)
    spans = [(section.start, section.end) for section in document.sections]
    spans += [(figure.start, figure.end) for figure in document.figures if figure.end]
    spans += list(document.references)
    roles = {place for start, end in spans for place in range(start, end)}
    assert {part.role for part in document.paragraphs if part.start not in roles} <= {"caption"}


# Units of a store lead back to pages

PAGES = paged(
    "# 1 Mills\n\nThe mill was built of gran-",
    "ite in 1820. It has two\nwheels.\n\n# 2 Water\n\nThe river turns the wheels all year.",
    per_line=5,
)


def test_units_lead_back_to_their_page_after_the_store_was_reopened(tmp_path: Any) -> None:
    document = clean(read_layout(PAGES))
    with UnitStore(tmp_path / "store", encoder=HashEncoder()) as store:
        store.add_documents(document.documents())
    with UnitStore(tmp_path / "store", encoder=HashEncoder()) as store:
        hits = {hit.unit.text: hit.unit for hit in store.search("mill", 20, parents="unit", granularity="proposition")}
    assert {region.page for region in regions(hits["The mill was built of granite in 1820."])} == {1, 2}
    river = hits["The river turns the wheels all year."]
    assert {region.page for region in regions(river)} == {2}
    place = river.metadata["offset"]
    for region, exact in zip(regions(river), document.locate(place + river.start, place + river.end), strict=True):
        assert region.polygon == pytest.approx(exact.polygon, abs=0.01)


def test_every_unit_of_a_paged_document_has_regions() -> None:
    document = clean(read_layout(PAGES))
    units = [unit for part in document.documents() for unit in split_passages(part)]
    units += [sentence for passage in units for sentence in split_sentences(passage)]
    assert len(units) == 5
    for unit in units:
        offset = unit.metadata["offset"]
        boxes = document.boxes(offset + unit.start, offset + unit.end)
        tokens = [document.text[box.start : box.end] for box in boxes]
        assert "".join(tokens) == unit.text.replace(" ", "")  # the word that was cut has two boxes
        assert regions(unit)
    assert Granularity.SENTENCE in {unit.granularity for unit in units}


def test_kinds_of_documents() -> None:
    document = cleaned(
        "# Mills\n\nText.\n\n| a | b |\n| - | - |\n| x | 1 |\n\nTable 1: Sacks.\n\n# References\n\nLee, A. 1999. On mills."
    )
    parts = document.documents(["text", "table", "reference"], metadata={"source": "mills.pdf"})
    assert [(part.metadata["kind"], part.section, part.title) for part in parts] == [
        ("text", "", "Mills"),
        ("table", "", "Mills"),
        ("reference", "References", "Mills"),
    ]
    assert {part.metadata["source"] for part in parts} == {"mills.pdf"}
    assert parts[1].metadata["table"] == 0
    assert "Table 1: Sacks." in parts[1].text
    assert [part.metadata["kind"] for part in document.documents()] == ["text", "table"]
    with pytest.raises(InvalidInputError, match="kinds must be among text, table, figure, reference, got 'tables'"):
        document.documents(["tables"])  # type: ignore[list-item]


def test_locating_outside_of_the_text_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="expected a span in the 5 characters of the text, got"):
        cleaned("Text.").locate(3, 9)

"""Each rule on lines of its kind, on and off, and that every character that is kept knows where it
came from.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid import UnitStore
from factoid.documents import LayoutDocument, clean, read_layout, read_markdown, regions
from factoid.documents.word_boxes import lines
from factoid.documents.clean import RULES
from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder
from tests.documents.results import paged


def cleaned(content: str, *without: str) -> LayoutDocument:
    return clean(read_markdown(content), without=without)


@pytest.mark.parametrize(
    ("rule", "content", "expected"),
    [
        ("selection_marks", "Anna Lee :selected: Bo Ek", "Anna Lee Bo Ek"),
        ("selection_marks", "The end.\n :selected: :unselected:\n", "The end."),
        ("selection_marks", "☒ Yes ☐ No", "Yes No"),
        (
            "page_furniture",
            'One.\n\n<!-- PageHeader="The Mill" -->\n\nTwo.\n\n<!-- PageNumber="3" -->\n<!-- a note -->',
            "One.\n\nTwo.",
        ),
        ("characters", "wind\u00admill and wa\u00ad\nter\u200b", "windmill and water"),
        ("characters", "ﬁne oﬃce ﬂags", "fine office flags"),
        ("characters", "a  mill\u00a0by\tthe   river", "a mill by\tthe river"),
        ("escapes", "1\\. A \\*star\\* and snake\\_case \\+5", "1. A *star* and snake_case +5"),
        ("escapes", "See \\[3\\], \\$5 and 6 \\%", "See [3], $5 and 6 %"),
        (
            "footnote_marks",
            "Mills¹ grind², says Lee.³ It covers 5 m² and R² is 0.9†",
            "Mills grind, says Lee. It covers 5 m² and R² is 0.9",
        ),
        ("footnote_marks", "Bread<sup>1</sup> of rye, 10³ sacks", "Bread of rye, 10³ sacks"),
        (
            "footnote_marks",
            "3 s⁻¹, Ca²⁺, log² and (a + b)² of mills¹⁻³",
            "3 s⁻¹, Ca²⁺, log² and (a + b)² of mills",
        ),
        ("bullets", "· Water\n\n• Wind\n\n? Steam", "- Water\n\n- Wind\n\n- Steam"),
        ("line_breaks", "a mill\n  by the\nriver", "a mill by the river"),
        ("line_breaks", "> a mill\n>  by the\nriver", "> a mill by the river"),
        ("line_breaks", "so\n\\[\nx^2\n\\]\nis\nbig", "so\n\\[\nx^2\n\\]\nis big"),
        ("line_breaks", "甲方与乙\n方，\nかな by\n甲", "甲方与乙方，かな by 甲"),
        ("hyphens", "a wind-\nmill", "a windmill"),
        ("rejoin", "The mill was\n\nbuilt of stone.", "The mill was\nbuilt of stone."),
        ("rejoin", "a gain of +5,\n\n+6 and +7 sacks", "a gain of +5,\n+6 and +7 sacks"),
        ("rejoin", "the product\n\n(see below) of both", "the product\n(see below) of both"),
    ],
)
def test_rules_of_characters(rule: str, content: str, expected: str) -> None:
    document = cleaned(content, *(RULES.keys() - {rule}))
    assert document.text == expected
    assert document.changes[rule] > 0
    off = cleaned(content, *RULES)
    assert not off.changes
    assert off.text != expected


def test_items_of_a_list_in_one_paragraph_keep_their_lines() -> None:
    assert cleaned("It has:\n· Water\n  power\n· Wind").text == "It has:\n- Water power\n- Wind"


@pytest.mark.parametrize(
    "text",
    [
        "Write to anna-lee@north-sea.example or see https://example.org/a-b_c?d=e&f=%20#g.",
        "A state-of-the-art mill - the third - has 3-4 sails and x*y = 2^3 grains.",
        "“Is it C*-algebra?” asked she; [3] says no (p. 5).",
        "The wheel turns.\n\nit stops\n\nThey grind\n\n- rye",
        "Ein Mühlrad, 你好。 Ελληνικά… and naïve café.",
        'He wrote <script>alert("1")</script> and <img src=x onerror=f()> there.',
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
    "formula",
    [r"$$a \, b \\ c \{d\} \%$$", r"$\{1,2\}$", r"\(y\)", r"\[x^2 \, = \{1\}\]", "$$x -\ny²$$"],
)
def test_formulas_stay_as_they_are(formula: str) -> None:
    assert (
        cleaned(f"It costs \\$5; so {formula} holds.").text == f"It costs $5; so {formula} holds."
    )


@pytest.mark.parametrize("formula", ["$$\nF = 1\n$$", "$$F = 1$$", "\\[\nF = 1\n\\]"])
def test_a_display_formula_is_a_paragraph(formula: str) -> None:
    text = f"The factor is\n\n{formula}\n\nwhere $F$ is big."
    assert cleaned(text).text == text


PAGE_BREAK = "\n\n<!-- PageBreak -->\n\n"


def test_running_heads() -> None:
    pages = [
        f"Mills of the North\n\nPage {number} tells of {'x' * number}.\n\n{number + 6}"
        for number in range(1, 5)
    ]
    document = cleaned(PAGE_BREAK.join(pages))
    assert document.text == "\n\n".join(page.split("\n\n")[1] for page in pages)
    assert document.changes["running_heads"] == 8
    assert cleaned(PAGE_BREAK.join(pages), "running_heads").text.count("Mills of the North") == 4
    assert "Mills" not in cleaned(PAGE_BREAK.join(pages[:2])).text
    assert (
        cleaned(PAGE_BREAK.join([*pages[:2], "A mill.", "A wheel."])).text.count(
            "Mills of the North"
        )
        == 2
    )


@pytest.mark.parametrize("amounts", [(100, 100, 100, 100), (100, 250, 80, 12)])
def test_invoices_keep_their_numbers_and_amounts(amounts: tuple[int, ...]) -> None:
    pages = [
        (
            f"Invoice number: {4701 + place}\n\nWe sold goods number {'x' * (place + 1)}.\n\n"
            f"Amount due: {amount} EUR\n\n{amount * 3}"
        )
        for place, amount in enumerate(amounts)
    ]
    document = cleaned(PAGE_BREAK.join(pages))
    assert document.text == "\n\n".join(pages)
    assert "running_heads" not in document.changes


def test_a_page_keeps_its_only_text() -> None:
    document = cleaned(
        PAGE_BREAK.join(["Left blank", "Left blank\n\nA mill.", "Left blank", "Left blank"])
    )
    assert document.text == "Left blank\n\nA mill.\n\nLeft blank\n\nLeft blank"


def test_names_of_rules_are_checked() -> None:
    with pytest.raises(InvalidInputError, match=r"rules are selection_marks, .*, got spaces"):
        cleaned("Text.", "spaces")


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
CONTENTS = st.lists(LINES | st.text("ab# |-\\*<>!:\n\u00adﬁ", max_size=25), max_size=12).map(
    "\n\n".join
)


@given(CONTENTS, st.sets(st.sampled_from(list(RULES))))
def test_every_character_that_is_kept_leads_back_to_the_content(
    content: str, without: set[str]
) -> None:
    document = cleaned(content, *without)
    kept = [
        (place, int(origin)) for place, origin in enumerate(document.traced.origins) if origin >= 0
    ]
    assert all(document.text[place] == content[origin] for place, origin in kept)
    assert len({origin for _, origin in kept}) == len(kept)  # nothing of the content is said twice
    assert document.text == "\n\n".join(part.text for part in document.parts if part.text)
    for part in document.documents(["text", "figure", "reference"]):
        start = part.metadata["offset"]
        assert document.text[start : start + len(part.text)] == part.text


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
        hits = {
            hit.unit.text: hit.unit
            for hit in store.search("mill", 20, parents="unit", granularity="proposition")
        }
    assert {region.page for region in regions(hits["The mill was built of granite in 1820."])} == {
        1,
        2,
    }
    river = hits["The river turns the wheels all year."]
    assert {region.page for region in regions(river)} == {2}
    place = river.metadata["offset"]
    exact = lines(
        document.layout.boxes(document.traced.cut(place + river.start, place + river.end))
    )
    assert [region.rectangle for region in regions(river)] == [
        pytest.approx(line.rectangle, abs=0.01) for line in exact
    ]


def test_kinds_of_documents() -> None:
    document = cleaned(
        "# Mills\n\nText.\n\n| a | b |\n| - | - |\n| x | 1 |\n\nTable 1: Sacks.\n\n# References\n\nLee, A. 1999. On mills."
    )
    parts = document.documents(["text", "table", "reference"], metadata={"source": "mills.pdf"})
    assert [(part.metadata["kind"], part.section, part.title) for part in parts] == [
        ("text", "", "Mills"),
        ("table", "", "Mills"),
        ("reference", "", "Mills"),
    ]
    assert {part.metadata["source"] for part in parts} == {"mills.pdf"}
    assert parts[1].metadata["table"] == 0
    assert parts[1].text == "Table 1: Sacks.\n\nIn Table 1, x has b of 1."
    assert parts[2].text == "## References\n\nLee, A. 1999. On mills."
    assert [part.metadata["kind"] for part in document.documents()] == ["text", "table"]
    with pytest.raises(
        InvalidInputError, match="kinds are text, table, figure, reference, got 'tables'"
    ):
        document.documents(["tables"])  # type: ignore[list-item]

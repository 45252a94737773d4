"""Blocks of a text, and their sentences."""

from __future__ import annotations

import pytest

from factoid.text.reading import read, sentences_of


def blocks(text):
    """Return the kinds and visible texts of the blocks of a Markdown text."""
    return [(block.kind, block.visible.text) for block in read(text, "markdown")]


def test_tabs_and_admonitions_in_a_definition():
    text = """An address

:   One that begins with `mailto`:

    === ":simple-gmail: Mail"

        ``` yaml
        link: mailto:ann@example.com
        ```

    !!! tip "Where it is shown"

        It is in the footer.
"""
    assert blocks(text) == [
        ("paragraph", "An address"),
        ("item", "One that begins with `mailto`:"),
        ("paragraph", "Mail"),
        ("code", "link: mailto:ann@example.com"),
        ("paragraph", "Where it is shown"),
        ("paragraph", "It is in the footer."),
    ]


def test_the_label_of_a_formula_is_no_text():
    text = "$$\na*b*c\n$$ (eqn:best)\n\nIt *holds*."
    assert blocks(text) == [("paragraph", "$$\na*b*c\n$$"), ("paragraph", "It holds.")]


def test_a_long_row_is_cut_between_its_cells():
    cells = [f"This is what cell {number} says, " + "and more of it " * 20 for number in range(6)]
    text = "| a | b | c | d | e | f |\n|---|---|---|---|---|---|\n|" + "|".join(cells) + "|"
    rows = [block for block in read(text, "markdown") if not block.is_header]
    sentences = sentences_of(rows)
    assert len(sentences) > 2
    for sentence in sentences:
        assert sentence.visible.text.startswith("This is what cell")
        assert sentence.visible.text.endswith("of it")


def test_headings_in_lists_and_quotes_have_no_marks():
    text = "To do:\n\n- ## First `step`\n  Open it.\n\n> ### Note *well* ###\n> It is hot.\n"
    shown = [
        (block.kind, block.visible.text, text[block.start : block.end])
        for block in read(text, "markdown")
    ]
    assert shown == [
        ("paragraph", "To do:", "To do:"),
        ("item", "First `step`", "## First `step`"),
        ("paragraph", "Open it.", "Open it."),
        ("paragraph", "Note well", "### Note *well* ###"),
        ("paragraph", "It is hot.", "It is hot."),
    ]


def test_a_definition_that_starts_with_an_admonition():
    text = "Type\n\n:   !!! note\n\n        It is short.\n"
    assert blocks(text) == [("paragraph", "Type"), ("paragraph", "It is short.")]


def test_the_text_of_a_link_may_hold_many_signs():
    text = "See [page" + "-" * 40 + "here :::::: b](https://example.com) now."
    assert blocks(text) == [("paragraph", "See page" + "-" * 40 + "here :::::: b now.")]


def test_a_fence_right_below_a_closing_tag_is_one():
    fence = "```markdown\nIt is *late*. {% x %}\n```\n"
    text = (
        f"<div>\n\nIt is *late*.\n</div>\n{fence}\n---\n\nSee [it]({{% link a.md %}}){{: .btn }}.\n"
    )
    assert blocks(text) == [
        ("paragraph", "It is late."),
        ("code", "It is *late*. {% x %}"),
        ("paragraph", "See it."),
    ]


def test_nothing_is_hidden_in_code_that_is_found_only_by_the_parser():
    text = "<div>\n``` {% y %}\n</div>\n\n```\nSee [it]({% link a.md %}){: .btn }.\n```\n"
    assert all("\ue0f0" not in shown for _, shown in blocks(text))


def test_tables_and_captions_of_directives():
    text = (
        "```{list-table} Fares *now*\n:header-rows: 1\n:name: x\n\n* - From\n  - Fare\n* - **Oslo**\n  - 40\n```\n\n"
        ':::{csv-table}\n:header: Treat, Price\n\n"Gull, fresh", 2.99\n:::\n\n'
        "```{code-block} python\n:caption: How to *run*\n:linenos:\n\nrun(*x)\n```\n"
    )
    rows = [
        block for block in read(text, "markdown") if block.kind == "row" and not block.is_header
    ]
    assert [(block.names, block.visible.text) for block in rows] == [
        (("From", "Fare"), "Oslo | 40"),
        (("Treat", "Price"), "Gull, fresh | 2.99"),
    ]
    assert [lead.text for lead in rows[0].leads] == ["Fares now"]
    assert blocks(text)[-2:] == [("paragraph", "How to run"), ("code", "run(*x)")]


@pytest.mark.parametrize(
    "options",
    [
        ":caption: |\n:   How to *run*\n:   it twice\n:linenos:",
        ":linenos:\n:caption: >\n:    How to *run*\n:    it twice",
        ":caption: How to *run*\n:  it twice",
        ":caption: 'How to *run*\n:  it twice'",
        "---\nlinenos: true\ncaption: |\n  How to *run*\n  it twice\n---",
        '---\ncaption: "How to *run*\n  it twice"\n---',
    ],
)
def test_a_caption_over_several_lines(options):
    text = f"```{{code-block}} python\n{options}\n\nrun(*x)\n: y\n```\n"
    assert blocks(text) == [("paragraph", "How to run\nit twice"), ("code", "run(*x)\n: y")]
    caption = read(text, "markdown")[0]
    assert [text[at] for at in caption.visible.offsets[:6]] == list("How to")


def test_a_caption_without_text_is_nothing():
    assert blocks("```{code-block} sh\n:caption: |\nmake\n```\n") == [("code", "make")]


def test_rules_in_code_without_options_stay():
    text = "```{code-block} yaml\n---\na: 1\nb:\n  - c\n```\n"
    assert blocks(text) == [("code", "---\na: 1\nb:\n  - c")]

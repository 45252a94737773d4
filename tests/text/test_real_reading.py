"""Blocks of a text, and their sentences."""

from __future__ import annotations

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

"""Blocks and sentences of a text, and what they know of what stands around them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid import Document, UnitStore, split_passages, split_sentences
from factoid.testing import HashEncoder
from factoid.text.reading import Sentence, read, sentences_of


def read_sentences(text: str, markup: str = "markdown") -> list[Sentence]:
    return sentences_of(read(text, markup))  # type: ignore[arg-type]


def described(text: str, markup: str = "markdown") -> list[tuple[str, str, list[str]]]:
    """The kind, the visible text and the leads of each sentence."""
    return [
        (sentence.block.kind, sentence.text, [lead.text for lead in sentence.block.leads])
        for sentence in read_sentences(text, markup)
    ]


def test_items_know_the_items_and_the_introduction_above_them() -> None:
    text = """You need:

- tools
    - a hammer
    1. nails

      They rust.
- **Water.** It boils.
+ bread"""
    assert described(text) == [
        ("paragraph", "You need:", []),
        ("item", "tools", ["You need:"]),
        ("item", "a hammer", ["You need:", "tools"]),
        ("item", "nails", ["You need:", "tools"]),
        ("paragraph", "They rust.", []),
        ("item", "Water.", ["You need:"]),
        ("item", "It boils.", ["You need:"]),
        ("item", "bread", ["You need:"]),
    ]


def test_plain_items_know_what_is_above_them() -> None:
    text = "Bring:\n  * a rope\n    * of hemp\n  * a knife\n\nThen go."
    assert described(text, "plain") == [
        ("paragraph", "Bring:", []),
        ("item", "a rope", ["Bring:"]),
        ("item", "of hemp", ["Bring:", "a rope"]),
        ("item", "a knife", ["Bring:"]),
        ("paragraph", "Then go.", []),
    ]


def test_rows_know_the_names_of_their_columns_and_their_caption() -> None:
    text = "Table 2. Fares\n\n| From | To | Fare |\n|:--|:-:|--:|\n| Oslo | **Bergen** | 40 |\n| | Voss | 30 |"
    rows = [sentence for sentence in read_sentences(text) if sentence.block.kind == "row"]
    assert [row.text for row in rows] == ["From | To | Fare", "Oslo | Bergen | 40", "Voss | 30"]
    assert [row.block.names for row in rows] == [(), *[("From", "To", "Fare")] * 2]
    assert [lead.text for lead in rows[1].block.leads] == ["Table 2. Fares"]


def test_rows_without_a_rule_have_a_header_by_their_form() -> None:
    rows = read_sentences("| City | Price |\n| Oslo | 240 |\n| Bergen | 180 |", "plain")
    assert [row.block.names for row in rows] == [(), ("City", "Price"), ("City", "Price")]
    rows = read_sentences("| a | first |\n| b | second |", "plain")
    assert [row.block.names for row in rows] == [(), ()]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('<img src="a.png"/>\nIt has [a lid](b).\n', ["It has a lid."]),
        ('<a id="top">\n# The *lid*\n\nIt shuts.\n', ["The lid", "It shuts."]),
        ("<figcaption>Opened:</figcaption>\n![A lid](b.png)\n", ["Opened:", "A lid"]),
        ("<p>\n*It* shuts.\n</p>\n", ["*It* shuts."]),
        ('??? info "The `"lid"` key"\n    It shuts.\n', ['The `"lid"` key', "It shuts."]),
        (
            "!!! warning Hot lids of the tank\n    They burn.\n",
            ["Hot lids of the tank", "They burn."],
        ),
        ("!!! example of opening a lid\n    It shuts.\n", ["of opening a lid", "It shuts."]),
        ("!!! note inline end\n    It shuts.\n", ["It shuts."]),
        ('```x\n```\n<Frame>\n\t- <Badge text="New" />\n', ["- New"]),
    ],
)
def test_what_is_seen_below_tags_and_marks(text: str, seen: list[str]) -> None:
    assert [block.visible.text for block in read(text, "markdown")] == seen


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```python\nx = 1\n\n  y\n```", [("code", "x = 1\n\n  y", [])]),
        ("$$\na * b\n=\nc\n$$", [("paragraph", "$$ a * b = c $$", [])]),
        (
            "\\begin{align}\nx_1 &= 2*3*4\n\\end{align}",
            [("paragraph", "\\begin{align} x_1 &= 2*3*4 \\end{align}", [])],
        ),
        ("> Quoted *words*\n> go on.", [("paragraph", "Quoted words go on.", [])]),
        ("- [x] paid\n- [ ] sent", [("item", "☒ paid", []), ("item", "☐ sent", [])]),
        (
            '!!! tip "Mind this"\n    It is *hot*.\n\n    - one\n\nOut.',
            [
                ("paragraph", "Mind this", []),
                ("paragraph", "It is hot.", ["Mind this"]),
                ("item", "one", []),
                ("paragraph", "Out.", []),
            ],
        ),
        ("!!! note\n    Text.", [("paragraph", "Text.", [])]),
        (
            "<table>\n<tr><th>A</th><th>B</th></tr>\n\n<tr><td>1</td><td>2</td></tr>\n</table>",
            [("row", "A | B", []), ("row", "1 | 2", [])],
        ),
        ("> <p>In <b>HTML</b></p>", [("paragraph", "In HTML", [])]),
        ("Term\n: Its *meaning*.", [("paragraph", "Term", []), ("item", "Its meaning.", ["Term"])]),
        (
            "Text.[^1]\n\n[^1]: The note.",
            [("paragraph", "Text.", []), ("paragraph", "The note.", [])],
        ),
    ],
)
def test_blocks_of_markdown(text: str, expected: list[tuple[str, str, list[str]]]) -> None:
    assert described(text) == expected


def test_a_row_whose_name_is_struck_out() -> None:
    rows = "| ~~A~~ | 7 |\n| B ~~C~~ | ~~6~~ 5 |\n| | 4 |\n| <del>D</del> | 3 |\n| **~~E~~** | 2 |"
    text = f"| ~~Old~~ | Price |\n|---|---|\n{rows}"
    shown = [(sentence.text, sentence.block.names) for sentence in read_sentences(text)]
    assert shown == [("Price", ()), ("B | 5", ("", "Price")), ("4", ("", "Price"))]


def test_a_price_that_is_struck_out_names_no_row() -> None:
    rows = "| ~~$12~~ | Mill | $7 |\n| <del>5 June</del> | Fair | 6 June |\n| <s> | Start | 1 |"
    text = f"| Old | Item | New |\n|---|---|---|\n{rows}"
    shown = [sentence.text for sentence in read_sentences(text)]
    assert shown == ["Old | Item | New", "Mill | $7", "Fair | 6 June", "Start | 1"]


def test_below_an_empty_header_a_row_names_the_columns_if_its_form_says_so() -> None:
    rule = "|  |  |\n|---|---|\n"
    pairs = read(f"{rule}| Owner | Ann |\n| Phone | 555 |\n", "markdown")
    assert [block.names for block in pairs] == [(), ()]
    rows = read(f"{rule}| Part | Price |\n| Lid | 5 |\n| Oil | 7 |\n", "markdown")
    assert [block.names for block in rows] == [(), ("Part", "Price"), ("Part", "Price")]


def test_a_table_below_a_plain_list_does_not_go_on_from_its_last_item() -> None:
    table = "| Part | Price |\n|---|---|\n| Lid | 5 |\n"
    assert [block.leads for block in read(f"- Open it.\n- Close it.\n\n{table}", "plain")[2:]] == [
        (),
        (),
    ]
    [_, header, _] = read(f"- Prices:\n\n{table}", "plain")
    assert [lead.text for lead in header.leads] == ["Prices:"]


@pytest.mark.parametrize("edge", ["", "|"])
def test_bars_in_code_end_no_cell_of_a_table_with_fewer_columns(edge: str) -> None:
    rows = ["Call|Value", ":---|:---", "get|`(a | b) -> any`<br>Gets it.", "set|`-`"]
    text = "".join(f"{edge}{row}{edge}\n" for row in rows)
    [_, first, second] = read(text, "markdown")
    assert first.visible.text == "get | `(a | b) -> any` Gets it."
    assert len(first.cells) == len(second.cells) == 2


def test_definitions_of_links_are_known_in_the_whole_document() -> None:
    text = (
        "See [the harbour][h]. It is old.\n\n"
        + "More words. " * 80
        + "\n\n[h]: https://example.com/h"
    )
    passages = split_passages(Document(text), words=10, min_words=0)
    assert passages[0].visible == "See the harbour. It is old."
    assert split_sentences(passages[0])[0].visible == "See the harbour."


def test_definitions_of_links_end_a_paragraph() -> None:
    text = "See [the plan] and [a map][2].[^1]\n[2]: #map\n\n[^1]: It is old.\n[the plan]: https://a.no/b 'It'\n\nBye."
    assert [s.text for s in read_sentences(text)] == [
        "See the plan and a map.",
        "It is old.",
        "Bye.",
    ]
    prose = "He said\n[sic]: this is so.\n[a]: /b and c"
    assert [s.text for s in read_sentences(prose)] == [
        "He said [sic]: this is so. [a]: /b and c",
    ]


def test_a_passage_that_continues_a_table_shows_its_header() -> None:
    rows = "\n".join(f"| Town {number} | {number} euros a night |" for number in range(30))
    passages = split_passages(Document(f"| City | Price |\n|---|---|\n{rows}"))
    assert len(passages) > 1
    for passage in passages:
        assert passage.visible.startswith("City | Price\nTown")
        assert passage.text.startswith("|")


def test_words_find_what_a_reader_sees() -> None:
    store = UnitStore(None, encoder=HashEncoder())
    store.add_documents(
        [
            Document("The [pump](https://example.com/valve) hums.", id="pump"),
            Document("A ![valve](data:image/png;base64,AAAA) leaks.", id="valve"),
        ]
    )
    assert [hit.unit.document_id for hit in store.search("valve", 2, lexical=1)] == ["valve"]
    assert [hit.unit.document_id for hit in store.search("example base64", 2, lexical=1)] == []
    (hit,) = store.search("valve", 1, lexical=1)
    assert hit.unit.visible == "A valve leaks."
    store.close()


def test_the_data_of_a_picture_is_in_no_passage_beside_it() -> None:
    data = "QUJD" * 2000
    text = f"It rains.\n\n![A map](data:image/png;base64,{data})\n\nIt snows."
    passages = split_passages(Document(text))
    assert "A map" in " ".join(passage.search_text for passage in passages)
    assert all(data not in passage.text for passage in passages)


def test_a_changed_text_is_read_again() -> None:
    from dataclasses import replace

    (passage,) = split_passages(Document("One. Two."))
    changed = replace(passage, text="Three. Four.")
    assert [unit.text for unit in split_sentences(changed)] == ["Three.", "Four."]


FRAGMENTS = st.sampled_from(
    [
        "word ", "One. ", "**", "*", "`", "[a](b) ", "![i](d) ", "\n", "\n\n", "- ", "1. ", "| a | b |\n", "|---|---|\n", "> ",
        "# ", "```\n", "<b>", "</b>", "<br>", "<table><tr><td>", "</td></tr></table>", "&amp;", "\\*", "$x$", "    ", "\t",
        ":::note\n", "!!! a\n", '=== "T"\n', ": ", "[^1]", "[^1]: ", "{#id}", "é", "漢字。", "● ", "(a) ", "\r\n", "<!-- ", "-->",
    ]
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(FRAGMENTS, max_size=40).map("".join), st.sampled_from(["markdown", "plain"]))
def test_places_are_in_order_and_inside(text: str, markup: str) -> None:
    at = 0
    for sentence in read_sentences(text, markup):
        assert at <= sentence.start < sentence.end <= len(text)
        at = sentence.end
        offsets = list(sentence.visible.offsets)
        assert len(offsets) == len(sentence.visible.text) > 0
        assert offsets == sorted(offsets)
        assert sentence.start <= offsets[0]
        assert offsets[-1] < sentence.end
        for character, place in zip(sentence.visible.text, offsets, strict=True):
            assert not character.isalpha() or text[place] in (character, "&")


@settings(max_examples=100, deadline=None)
@given(st.lists(FRAGMENTS, max_size=40).map("".join))
def test_plain_text_loses_no_letter(text: str) -> None:
    seen = "".join(sentence.visible.text for sentence in read_sentences(text, "plain"))
    assert [character for character in seen if character.isalpha()] == [
        character for character in text if character.isalpha()
    ]

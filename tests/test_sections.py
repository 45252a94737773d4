"""Headings, paragraphs and front matter: what becomes title and section, and what stays text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid import Document
from factoid.sections import outline


def parts(text, **fields):
    """Return the title, and (section, text) of each paragraph."""
    title, paragraphs = outline(Document(text, **fields))
    return title, [(each.section, text[each.start : each.end].strip()) for each in paragraphs]


@pytest.mark.parametrize(
    ("text", "title", "paragraphs"),
    [
        ("", "", []),
        ("One.\n\nTwo.", "", [("", "One."), ("", "Two.")]),
        # ATX headings
        (
            "# Pisa\n\nA.\n\n## History\n\nB.\n\n### Wars\nC.\n## Today\nD.",
            "Pisa",
            [("", "A."), ("History", "B."), ("History, Wars", "C."), ("Today", "D.")],
        ),
        ("## History\nB.\n# Other\nC.", "", [("History", "B."), ("Other", "C.")]),
        ("# One\nA.\n# Two\nB.", "One", [("", "A."), ("Two", "B.")]),
        (
            "# Pisa #\nA.\n## C#\nB.\n## F # ##\nC.",
            "Pisa",
            [("", "A."), ("C#", "B."), ("F #", "C.")],
        ),
        ("    # code\nA.", "", [("", "# code\nA.")]),
        (
            "# The [*Tower*](http://x.y/z) of `Pisa` ![i](j.png)\nA.",
            "The Tower of Pisa i",
            [("", "A.")],
        ),
        # headings underlined
        ("Pisa\n====\nA.\n\nHistory\n---\nB.", "Pisa", [("", "A."), ("History", "B.")]),
        ("One line\nand another\n---\nB.", "", [("", "One line\nand another"), ("", "B.")]),
        ("A.\n\n---\n\nB.", "", [("", "A."), ("", "B.")]),
        # headings that no text follows
        ("# Pisa", "Pisa", [("", "# Pisa")]),
        ("# Pisa\n## A\n## B\nText.", "Pisa", [("", "## A"), ("B", "Text.")]),
        # fences
        (
            "# T\n```\n# no heading\n\nx\n```\nA.\n",
            "T",
            [("", "```\n# no heading\n\nx\n```"), ("", "A.")],
        ),
        ("# T\n~~~\n# never closed\n\nA.", "T", [("", "~~~\n# never closed\n\nA.")]),
        # front matter
        (
            '---\ntitle: "The Tower"\ntags:\n- a\n  - b\n---\n# Pisa\nA.',
            "The Tower",
            [("Pisa", "A.")],
        ),
        ("---\ntitle: Pisa\nA.", "", [("", "title: Pisa\nA.")]),
        # a byte order mark
        ("\ufeff# Pisa\n\nA.", "Pisa", [("", "A.")]),
        ("\ufeff---\ntitle: Pisa\n---\nA.", "Pisa", [("", "A.")]),
        # what Markdown does not show
        ("A.\n\n<!-- a note. And more. -->\n\nB.", "", [("", "A."), ("", "B.")]),
        ("A.\n\n```\n```\n\n[a]: https://x.org\n\nB.", "", [("", "A."), ("", "B.")]),
        ('A.\n\n<p align="center">\n  <img src="a.png">\n</p>\n\nB.', "", [("", "A."), ("", "B.")]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "", [("", "| a | b |\n|---|---|\n| 1 | 2 |")]),
        # plain headings
        ("Pisa\n\nThe tower leans.", "Pisa", [("", "The tower leans.")]),
        (
            "Pisa\n\nThe tower leans.\n\nHistory\n\nIt is old.\n\nUse\n\nToday\n\nIt is visited.",
            "Pisa",
            [("", "The tower leans."), ("History", "It is old."), ("Use, Today", "It is visited.")],
        ),
        (
            "Lease\n\nof 1 May, 9:00\n\nUse\n\nAll may.\n\nEnd\n\nIt ends.",
            "Lease",
            [("", "of 1 May, 9:00"), ("Use", "All may."), ("End", "It ends.")],
        ),
        ("Lease\n\nof 1 May, 9:00", "", [("", "Lease"), ("", "of 1 May, 9:00")]),
        (
            "Ann: Hi\n\nBen: Yes.\n\nUse\n\nAll may.",
            "",
            [("", "Ann: Hi"), ("", "Ben: Yes."), ("Use", "All may.")],
        ),
        ("The tower leans.\n\nThe end", "", [("", "The tower leans."), ("", "The end")]),
        ("Part 1: Pisa\n\nThe tower leans.", "Part 1: Pisa", [("", "The tower leans.")]),
        ("apples\n\nThe tower leans.", "", [("", "apples"), ("", "The tower leans.")]),
        # plain headings with numbers
        (
            "Rules\n\n1 Scope\n\nAll.\n\n2 Time\n\n2.1 Core\n\nTen.\n\n2.2 Over\n\nPaid.\n\n2.2.1 Night\n\nTwice.\n\n"
            "2.3 Rest\n\nNone.\n\n3 Pay\n\nIn March.",
            "Rules",
            [
                ("1 Scope", "All."),
                ("2 Time, 2.1 Core", "Ten."),
                ("2 Time, 2.2 Over", "Paid."),
                ("2 Time, 2.2 Over, 2.2.1 Night", "Twice."),
                ("2 Time, 2.3 Rest", "None."),
                ("3 Pay", "In March."),
            ],
        ),
        (
            "Rules\n\n§ 1 Time\n\nTen.\n\nArticle 2. Over\n\n2.1. Core\n\n2.2. Paid\n\nTen.\n\nNote\n\nNew.\n\n2.3. Rest\n\nNone."
            "\n\nEnd\n\nSo.\n\n4.1 Lost\n\nHere.",
            "Rules",
            [
                ("§ 1 Time", "Ten."),
                ("Article 2. Over", "2.1. Core"),
                ("Article 2. Over, 2.2. Paid", "Ten."),
                ("Article 2. Over, Note", "New."),
                ("Article 2. Over, 2.3. Rest", "None."),
                ("End", "So."),
                ("4.1 Lost", "Here."),
            ],
        ),
        # lines in bold
        (
            "# Pisa\n\n**Use**\n\nA.\n\nB.\n\n__End:__\n\nC.",
            "Pisa",
            [("Use", "A."), ("Use", "B."), ("End", "C.")],
        ),
        ("# Pisa\n\n**Use**\n\n**Who?**\n\nUs.", "Pisa", [("Use, Who?", "Us.")]),
        (
            "# Pisa\n\n**Do not enter!**\n\n**a** and **b**\n\nC.",
            "Pisa",
            [("", "**Do not enter!**"), ("", "**a** and **b**"), ("", "C.")],
        ),
        # introductions
        (
            "# Pisa\n\nBring *this:*\n\n- a hat\n\nB.",
            "Pisa",
            [("", "Bring *this:*\n\n- a hat"), ("", "B.")],
        ),
        (
            "# Pisa\n\nTwo ways:\n\n**Up**\n\nA.\n\nMore:\n\nHow far?\n\nB.",
            "Pisa",
            [("", "Two ways:"), ("Up", "A."), ("Up", "More:"), ("Up, How far?", "B.")],
        ),
        (
            "# Pisa\n\nIf:\n\n(a) A;\n\n(b) B; or\n\n(c) C.\n\nD.\n\n    x = 1;\n\nE.",
            "Pisa",
            [("", "If:\n\n(a) A;\n\n(b) B; or\n\n(c) C."), ("", "D."), ("", "x = 1;"), ("", "E.")],
        ),
        # questions
        ("# Pisa\n\n— Who?\n\n— Us.", "Pisa", [("", "— Who?"), ("", "— Us.")]),
        (
            "Is it old?\n\nYes.\n\nIt leans.\n\nWhy?\n\nB.",
            "",
            [("Is it old?", "Yes."), ("Is it old?", "It leans."), ("Why?", "B.")],
        ),
        (
            "## Old?\n\nA.\n\nB.\n\n## Age\n\nC.\n\nD.",
            "",
            [("Old?", "A."), ("Old?", "B."), ("Age", "C."), ("Age", "D.")],
        ),
        (
            "# Pisa\n\n**Is it *old*?**\n\n- Yes.\n\nWho?\n\nUs",
            "Pisa",
            [("Is it old?", "- Yes."), ("Who?", "Us")],
        ),
        ("It leans. Is it old?\n\nYes.", "", [("", "It leans. Is it old?"), ("", "Yes.")]),
        (
            f"{'Word ' * 11}\n\nThe tower leans.",
            "",
            [("", ("Word " * 11).strip()), ("", "The tower leans.")],
        ),
        (
            "Guests\n\nAnn\n\nBen\n\nCid\n\nDan\n\nThey all came.",
            "Guests",
            [("", "Ann"), ("", "Ben"), ("", "Cid"), ("", "Dan"), ("", "They all came.")],
        ),
    ],
)
def test_outline(text, title, paragraphs):
    assert parts(text) == (title, paragraphs)
    windows = parts(text.replace("\n", "\r\n"))
    assert windows[0] == title
    assert [(section, found.replace("\r\n", "\n")) for section, found in windows[1]] == paragraphs


def test_the_documents_own_title_and_section_come_first():
    text = "# Pisa\n\nA.\n\n## History\n\nB."
    assert parts(text, title="Pisa") == ("Pisa", [("", "A."), ("History", "B.")])
    headed = [("Italy, Pisa", "A."), ("Italy, Pisa, History", "B.")]
    assert parts(text, title="Towers", section="Italy") == ("Towers", headed)


def test_every_line_is_a_paragraph_where_nobody_wraps_lines():
    long = "This line is long. " * 12
    text = f"{long.strip()}\nShort.\nCO\n2 is a gas"
    assert [found for _, found in parts(text)[1]] == [long.strip(), "Short.", "CO\n2 is a gas"]
    assert [found for _, found in parts("Short.\nCO\n2 is a gas")[1]] == ["Short.\nCO\n2 is a gas"]


def test_only_newlines_end_lines():
    text = "# Pisa\x0b\u2028\n\nOne\x0ctwo\u2029three\x85four."
    assert parts(text) == ("Pisa", [("", "One\x0ctwo\u2029three\x85four.")])


BLOCKS = st.lists(
    st.tuples(st.integers(1, 6), st.sampled_from(["History", "Early life", "C", "2 0"]))
    | st.lists(
        st.sampled_from(["The tower leans.", "It is old and\n tall.", "Dr. No left!"]), min_size=1
    ).map(" ".join),
    max_size=12,
)


@settings(max_examples=300, deadline=None)
@given(BLOCKS, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_headings_and_paragraphs_against_an_oracle(blocks, newline, tight):
    lines, wanted, path = [], [], {}
    title = ""
    for index, block in enumerate(blocks):
        if isinstance(block, str):
            lines += [block.replace("\n", newline), ""]
            wanted.append((", ".join(path.values()), block))
            continue
        level, name = block
        lines += [f"{'#' * level} {name}"] + [""] * (not tight)
        path = {depth: text for depth, text in path.items() if depth < level}
        following = blocks[index + 1] if index + 1 < len(blocks) else None
        is_title = index == 0 and level == 1
        empty = following is None or (
            isinstance(following, tuple) and following[0] <= level and not is_title
        )
        if empty:
            wanted.append((", ".join(path.values()), lines[-1 - (not tight)]))
        if is_title:
            title = name
        else:
            path[level] = name
    document = Document(newline.join(lines))
    found_title, paragraphs = outline(document)
    found = [
        (each.section, document.text[each.start : each.end].strip().replace(newline, "\n"))
        for each in paragraphs
    ]
    assert (found_title, found) == (title, wanted)


def test_a_heading_of_a_thousand_characters_is_the_last():
    for mark, length, is_heading in (("# ", 1000, True), ("# ", 1001, False), ("", 1001, False)):
        heading = "a" * length
        underline = "" if mark else "\n==="
        title, paragraphs = outline(Document(f"{mark}{heading}{underline}\n\nText."))
        assert title == (heading if is_heading else "")
        assert len(paragraphs) == 2 - is_heading


@pytest.mark.parametrize("opener", ["> ", "- ", "1. ", "* 1. ", "> - "])
@pytest.mark.parametrize("depth", [10, 49, 50, 98, 99, 100, 5000])
def test_nested_texts_are_not_lost(opener, depth):
    text = f"# Birds\n\n{opener * depth}Olms sing.\n\nAfter.\n"
    _, paragraphs = outline(Document(text))
    read = " ".join(text[paragraph.start : paragraph.end] for paragraph in paragraphs)
    assert read.endswith("Olms sing. After.")


def test_items_below_each_other_are_not_lost():
    items = [f"{'  ' * level}- Olm {level} sings." for level in range(150)]
    text = "\n".join([*items, "", "After."])
    _, paragraphs = outline(Document(text))
    read = " ".join(text[paragraph.start : paragraph.end] for paragraph in paragraphs)
    assert all(f"Olm {level} sings." in read for level in range(150))
    assert read.endswith("After.")


def test_links_are_defined_anywhere_in_a_text_with_underlined_headings():
    text = "Pumps\n-----\n\nSee [the guide][] and [more][1].\n\nFans\n----\n\nAir.\n\n[the guide]: /guide\n[1]: /more\n"
    _, paragraphs = outline(Document(text))
    shown = [block.visible.text for paragraph in paragraphs for block in paragraph.blocks]
    assert shown == ["See the guide and more.", "Air."]
